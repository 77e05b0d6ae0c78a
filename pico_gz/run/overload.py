"""Whether a run keeps its pace, and what costs the time.

A thread compares simulated with wall time. While a run is slow it samples what the bridge is
at, so that a run that keeps its pace pays next to nothing for it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import partial
from types import FunctionType
from typing import Any

import msgspec

from pico_gz.bridge.at_work import Role
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import speed_of
from pico_gz.bridge.published import BridgeEvent, BridgeState

WINDOW_S = 5.0
# Below this share of the wanted speed a run is slow, and below the second one overloaded.
SLOW = 0.9
OVERLOADED = 0.8
REPEAT_S = 60.0
_LOOK_EVERY_S = 0.5
_SAMPLE_EVERY_S = 0.025
_SAMPLES_LAST_S = 30.0
_FEWEST_SAMPLES = 20
# The simulation thread got this share of a processor or less: something else had it.
_STARVED = 0.6

# Where a worker is defined -> what people call it; the first that fits.
_PARTS = (
    ("vehicle.external.", "external autopilots"),
    ("vehicle.", "autopilots"),
    ("mavlink.", "MAVLink"),
    ("gazebo.", "Gazebo"),
    ("simulator.", "the simulator"),
    ("adapters.", "the simulator"),
    ("run.recording.", "the recording"),
    ("view.", "the browser view"),
    ("run.", "observers of the run"),
    ("bridge.", "the bridge"),
)
# What is not of this package.
_CUSTOM = {
    Role.AUTOPILOT: "custom autopilots",
    Role.OBSERVER: "custom observers",
    Role.SIMULATOR: "custom simulators",
    Role.WIRE: "external autopilots",
    Role.BRIDGE: "the bridge",
}
# These may wait without using the processor.
_BLOCKING = (
    "external autopilots", "Gazebo", "custom autopilots", "custom observers", "custom simulators",
)  # fmt: skip
OTHER_THREADS = "other threads of this run"
OTHER_PROGRAMS = "other programs on this machine"


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How a run that is too slow performs.

    Attributes:
        reached: real-time factor of the last seconds.
        wanted: the one that was asked for.
        overloaded: it is far below, and has been for ``WINDOW_S``.
        costs: what takes the time, with its share in percent, largest first.
    """

    reached: float
    wanted: float
    overloaded: bool
    costs: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """One sentence, or two."""
        most = ", ".join(f"{part} {share} %" for part, share in self.costs[:3])
        costs = f" Most of the time goes to {most}." if most else ""
        what = "is overloaded" if self.overloaded else "is slow"
        return f"The run {what}: {self.reached:.2f}x instead of {self.wanted:g}x.{costs}"


def plain_pace(pace: Pace | None) -> dict[str, Any] | None:
    """Plain values, for JSON; ``None`` while the run keeps its pace."""
    if pace is None:
        return None
    return {
        "reached": round(pace.reached, 3),
        "wanted": pace.wanted,
        "overloaded": pace.overloaded,
        "costs": [{"part": part, "percent": share} for part, share in pace.costs],
        "text": pace.text,
    }


