"""Seeded trouble for datagrams: loss, doubling, reordering, delay, corruption.

``Chaos`` decides, ``ChaosProxy`` carries it out between real sockets, and ``Chaos.disturb``
does the same on an in-process network. The n-th datagram of a direction meets the same fate
in every run of the same seed, whatever the wall clock does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from pico_gz.transports.base import Address
from pico_gz.transports.memory import Disturb

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
        """Return a function for ``MemoryNetwork``; the ports tell the direction."""
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
