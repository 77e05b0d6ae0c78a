"""What a run publishes: its state, views, events and latencies.

Always interpreted: a compiled ``Struct`` loses what its class line says, such as ``frozen``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from pico_gz.bridge.timeline import Marks
from pico_gz.core.log_limit import RateLimitedLog
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth


class BridgeState(StrEnum):
    """What a bridge is doing."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FAILED = "failed"


_EMPTY: Mapping[int, object] = MappingProxyType({})


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """One finished step of the whole fleet, keyed by vehicle id in id order.

    Attributes:
        time_us: the fleet's simulation time [us].
        step: number of finished steps.
        state: of the bridge.
        truth: where the vehicles really are (observers only).
        sensors: the records of this step.
        commands: the actuator commands that led here.
    """

    time_us: int = 0
    step: int = 0
    state: BridgeState = BridgeState.IDLE
    truth: Mapping[int, VehicleTruth] = _EMPTY  # type: ignore[assignment]
    sensors: Mapping[int, SensorData] = _EMPTY  # type: ignore[assignment]
    commands: Mapping[int, ActuatorCommands] = _EMPTY  # type: ignore[assignment]


log = logging.getLogger(__name__)

_KEPT_EVENTS = 1000
# Of these a large fleet has hundreds per second: all are kept, at most one per second is logged.
_FREQUENT = frozenset({"contact"})


class BridgeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that people and recordings should know.

    Attributes:
        time_us: simulation time [us].
        kind: a short word: ``stall, rejoin, failed, drop, contact, fallback, ...``.
        text: one plain sentence.
        vehicle_id: whom it concerns, 0 for no single vehicle.
        adapter: where it happened, if anywhere.
        severity: as in syslog, 3 error, 4 warning, 6 information.
    """

    time_us: int
    kind: str
    text: str
    vehicle_id: int = 0
    adapter: str = ""
    severity: int = 4


class LatencySummary(msgspec.Struct, frozen=True):
    """Milliseconds from a vehicle's sensors handed over to its actuators sent."""

    p50: float = 0.0
    p99: float = 0.0
    p999: float = 0.0
    max: float = 0.0


class EventLog:
    """Keeps the newest events, counts all of them, calls listeners."""

    def __init__(self) -> None:
        self.recent: deque[BridgeEvent] = deque(maxlen=_KEPT_EVENTS)
        self.counts: Counter[str] = Counter()
        self._counting = threading.Lock()  # watchdog and free-running adapters report too
        self._listeners: list[Callable[[BridgeEvent], None]] = []
        self._marks: Marks[tuple[list[BridgeEvent], Counter[str]]] = Marks()
        self._limited = RateLimitedLog(log)

    def listen(self, listener: Callable[[BridgeEvent], None]) -> None:
        """Call ``listener`` with every event from now on, on the thread that caused it."""
        self._listeners.append(listener)

    def since(self, number: int) -> tuple[list[BridgeEvent], int]:
        """The events after the first ``number`` ones, as far as they are kept, and how many were.

        A negative number gives none of them.
        """
        with self._counting:
            total = self.counts.total()
            new = total if number < 0 else number
            kept = list(self.recent)
        return kept[max(0, len(kept) - max(0, total - new)) :] if total > new else [], total

    def mark(self, moment: str) -> None:
        """Note that a snapshot was taken now."""
        with self._counting:
            self._marks.note(moment, (list(self.recent), self.counts.copy()))

    def go_back(self, moment: str, time_us: int) -> None:
        """Keep the events up to a snapshot only."""
        recent, counts = self._marks.get(moment, ([], Counter()))
        with self._counting:
            self.recent = deque(recent, maxlen=_KEPT_EVENTS)
            self.counts = counts.copy()

    def add(self, event: BridgeEvent) -> None:
        """Keep, count, log and publish an event."""
        with self._counting:
            self.recent.append(event)
            self.counts[event.kind] += 1
        if event.kind in _FREQUENT:
            self._limited.warn(event.kind, time.monotonic(), event.text)
        else:
            log.log(_LEVELS.get(event.severity, logging.WARNING), "%s", event.text)
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # a listener must not end a run
                log.exception("A listener failed on: %s", event.text)


_LEVELS = {3: logging.ERROR, 4: logging.WARNING, 5: logging.INFO, 6: logging.INFO, 7: logging.DEBUG}
