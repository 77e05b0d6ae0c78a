"""Record a run, plot it, and prove that the same seed gives the same run.

    python record_and_plot.py [FOLDER]

The plot is one web page that loads nothing from anywhere. For a picture name it `.png` and install
the extra `plots`.
"""

import json
import subprocess
import sys
from pathlib import Path


def pico_gz(*arguments: object) -> str:
    """Run the `pico-gz` command of this environment and return what it prints."""
    command = [sys.executable, "-m", "pico_gz", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def record(folder: Path) -> dict:
    options = "--rovers 2 --duration 20 --speed max --adapter lightweight --port-offset auto"
    return json.loads(pico_gz("run", *options.split(), "--record", folder, "--json"))


def main(folder: Path) -> None:
    first = record(folder / "first")
    second = record(folder / "second")
    for vehicle_id, final in first["final"].items():
        print(f"Rover {vehicle_id}: north {final['north_m']:.1f} m, east {final['east_m']:.1f} m.")
    print(f"Same run: {first['trace_sha256'] == second['trace_sha256']}")
    print(pico_gz("diff", folder / "first", folder / "second").strip())

    plot = folder / "track.html"
    pico_gz("plot", folder / "first", "-o", plot)
    print(f"Wrote {plot} ({plot.stat().st_size // 1000} kB). Open it in a browser.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "recordings"))
