"""The FDM wire against bare sockets.

``client_cost`` is the adapter's exchange (send to all, collect all, decode, retry timers);
``server_cost`` the FDM server's (encode, send, wait, decode). Bare is a loop of blocking
sockets that moves the same bytes and looks at none of them. Kit and bare take turns, so that a
noisy machine disturbs both, and all of it runs on one processor: where peers sleep on another
one, waking that up costs up to ten exchanges, and chance decides who pays for it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

import msgspec

from pico_gz.cli.tools.bench.ardurover import ardurover_figures
from pico_gz.cli.tools.bench.echo_peer import HOST, RECORD, EchoPeer
from pico_gz.cli.tools.bench.figures import Figure
from pico_gz.gazebo.exchange import ServoExchange
from pico_gz.gazebo.fleet_wire import FleetWire
from pico_gz.gazebo.link import VehicleLink
from pico_gz.testing.twin_rover import level_truth
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.wire.datagrams import UdpPoller, UdpTransport
from pico_gz.wire.servo import encode_servo

_PWM = (1500, 0, 1500) + (0,) * 13
_STEP_US = 2000
_ROUNDS = 20


class ExchangeCost(msgspec.Struct, frozen=True):
    """Cost of one exchange of one vehicle.

    Attributes:
        vehicles: how many exchange at once.
        bare_us: of bare blocking sockets.
        kit_us: of the kit.
    """

    vehicles: int
    bare_us: float
    kit_us: float

    @property
    def ratio(self) -> float:
        """The kit over bare sockets."""
        return self.kit_us / self.bare_us


def client_cost(vehicles: int = 1, exchanges: int = 2000) -> ExchangeCost:
    """Measure the adapter's exchange with a simulator that answers at once."""
    with (
        _one_processor(),
        EchoPeer("simulator", count=vehicles) as for_bare,
        EchoPeer("simulator", count=vehicles) as for_kit,
    ):
        sockets = [_connected(port) for port in for_bare.ports]
        wire = FleetWire(UdpPoller(), "bench")
        for vehicle_id, port in enumerate(for_kit.ports, 1):
            _add_lane(wire, vehicle_id, port)
        wire.handshake(time.monotonic() + 10.0)
        target_us = 0

        def kit(rounds: int) -> None:
            nonlocal target_us
            for _ in range(rounds):
                target_us += _STEP_US
                wire.advance(target_us, time.monotonic() + 5.0)

        cost = _compare(vehicles, exchanges, lambda n: _bare_client(sockets, n), kit)
        wire.close()
        for made in sockets:
            made.close()
    return cost


def server_cost(vehicles: int = 1, exchanges: int = 2000) -> ExchangeCost:
    """Measure the FDM server's exchange with autopilots that answer at once."""
    bare = [_bound() for _ in range(vehicles)]
    ids = range(1, vehicles + 1)
    with (
        _one_processor(),
        closing(FdmServer([ExternalVehicle(vehicle_id=i, fdm_port=0) for i in ids])) as server,
        EchoPeer("autopilot", count=vehicles, servers=[s.getsockname()[1] for s in bare]),
        EchoPeer("autopilot", count=vehicles, servers=[server.port(i) for i in ids]),
    ):
        deadline_s = time.monotonic() + 10.0
        while not all(map(server.is_connected, ids)) and time.monotonic() < deadline_s:
            server.collect(0.0)
        peers = [s.recvfrom(2048)[1] for s in bare]
        truth = {i: level_truth(i) for i in ids}
        now_us = 0

        def kit(rounds: int) -> None:
            nonlocal now_us
            for _ in range(rounds):
                now_us += _STEP_US
                server.hand_over({}, truth, now_us)
                server.collect(5.0)

        cost = _compare(vehicles, exchanges, lambda n: _bare_server(bare, peers, n), kit)
    for made in bare:
        made.close()
    return cost


@contextmanager
def _one_processor() -> Iterator[None]:
    """Keep this process, and those that it starts, on one processor, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _compare(
    vehicles: int, exchanges: int, bare: Callable[[int], None], kit: Callable[[int], None]
) -> ExchangeCost:
    """Let both take turns; the fastest round of each counts, the others were disturbed."""
    per_round = max(1, exchanges // _ROUNDS)
    for warm in (bare, kit):
        warm(per_round)
    times: dict[str, list[float]] = {"bare": [], "kit": []}
    for _ in range(_ROUNDS):
        for name, run in (("bare", bare), ("kit", kit)):
            start = time.perf_counter()
            run(per_round)
            times[name].append((time.perf_counter() - start) / (per_round * vehicles))
    bare_s, kit_s = min(times["bare"]), min(times["kit"])
    return ExchangeCost(vehicles, 1e6 * bare_s, 1e6 * kit_s)


def _bare_client(sockets: Sequence[socket.socket], rounds: int) -> None:
    packet = encode_servo(500, 1, _PWM)
    for _ in range(rounds):
        for made in sockets:
            made.send(packet)
        for made in sockets:
            made.recv(2048)


def _bare_server(
    sockets: Sequence[socket.socket], peers: Sequence[tuple[str, int]], rounds: int
) -> None:
    reply = RECORD % 1.0
    for _ in range(rounds):
        for made, peer in zip(sockets, peers, strict=True):
            made.sendto(reply, peer)
        for made in sockets:
            made.recvfrom(2048)


def _add_lane(wire: FleetWire, vehicle_id: int, port: int) -> None:
    transport = UdpTransport(HOST, 0, peer=(HOST, port))
    exchange = ServoExchange(vehicle_id, _STEP_US)
    exchange.set_pwm(_PWM)
    lane = VehicleLink(exchange, transport.send, transport)
    wire.lanes[vehicle_id] = lane
    wire.listen(vehicle_id, transport, lambda _: lane)


def _bound() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((HOST, 0))
    made.settimeout(5.0)
    return made


def _connected(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.connect((HOST, port))
    return made


def wire_figures() -> list[Figure]:
    """Both ends, one vehicle and ten, as ratios; then a real ArduRover, where there is one."""
    return [
        _figure(
            "fdm_client_1", "FDM exchange, client, 1 vehicle, over bare sockets", client_cost(1)
        ),
        _figure("fdm_client_10", "the same with 10 vehicles", client_cost(10, 500)),
        _figure(
            "fdm_server_1", "FDM exchange, server, 1 vehicle, over bare sockets", server_cost(1)
        ),
        _figure("fdm_server_10", "the same with 10 vehicles", server_cost(10, 500)),
        *ardurover_figures(),
    ]


def _figure(name: str, what: str, cost: ExchangeCost) -> Figure:
    return Figure(
        name=name,
        what=what,
        value=cost.ratio,
        unit="x (ratio)",
        goal=1.25,
        detail={"kit_us": cost.kit_us, "bare_us": cost.bare_us},
    )
