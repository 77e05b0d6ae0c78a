"""What a run publishes: view, events, statistics, digest, and to which observers."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP, end_without_memory
from pico_gz.bridge.timeline import Marks
from pico_gz.core.log_limit import RateLimitedLog
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.snapshot import HasState, Snapshot


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


# Buckets grow by 5 %, from 1 us to beyond 100 s: percentiles are right to a few per cent.
_GROWTH = 1.05
_LOG_GROWTH = math.log(_GROWTH)
_BUCKETS = 400


class LatencySummary(msgspec.Struct, frozen=True):
    """Milliseconds from a vehicle's sensors handed over to its actuators sent."""

    p50: float = 0.0
    p99: float = 0.0
    p999: float = 0.0
    max: float = 0.0


class LatencyHistogram:
    """Counts durations in buckets of growing width.

    Attributes:
        sum_s: of all durations of the run [s].
    """

    __slots__ = ("_counts", "_max_s", "_total", "sum_s")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self._total = 0
        self._max_s = 0.0
        self.sum_s = 0.0

    def add(self, duration_s: float) -> None:
        """Count one duration [s]."""
        duration_us = duration_s * 1e6
        bucket = int(math.log(duration_us) / _LOG_GROWTH) if duration_us > 1.0 else 0
        self._counts[bucket if bucket < _BUCKETS else _BUCKETS - 1] += 1
        self._total += 1
        self.sum_s += duration_s
        if duration_s > self._max_s:
            self._max_s = duration_s

    def copy(self) -> LatencyHistogram:
        """What was counted so far."""
        twin = LatencyHistogram()
        twin._counts, twin._max_s, twin.sum_s = self._counts.copy(), self._max_s, self.sum_s
        twin._total = sum(twin._counts)
        return twin

    def since(self, earlier: LatencyHistogram) -> LatencyHistogram:
        """What was counted after ``earlier``, a copy; maximum and sum are those of the run."""
        later = self.copy()
        later._counts = [b - a for a, b in zip(earlier._counts, later._counts, strict=True)]
        later._total -= earlier._total
        return later

    def percentile_ms(self, fraction: float) -> float:
        """The duration [ms] below which this fraction of the steps lies."""
        wanted = fraction * self._total
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(_GROWTH ** (bucket + 1) / 1000.0, self._max_s * 1000.0)
        return 0.0

    def summary(self) -> LatencySummary:
        """The percentiles that are reported."""
        return LatencySummary(
            p50=self.percentile_ms(0.5),
            p99=self.percentile_ms(0.99),
            p999=self.percentile_ms(0.999),
            max=self._max_s * 1000.0,
        )


class RunStats(Snapshot):
    """What the bridge counts while it runs."""

    _state_fields = ("steps", "lost_steps")

    def __init__(self) -> None:
        self.steps = 0
        self.lost_steps = 0
        self.latency = LatencyHistogram()
        self.wall_s = 0.0
        self.sim_us = 0

    @property
    def real_time_factor(self) -> float:
        """Simulated over wall seconds since the run began; pauses are not counted."""
        return self.sim_us / 1e6 / self.wall_s if self.wall_s > 0.0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {
            "steps": self.steps,
            "lost_steps": self.lost_steps,
            "rtf": self.real_time_factor,
            "latency_ms": msgspec.to_builtins(self.latency.summary()),
        }


class TraceDigest:
    """SHA-256 over all that happened. Same seed, fleet and version give the same digest.

    Numbers go in as IEEE 754 bytes (MessagePack), never as rounded text. After a restore it is
    the digest of the restored time line.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = msgspec.msgpack.Encoder()
        self._buffer = bytearray()
        self._marks: Marks[Any] = Marks()

    def __call__(self, view: FleetView) -> None:
        """Add one step."""
        sensors = view.sensors
        # Column by column: a third of the time of a comprehension for a large fleet.
        truths, commands = map(view.truth.get, sensors), map(view.commands.get, sensors)
        step = list(zip(truths, sensors.values(), commands, strict=True))
        self._encoder.encode_into(step, self._buffer)
        self._hash.update(self._buffer)

    def mark(self, moment: str) -> None:
        """Note that a snapshot was taken now."""
        self._marks.note(moment, self._hash.copy())

    def go_back(self, moment: str, time_us: int) -> None:
        """Continue from a snapshot; the digest of one of another process begins with its name."""
        known = self._marks.get(moment)
        self._hash = hashlib.sha256(moment.encode()) if known is None else known.copy()

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._hash.hexdigest()


T = TypeVar("T")


class HookList(Generic[T]):
    """Observers of a run, called one after the other with the same value.

    One that raises is reported and, after three times in a row, removed. One that keeps a
    state (``save_state``, ``load_state``) is part of a snapshot, under its name.
    """

    def __init__(self, where: str, on_failure: Callable[[str, Exception], None]) -> None:
        self._where = where
        self._on_failure = on_failure
        # Replaced, never changed: a step may be going through them.
        self._hooks: dict[str, Callable[[T], None]] = {}
        self._failures: dict[str, int] = {}

    def add(self, hook: Callable[[T], None], name: str = "") -> None:
        """Call ``hook`` from now on.

        Args:
            hook: the observer.
            name: of its state in snapshots; default: its class, numbered from the second on.
        """
        wanted = name or getattr(hook, "__name__", type(hook).__name__)
        name, number = wanted, 1
        while name in self._hooks:
            number += 1
            name = f"{wanted} {number}"
        self._hooks = {**self._hooks, name: hook}

    def remove(self, hook: Callable[[T], None]) -> None:
        """Call ``hook`` no more; harmless when it is not there."""
        self._hooks = {name: known for name, known in self._hooks.items() if known != hook}

    def stateful(self) -> dict[str, HasState]:
        """Those that keep a state of their own, by name."""
        hooks: dict[str, object] = dict(self._hooks)
        return {name: hook for name, hook in hooks.items() if isinstance(hook, HasState)}

    def __call__(self, value: T) -> None:
        """Call all of them."""
        for name, hook in self._hooks.items():
            try:
                hook(value)
            except Exception as exc:  # an observer must not end a run
                self._failed(name, hook, exc)
            else:
                if self._failures:
                    self._failures.pop(name, None)

    def _failed(self, name: str, hook: Callable[[T], None], exc: Exception) -> None:
        end_without_memory(exc)
        self._failures[name] = self._failures.get(name, 0) + 1
        self._on_failure(self._where, exc)
        if self._failures[name] >= FAILURES_BEFORE_GIVING_UP:
            del self._failures[name]
            self.remove(hook)
