"""A simulator in lockstep that also floods its first vehicle's state port with garbage.

Garbage comes from the simulator's own address, so no kernel filter helps. It says when it is
ready, and runs until it is killed.
"""

import os
import select
import socket
import sys
import time

from pico_gz.cli.tools.bench.echo_peer import HOST, RECORD

GARBAGE = [os.urandom(size) for size in (1, 10, 100, 1000)] + [b"\n{}\n", b'\n{"timestamp":"x"}\n']
MAX_BURST = 300


def main(ports: range, garbage_per_s: int, step_s: float) -> None:
    """Answer every round of packets with records, and flood as time passes."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in ports]
    poll = select.epoll()
    for made, port in zip(sockets, ports, strict=True):
        made.bind((HOST, port))
        made.setblocking(False)
        poll.register(made.fileno(), select.EPOLLIN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    index_of = {made.fileno(): index for index, made in enumerate(sockets)}
    peers: dict[int, tuple[str, int]] = {}
    answered: dict[int, bytes] = {}
    flooded = 0
    steps = 0
    victim, started_s = None, time.monotonic()
    while True:
        for descriptor, _ in poll.poll(0.001 if garbage_per_s else 5.0):
            index = index_of[descriptor]
            data, peer = sockets[index].recvfrom(2048)
            if data == answered.get(index) and index not in peers:
                # The flood has pushed the record out of the receiver's buffer: say it again.
                sockets[index].sendto(RECORD % (steps * step_s), peer)
            else:
                answered[index], peers[index] = data, peer
        if len(peers) == len(ports):
            steps += 1
            for index, peer in peers.items():
                sockets[index].sendto(RECORD % (steps * step_s), peer)
            if victim is None:
                victim, started_s = peers[0], time.monotonic()
            peers = {}
        due = int(garbage_per_s * (time.monotonic() - started_s)) if victim else 0
        # A flood that is late does not catch up at the cost of the answers.
        for number in range(flooded, min(due, flooded + MAX_BURST)):
            sockets[0].sendto(GARBAGE[number % len(GARBAGE)], victim)
        flooded = due


if __name__ == "__main__":
    first, stride, vehicles, rate = map(int, sys.argv[1:5])
    main(range(first, first + stride * vehicles, stride), rate, float(sys.argv[5]))
