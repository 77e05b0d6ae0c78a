"""The smallest peer of the wire, as a process.

Measurements put the kit and a bare socket loop in front of the same peer. As ``simulator`` it
answers servo packets with records whose time rises; as ``autopilot`` it answers records with
servo packets whose frame rises.
"""

from __future__ import annotations

import select
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence

from pico_gz.errors import LaunchError
from pico_gz.wire.datagrams import Address

HOST = "127.0.0.1"
RECORD = (
    b'\n{"timestamp":%.6f,"imu":{"gyro":[-2.6396953553092756e-8,-1.260958628926026e-9,'
    b'2.0454543994875675],"accel_body":[0.6280073262269574,0.1375371316923675,'
    b'-9.799999991772863]},"position":[-0.1224525902537037,7.505235061591094,'
    b'-0.19999999247711337],"quaternion":[0.8259196930287522,3.406495124389902e-9,'
    b'5.526195709863951e-9,-0.5637877798137272],"velocity":[-0.26125585830701639,'
    b"-0.17473290681845966,-1.50571081948677e-12]}\n"
)
_PACKET = struct.Struct("<HHI16H")
_STEP_S = 0.002


def serve_as_simulator(sockets: Sequence[socket.socket]) -> None:
    """Answer every datagram with the next record."""
    times = [0.0] * len(sockets)
    for index, peer in _arrivals(sockets):
        times[index] += _STEP_S
        sockets[index].sendto(RECORD % times[index], peer)


def serve_as_autopilot(sockets: Sequence[socket.socket], servers: Sequence[int]) -> None:
    """Send one packet to every server, then answer every record with the next one."""
    frames = [0] * len(sockets)
    for index, port in enumerate(servers):
        sockets[index].sendto(_packet(0), (HOST, port))
    for index, peer in _arrivals(sockets):
        frames[index] += 1
        sockets[index].sendto(_packet(frames[index]), peer)


def _packet(frame: int) -> bytes:
    return _PACKET.pack(18458, 1200, frame, 1500, 0, 1500, *([0] * 13))


def _arrivals(sockets: Sequence[socket.socket]) -> Iterator[tuple[int, Address]]:
    """Yield (index, sender) without end; one socket is read blocking, as cheaply as it gets."""
    if len(sockets) == 1:
        only = sockets[0]
        while True:
            yield 0, only.recvfrom(2048)[1]
    poll = select.epoll()
    index_of = {s.fileno(): i for i, s in enumerate(sockets)}
    for descriptor in index_of:
        poll.register(descriptor, select.EPOLLIN)
    while True:
        for descriptor, _ in poll.poll():
            index = index_of[descriptor]
            yield index, sockets[index].recvfrom(2048)[1]


class EchoPeer:
    """Starts such a peer and ends it with the block.

    Attributes:
        ports: where a simulator peer listens.
    """

    def __init__(self, role: str, *, count: int = 1, servers: Sequence[int] = ()) -> None:
        self._command = [
            sys.executable,
            "-m",
            "pico_gz.cli.tools.bench.echo_peer",
            role,
            str(count),
        ]
        self._command += [str(port) for port in servers]
        self._process: subprocess.Popen[str] | None = None
        self.ports: tuple[int, ...] = ()

    def __enter__(self) -> EchoPeer:
        """Start it and wait until it is ready."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            self.__exit__()
            raise LaunchError("The echo peer did not start.", command=self._command)
        self.ports = tuple(map(int, line.split()))
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(5.0)
            if self._process.stdout is not None:
                self._process.stdout.close()


def main(arguments: Sequence[str]) -> None:
    """Open the sockets, print their ports, serve until killed."""
    role, count, *servers = arguments
    sockets = []
    for _ in range(int(count)):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((HOST, 0))
        sockets.append(made)
    sys.stdout.write(" ".join(str(s.getsockname()[1]) for s in sockets) + "\n")
    sys.stdout.flush()
    if role == "simulator":
        serve_as_simulator(sockets)
    else:
        serve_as_autopilot(sockets, [int(port) for port in servers])


if __name__ == "__main__":
    main(sys.argv[1:])
