"""Seeded trouble for datagrams, in memory and as a UDP proxy.

``Chaos`` decides, ``ChaosProxy`` carries it out between real sockets, and ``Chaos.disturb``
does the same on an in-process network. The n-th datagram of a direction meets the same fate
in every run of the same seed, whatever the wall clock does.
"""

from __future__ import annotations

import heapq
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from pico_gz.wire.datagrams import Address, UdpPoller, UdpTransport
from pico_gz.wire.memory_network import Disturb

_TIMESTAMP = re.compile(rb'"timestamp":(\d{1,9}(?:\.\d+)?)[,}]')
_MASK = (1 << 64) - 1


class Direction(Enum):
    """Which way a datagram goes."""

    TO_SIMULATOR = 1
    TO_CLIENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosRules:
    """What happens to datagrams of one direction; shares are 0..1.

    Attributes:
        loss: share that vanishes.
        duplicate: share that arrives twice.
        reorder: share that is held back by up to ``reorder_s``.
        reorder_s: longest time that such a datagram is held back.
        delay_s: every datagram is this late.
        corrupt: share with one byte changed.
    """

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    reorder_s: float = 0.050
    delay_s: float = 0.0
    corrupt: float = 0.0


QUIET = ChaosRules()


@dataclass(slots=True)
class Chaos:
    """Decides the fate of every datagram.

    Attributes:
        seed: of all decisions.
        to_simulator: rules for what goes to the simulator.
        to_client: rules for what comes from it.
        from_sim_s: chaos starts at this simulation time, read from the records [s].
        until_sim_s: and ends at this one.
        blocked: nothing passes at all, as if the cable were cut.
        lost: and the other counters: what was done.
    """

    seed: int = 0
    to_simulator: ChaosRules = QUIET
    to_client: ChaosRules = QUIET
    from_sim_s: float = 0.0
    until_sim_s: float = float("inf")
    blocked: bool = False
    lost: int = 0
    duplicated: int = 0
    delayed: int = 0
    corrupted: int = 0
    _numbers: dict[Direction, int] = field(default_factory=dict)
    _sim_s: float = 0.0

    def copies(self, direction: Direction, data: bytes) -> list[tuple[float, bytes]]:
        """Return what becomes of a datagram: each copy with its delay [s]."""
        number = self._numbers.get(direction, 0)
        self._numbers[direction] = number + 1
        self._watch_time(data)
        if self.blocked:
            self.lost += 1
            return []
        if not self.from_sim_s <= self._sim_s < self.until_sim_s:
            return [(0.0, data)]
        rules = self.to_simulator if direction is Direction.TO_SIMULATOR else self.to_client
        if self._chance(direction, number, 1) < rules.loss:
            self.lost += 1
            return []
        if self._chance(direction, number, 2) < rules.corrupt:
            data = self._damage(direction, number, data)
        delay_s = rules.delay_s
        if self._chance(direction, number, 3) < rules.reorder:
            self.delayed += 1
            delay_s += rules.reorder_s * self._chance(direction, number, 4)
        if self._chance(direction, number, 5) < rules.duplicate:
            self.duplicated += 1
            return [(delay_s, data), (delay_s, data)]
        return [(delay_s, data)]

    def disturb(self, simulator_ports: Iterable[int]) -> Disturb:
        """Return a function for ``MemoryNetwork``; the ports give the direction."""
        ports = frozenset(simulator_ports)

        def carry(
            sender: Address, receiver: Address, data: bytes, now_s: float
        ) -> list[tuple[float, bytes]]:
            if receiver[1] in ports:
                return self.copies(Direction.TO_SIMULATOR, data)
            if sender[1] in ports:
                return self.copies(Direction.TO_CLIENT, data)
            return [(0.0, data)]

        return carry

    def _watch_time(self, data: bytes) -> None:
        match = _TIMESTAMP.search(data)
        if match:
            self._sim_s = max(self._sim_s, float(match.group(1)))

    def _damage(self, direction: Direction, number: int, data: bytes) -> bytes:
        if not data:
            return data
        self.corrupted += 1
        at = int(self._chance(direction, number, 6) * len(data))
        flip = 1 + int(self._chance(direction, number, 7) * 255)
        return data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]

    def _chance(self, direction: Direction, number: int, purpose: int) -> float:
        """A number in 0..1 that depends on nothing but the seed and these three."""
        key = self.seed * 0x9E3779B97F4A7C15 + direction.value * 0xD1342543DE82EF95
        key += number * 0xBF58476D1CE4E5B9 + purpose * 0x94D049BB133111EB
        key &= _MASK
        key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & _MASK
        return float((key ^ (key >> 31)) >> 11) / (1 << 53)


