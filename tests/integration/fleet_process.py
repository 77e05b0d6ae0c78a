"""A fleet of real rover autopilots in a process of its own, for real ground stations.

Also by hand: ``python tests/integration/fleet_process.py 3 --speed 5`` prints the ports and runs
until Ctrl-C.
"""

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOOPBACK = "127.0.0.1"
_STOP_S = 10.0
_FLEET = """\
[fleet]
count = {count}
adapter = "lightweight"
seed = 7
[time]
mode = "scaled"
speed = {speed}
[ports]
mavlink_base = {udp_base}
mavlink_tcp = {tcp_port}
[mavlink]
gcs = "{gcs}"
"""


# Below the range from which the kernel takes ports by itself: a vehicle's own socket could
# otherwise get the very port that a client is about to bind.
_PORTS = range(15_000, 32_000)


def free_port_run(count, kind=socket.SOCK_DGRAM):
    """The first of ``count`` ports in a row that are free now."""
    for _ in range(200):
        base = random.randrange(_PORTS.start, _PORTS.stop - count)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(base, base + count):
                sock = stack.enter_context(socket.socket(socket.AF_INET, kind))
                sock.bind((LOOPBACK, port))
            return base
    raise AssertionError(f"no {count} free ports in a row")


class FleetProcess:
    """``pico-gz run`` with N rovers on the Lightweight simulator; stops on leaving."""

    def __init__(self, count=1, *, speed=1.0, shared=False):
        self.udp_base = free_port_run(1 if shared else count)
        self.tcp_port = free_port_run(1, socket.SOCK_STREAM)
        self._folder = tempfile.TemporaryDirectory(prefix="pico_gz_fleet_")
        self._log_path = Path(self._folder.name) / "log.txt"
        fleet_path = Path(self._folder.name) / "fleet.toml"
        fleet_path.write_text(
            _FLEET.format(
                count=count,
                speed=speed,
                udp_base=self.udp_base,
                tcp_port=self.tcp_port,
                gcs="shared" if shared else "per_vehicle",
            )
        )
        self._command = [
            *(sys.executable, "-m", "pico_gz", "run", str(fleet_path)),
            *("--duration", "0", "--json"),
        ]
        self._process = None

    def __enter__(self):
        environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": self._folder.name}
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder.name,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._await_tcp()
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def output(self):
        """What the process has printed so far."""
        return self._log_path.read_text(errors="replace")

    def _await_tcp(self, timeout_s=30.0):
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s and self._process.poll() is None:
            try:
                socket.create_connection((LOOPBACK, self.tcp_port), 1.0).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        text = self.output()
        self.__exit__()
        raise AssertionError(f"the fleet did not start:\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--speed", type=float, default=1.0)
    options = parser.parse_args()
    with FleetProcess(options.count, speed=options.speed) as fleet:
        last = fleet.udp_base + options.count - 1
        sys.stdout.write(f"UDP {fleet.udp_base}..{last}, TCP {fleet.tcp_port}; Ctrl-C ends\n")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
