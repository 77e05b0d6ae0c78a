"""A process killed while it writes parameters leaves the old file or the new one, whole."""

import subprocess
import sys
import time
from pathlib import Path

from pico_gz.vehicle.autopilot import parameters
from pico_gz.vehicle.autopilot.parameters import read_parameter_file


def test_a_kill_leaves_a_whole_file(tmp_path):
    path = tmp_path / "rover.parm"
    root = Path(parameters.__file__).parents[3]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from pathlib import Path\n"
        "from pico_gz.vehicle.autopilot.parameters import write_parameter_file\n"
        f"path = Path({str(path)!r})\n"
        "names = ['WP_SPEED', 'CRUISE_SPEED', 'CIRC_RADIUS', 'WP_RADIUS']\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1\n"
        "    write_parameter_file(path, {name: float(n % 50) for name in names})\n"
    )
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", code])
        deadline = time.monotonic() + 20.0
        before = path.stat().st_mtime_ns if path.exists() else 0
        while time.monotonic() < deadline:
            if path.exists() and path.stat().st_mtime_ns != before:
                break
        process.kill()
        process.wait(10.0)
        values = read_parameter_file(path)
        assert len(values) == 4
        assert len(set(values.values())) == 1
