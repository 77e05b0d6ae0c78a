"""The one part of the view that the simulation thread runs.

It keeps references to what was published, and asks autopilots what they believe, which only that
thread may do: a few at a time, so that the work is small and does not depend on the browsers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice

import msgspec

from pico_gz.autopilot.api import GroundControlled, MissionItem, MissionType, Telemetry
from pico_gz.bridge.view import FleetView

# A slow sensor (GPS, 5 Hz at 10 ms steps) has at least one sample in this many steps.
KEPT_VIEWS = 32
PERIOD_S = 0.05
# Everybody is looked at once in so many periods.
ROUND = 20


class Belief(msgspec.Struct, frozen=True):
    """What one autopilot believes and plans, at one instant."""

    telemetry: Telemetry
    mission: Sequence[MissionItem]
    fence: Sequence[MissionItem]


class FleetSampler:
    """Looks at autopilots in turn, a few per 50 ms of wall time, and only while somebody watches.

    Attributes:
        watched: whether anybody wants to know; set by the server thread.
        focused: vehicles that are looked at every time; set by the server thread.
        beliefs: vehicle id -> newest belief.
        views: the last few published steps, newest last.
    """

    def __init__(
        self,
        pilots: Mapping[int, GroundControlled],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.watched = False
        self.focused: frozenset[int] = frozenset()
        self.beliefs: dict[int, Belief] = {}
        self.views: deque[FleetView] = deque(maxlen=KEPT_VIEWS)
        self._pilots = pilots
        self._clock = clock
        self._turns = cycle(pilots)
        self._per_look = -(-len(pilots) // ROUND)
        self._next_s = 0.0

    def after_step(self, view: FleetView) -> None:
        """Keep the step that was published."""
        self.views.append(view)
        self._look()

    def while_idle(self, _: int) -> None:
        """Keep looking while time is held: people arm and switch modes then, too."""
        self._look()

    def _look(self) -> None:
        if not self.watched:
            return
        now_s = self._clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + PERIOD_S
        for vehicle_id in self.focused.union(islice(self._turns, self._per_look)):
            pilot = self._pilots.get(vehicle_id)
            if pilot is not None:
                self.beliefs[vehicle_id] = Belief(
                    pilot.telemetry(),
                    pilot.items(MissionType.MISSION),
                    pilot.items(MissionType.FENCE),
                )