_IDLE_S = 0.05


class _Route:
    """One vehicle: where its client speaks to, and the simulator's port behind."""

    def __init__(self, front: UdpTransport, back: UdpTransport, chaos: Chaos) -> None:
        self.front = front
        self.back = back
        self.chaos = chaos
        self.client: Address | None = None


class ChaosProxy:
    """Carries datagrams of several vehicles, each with chaos of its own seed.

    Args:
        simulator_ports: where the simulator listens, one per vehicle.
        chaos: one per vehicle, or one for all of them.
        listen_ports: where clients speak to; 0 takes free ones.
    """

    def __init__(
        self,
        simulator_ports: Sequence[int],
        chaos: Sequence[Chaos] | Chaos,
        *,
        listen_ports: Sequence[int] = (),
        host: str = "127.0.0.1",
    ) -> None:
        self._poller = UdpPoller()
        self._stop = threading.Event()
        self._late: list[tuple[float, int, Direction, int, bytes]] = []
        self._order = 0
        self._routes: list[_Route] = []
        self._thread: threading.Thread | None = None
        for i, port in enumerate(simulator_ports):
            front = UdpTransport(host, listen_ports[i] if listen_ports else 0)
            back = UdpTransport(host, 0, peer=(host, port))
            own = chaos if isinstance(chaos, Chaos) else chaos[i]
            self._poller.add(front, 2 * i)
            self._poller.add(back, 2 * i + 1)
            self._routes.append(_Route(front, back, own))

    @property
    def ports(self) -> tuple[int, ...]:
        """Where clients speak to."""
        return tuple(route.front.address[1] for route in self._routes)

    def run(self) -> None:
        """Carry datagrams until ``stop``."""
        while not self._stop.is_set():
            now_s = self._poller.now_s()
            timeout_s = min(_IDLE_S, self._late[0][0] - now_s) if self._late else _IDLE_S
            for key in self._poller.wait(timeout_s):
                self._take(self._routes[key // 2], key)
            self._release(self._poller.now_s())

    def _take(self, route: _Route, key: int) -> None:
        direction = Direction.TO_CLIENT if key % 2 else Direction.TO_SIMULATOR
        source = route.back if key % 2 else route.front
        while (item := source.receive()) is not None:
            data, sender = item
            if direction is Direction.TO_SIMULATOR:
                route.client = sender
            for delay_s, copy in route.chaos.copies(direction, data):
                if delay_s <= 0.0:
                    self._send(route, direction, copy)
                else:
                    entry = (self._poller.now_s() + delay_s, self._order, direction, key // 2, copy)
                    self._order += 1
                    # Enum members do not compare; the order number before them always decides.
                    heapq.heappush(self._late, entry)

    def _release(self, now_s: float) -> None:
        while self._late and self._late[0][0] <= now_s:
            _, _, direction, index, data = heapq.heappop(self._late)
            self._send(self._routes[index], direction, data)

    def _send(self, route: _Route, direction: Direction, data: bytes) -> None:
        if direction is Direction.TO_SIMULATOR:
            route.back.send(data)
        elif route.client is not None:
            route.front.send_to(data, route.client)

    def __enter__(self) -> ChaosProxy:
        """Run on a thread until the end of the block."""
        self._thread = threading.Thread(target=self.run, name="chaos-proxy", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the thread and close the sockets; twice is fine."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)
            self._thread = None
        for route in self._routes:
            for transport in (route.front, route.back):
                self._poller.remove(transport)
                transport.close()
        self._routes = []
        self._poller.close()
