"""MAVProxy, headless, against a fleet of real autopilots in another process."""

import importlib.util
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fleet_process import LOOPBACK, FleetProcess

pytestmark = [
    pytest.mark.gcs,
    pytest.mark.skipif(not importlib.util.find_spec("MAVProxy"), reason="MAVProxy is not here"),
]

PROGRAM = Path(sys.executable).with_name("mavproxy.py")
MISSION = """\
QGC WPL 110
0\t1\t0\t16\t0\t0\t0\t0\t35.681236\t139.767125\t40.0\t1
1\t0\t3\t16\t0\t0\t0\t0\t35.681281\t139.767125\t0\t1
2\t0\t3\t16\t0\t0\t0\t0\t35.681281\t139.767180\t0\t1
3\t0\t3\t16\t0\t0\t0\t0\t35.681236\t139.767125\t0\t1
"""


class MavProxy:
    """MAVProxy at the end of two pipes."""

    def __init__(self, master, folder):
        self._text = ""
        self._seen = 0
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-u", str(PROGRAM), "--master", master),
                *("--state-basedir", str(folder), "--default-modules", "link,param,wp,arm,mode"),
            ],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "MPLBACKEND": "agg"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(5.0)
        self._process.stdout.close()

    def _read(self):
        while chunk := self._process.stdout.read1(4096):
            with self._lock:
                self._text += chunk.decode(errors="replace")

    def type(self, line):
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def expect(self, pattern, timeout_s=20.0):
        """Wait for text after what was expected last; return the match."""
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            with self._lock:
                match = re.compile(pattern).search(self._text, self._seen)
                if match:
                    self._seen = match.end()
                    return match
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} not within {timeout_s} s in:\n{self._text[-3000:]}")

    def repeat(self, line, pattern, tries=20):
        """Type a question once, and again while the answer is not the one wanted."""
        for _ in range(tries - 1):
            self.type(line)
            try:
                return self.expect(pattern, 0.5)
            except AssertionError:
                continue
        return self.do(line, pattern, 1.0)

    def do(self, line, pattern, timeout_s=20.0):
        self.type(line)
        return self.expect(pattern, timeout_s)


@pytest.fixture(scope="module")
def fleet():
    with FleetProcess(2, speed=5.0) as process:
        yield process


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("transport", "vehicle"), [("udp", 1), ("tcp", 2)])
def test_a_whole_drive(fleet, tmp_path, transport, vehicle):
    (tmp_path / "mission.txt").write_text(MISSION)
    master = f"udpin:{LOOPBACK}:{fleet.udp_base}"
    if transport == "tcp":
        master = f"tcp:{LOOPBACK}:{fleet.tcp_port}"
    with MavProxy(master, tmp_path) as proxy:
        proxy.expect(rf"Detected vehicle {vehicle}:1")
        if transport == "tcp":
            proxy.type(f"vehicle {vehicle}")
        received = proxy.expect(r"Received (\d+) parameters")
        assert int(received[1]) > 100
        proxy.type("param set WP_RADIUS 1.5")  # the answer comes when it comes
        proxy.repeat("param show WP_RADIUS", r"WP_RADIUS +1\.5")
        proxy.do("wp load mission.txt", r"MISSION_ACK: TYPE_MISSION: ACCEPTED")
        proxy.do("wp save back.txt", r"Saved 4 waypoints")
        proxy.do("arm throttle", r"COMPONENT_ARM_DISARM: ACCEPTED")
        proxy.expect(r"ARMED")
        proxy.do("mode AUTO", r"Mode AUTO")
        proxy.expect(r"Reached waypoint #1", 40.0)
        proxy.do("mode RTL", r"Mode RTL")
        proxy.expect(r"Reached (home|destination)", 40.0)
        proxy.do("disarm", r"Throttle disarmed")
    back = (tmp_path / "back.txt").read_text().splitlines()
    assert [line.split("\t")[8:10] for line in back[2:]] == [
        ["35.681281", "139.767125"],
        ["35.681281", "139.767180"],
        ["35.681236", "139.767125"],
    ]
    assert "Traceback" not in fleet.output()
