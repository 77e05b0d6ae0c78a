"""The yardstick of the load tests: the same exchange by hand, with epoll and ``json``.

On a quiet 2-core machine this stub takes 6.5 ms (median), 12.5 ms (99 %) and 15.9 ms (worst)
for one step of 255 vehicles. A machine on which it is slower is slower for the kit as well:
limits in milliseconds are scaled by what the stub takes in the same run.
"""

import json
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator

HOST = "127.0.0.1"
PACKET = struct.Struct("<HHI16H")
PWM = (1550, 0, 1550) + (0,) * 13
STATE = {
    "timestamp": 0.0,
    "imu": {
        "gyro": [-2.6396953553092756e-8, -1.260958628926026e-9, 2.0454543994875675],
        "accel_body": [0.6280073262269574, 0.1375371316923675, -9.799999991772863],
    },
    "position": [-0.1224525902537037, 7.505235061591094, -0.19999999247711337],
    "quaternion": [0.8259196930287522, 3.4064951e-9, 5.526195709863951e-9, -0.5637877798137272],
    "velocity": [-0.26125585830701639, -0.17473290681845966, -1.50571081948677e-12],
}


def arrivals(sockets: list[socket.socket]) -> Iterator[int]:
    """Yield the index of every socket that has a datagram, for ever."""
    poll = select.epoll()
    index_of = {made.fileno(): index for index, made in enumerate(sockets)}
    for descriptor in index_of:
        poll.register(descriptor, select.EPOLLIN)
    while True:
        for descriptor, _ in poll.poll(5.0):
            yield index_of[descriptor]


def serve(count: int) -> None:
    """Answer every packet, in lockstep: nobody before the last of the fleet was heard."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for made in sockets:
        made.bind((HOST, 0))
    sys.stdout.write(" ".join(str(made.getsockname()[1]) for made in sockets) + "\n")
    sys.stdout.flush()
    peers = {}
    for index in arrivals(sockets):
        data, peers[index] = sockets[index].recvfrom(2048)
        _, _, frame, *_ = PACKET.unpack(data)
        if len(peers) == count:
            for number, peer in peers.items():
                record = {**STATE, "timestamp": 0.02 * frame}
                text = json.dumps(record, separators=(",", ":"))
                sockets[number].sendto(f"\n{text}\n".encode(), peer)
            peers = {}


class Stub:
    """A fleet of stubs and its simulator, in another process."""

    def __init__(self, vehicles: int) -> None:
        command = [sys.executable, __file__, str(vehicles)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        ports = map(int, self._process.stdout.readline().split())
        self._sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(vehicles)]
        for made, port in zip(self._sockets, ports, strict=True):
            made.connect((HOST, port))
        self._arrivals = arrivals(self._sockets)
        self._frame = 0

    def step_s(self) -> float:
        """Exchange one frame of every vehicle; returns how long it took [s]."""
        started_s = time.monotonic()
        self._frame += 1
        for made in self._sockets:
            made.send(PACKET.pack(18458, 50, self._frame, *PWM))
        for _ in self._sockets:
            record = json.loads(self._sockets[next(self._arrivals)].recv(2048))
            assert record["timestamp"] == 0.02 * self._frame
        return time.monotonic() - started_s

    def close(self) -> None:
        """End the simulator."""
        self._process.kill()
        self._process.wait(5.0)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._arrivals.close()  # type: ignore[attr-defined]
        for made in self._sockets:
            made.close()

    def __enter__(self) -> "Stub":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
