"""A process that listens for heartbeats.

Run as a program it binds a UDP port of loopback, reports it, and prints at the end of its input how
many systems it heard and the longest time between two heartbeats of one of them.
"""

from __future__ import annotations

import itertools
import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from types import TracebackType

from pico_gz.errors import LaunchError

_HOST = "127.0.0.1"
_BUFFER_BYTES = 1 << 22
_MAGIC_2 = 0xFD
_SIGNED = 0x01
_FRAME_BYTES = 12
_SIGNATURE_BYTES = 13
_PATIENCE_S = 20.0


class HeartbeatListener:
    """Listens while it is open.

    Attributes:
        systems: how many were heard; known after the end.
        worst_gap_s: between two heartbeats of one system.
    """

    def __init__(self, port: int) -> None:
        self.systems = 0
        self.worst_gap_s = 0.0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pico_gz.cli.tools.bench.heartbeats", str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> HeartbeatListener:
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise LaunchError(
                "The listener for heartbeats did not start.",
                command=self._process.args if isinstance(self._process.args, list) else [],
                exit_code=self._process.wait(_PATIENCE_S),
                output_tail=(),
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            output, _ = self._process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        if kind is None:
            self.systems, self.worst_gap_s = json.loads(output)


def frames(data: bytes) -> Iterator[tuple[int, int]]:
    """System and message number of every MAVLink 2 frame in a datagram."""
    at = 0
    while at + _FRAME_BYTES <= len(data) and data[at] == _MAGIC_2:
        yield data[at + 5], int.from_bytes(data[at + 7 : at + 10], "little")
        at += _FRAME_BYTES + data[at + 1] + _SIGNATURE_BYTES * (data[at + 2] & _SIGNED)


def longest_gap_s(heard_s: dict[int, list[float]]) -> float:
    """Of all systems, between two heartbeats in a row."""
    return max(
        (b - a for times in heard_s.values() for a, b in itertools.pairwise(times)),
        default=0.0,
    )


def main(port: int) -> None:
    """Listen until the input ends."""
    heard_s: dict[int, list[float]] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        sock.bind((_HOST, port))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            ready, _, _ = select.select([sock, sys.stdin], [], [])
            if sock in ready:
                for system, number in frames(sock.recv(65535)):
                    if number == 0:
                        heard_s.setdefault(system, []).append(time.monotonic())
            elif ready:
                break
    sys.stdout.write(json.dumps([len(heard_s), longest_gap_s(heard_s)]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