class PaceMonitor:
    """Watches the pace of a run inside a ``with`` block, entered by the simulation thread.

    Attributes:
        pace: how it performs while it is too slow, else ``None``; for any thread.
    """

    def __init__(self, bridge: SitlBridge, clock: Callable[[], float] = time.monotonic) -> None:
        self.pace: Pace | None = None
        self._bridge = bridge
        self._clock = clock
        self._wanted: float | None = None
        self._marks: deque[tuple[float, int]] = deque()  # wall [s] and simulated [us] time
        self._samples: Counter[str] = Counter()
        self._from_s, self._cpu_from_s = 0.0, (0.0, 0.0)
        self._warned_s = -REPEAT_S
        self._owner = threading.get_ident()
        self._closed = threading.Event()
        self._thread = threading.Thread()

    def __enter__(self) -> PaceMonitor:
        self._owner = threading.get_ident()
        self._closed.clear()
        self._begin()
        self._thread = threading.Thread(target=self._loop, name="pico-gz-pace", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join(timeout=1.0)

    def _loop(self) -> None:
        next_look_s = self._clock() + _LOOK_EVERY_S
        while not self._closed.wait(_SAMPLE_EVERY_S if self.pace else _LOOK_EVERY_S):
            if self.pace:
                self.sample()
            if self._clock() >= next_look_s:
                next_look_s = self._clock() + _LOOK_EVERY_S
                self.look()

    def sample(self) -> None:
        """Count which part of the run the simulation thread executes."""
        role, worker = self._bridge.at_work()
        if role is not Role.NONE:
            self._samples[part_of(role, worker)] += 1

    def look(self) -> None:
        """Compare simulated with wall time; pauses count for nothing."""
        stats, wanted = self._bridge.stats, speed_of(self._bridge.time_mode)
        if wanted is None or wanted != self._wanted or self._bridge.state is BridgeState.PAUSED:
            self._wanted = wanted
            self._begin()
            return
        marks = self._marks
        marks.append((stats.wall_s, stats.sim_us))
        while len(marks) > 2 and stats.wall_s - marks[1][0] >= WINDOW_S:
            marks.popleft()
        wall_s, sim_us = stats.wall_s - marks[0][0], stats.sim_us - marks[0][1]
        if wall_s < 2 * _LOOK_EVERY_S:
            return
        reached = sim_us / 1e6 / wall_s
        if reached >= SLOW * wanted:
            self.pace = None
            self._forget_samples()
            return
        overloaded = wall_s >= WINDOW_S and reached < OVERLOADED * wanted
        self.pace = Pace(reached=reached, wanted=wanted, overloaded=overloaded, costs=self._costs())
        if self._clock() - self._from_s > _SAMPLES_LAST_S:
            self._forget_samples()
        if overloaded and self._clock() - self._warned_s >= REPEAT_S:
            self._warned_s = self._clock()
            self._bridge.events.add(
                BridgeEvent(time_us=self._bridge.view.time_us, kind="overload", text=self.pace.text)
            )

    def _begin(self) -> None:
        self.pace = None
        self._marks.clear()
        self._forget_samples()

    def _forget_samples(self) -> None:
        self._samples.clear()
        self._from_s, self._cpu_from_s = self._clock(), _cpu_s(self._owner)

    def _costs(self) -> tuple[tuple[str, int], ...]:
        """The parts with their shares of the wall time, largest first."""
        total = sum(self._samples.values())
        if total < _FEWEST_SAMPLES:
            return self.pace.costs if self.pace else ()
        shares = {part: count / total for part, count in self._samples.items()}
        elapsed_s = max(1e-9, self._clock() - self._from_s)
        own, others = ((now - then) / elapsed_s for now, then in self._cpu_now())
        if own < _STARVED and shares.keys().isdisjoint(_BLOCKING):
            # It could run and was not let: its own parts share what it had.
            shares = {part: share * own for part, share in shares.items()}
            others = min(others, 1.0 - own)
            shares[OTHER_THREADS] = others
            shares[OTHER_PROGRAMS] = 1.0 - own - others
        largest = sorted(shares.items(), key=lambda item: -item[1])
        return tuple((part, round(100.0 * share)) for part, share in largest if share >= 0.01)

    def _cpu_now(self) -> Iterable[tuple[float, float]]:
        return zip(_cpu_s(self._owner), self._cpu_from_s, strict=True)


def part_of(role: Role, worker: object) -> str:
    """The part of a run that a worker belongs to, by the room that defines it."""
    if isinstance(worker, partial):
        worker = worker.func
    owner = getattr(worker, "__self__", worker)
    named = owner if isinstance(owner, type | FunctionType) else type(owner)
    package, _, place = named.__module__.partition(".")
    if package == "pico_gz":
        for room, part in _PARTS:
            if f"{place}.".startswith(room):
                return part
    return _CUSTOM[role]


def _cpu_s(thread_id: int) -> tuple[float, float]:
    """Processor time [s] of a thread, and of all others of this process."""
    whole_s = time.process_time()
    try:
        own_s = time.clock_gettime(time.pthread_getcpuclockid(thread_id))
    except (AttributeError, OSError):  # the system does not tell: take all of it for its own
        own_s = whole_s
    return own_s, whole_s - own_s
