"""What a view shows: rows, snapshots, changes and events.

``FleetSampler`` runs on the simulation thread: it keeps references to what was published, and reads
a few autopilots at a time, so that its work is small and does not depend on the browsers.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import cycle, islice
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.core.ground_control import GcsVehicle, MissionItem, MissionType, Telemetry
from pico_gz.core.messages import BatteryData, GpsData
from pico_gz.run.control_socket import Command

# A slow sensor (GPS, 5 Hz at 10 ms steps) has at least one sample in this many steps.
KEPT_VIEWS = 32
PERIOD_S = 0.05
# Every autopilot is read once in so many periods.
ROUND = 20


class AutopilotSnapshot(msgspec.Struct, frozen=True):
    """Estimates and plans of one autopilot, at one instant."""

    telemetry: Telemetry
    mission: Sequence[MissionItem]
    fence: Sequence[MissionItem]


class FleetSampler:
    """Reads autopilots in turn, a few per 50 ms of wall time, and only while a browser watches.

    Attributes:
        watched: whether a browser watches; set by the server thread.
        selected: vehicles that are read every time; set by the server thread.
        snapshots: vehicle id -> newest snapshot of its autopilot.
        views: the last few published steps, newest last.
    """

    def __init__(
        self,
        pilots: Mapping[int, GcsVehicle],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.watched = False
        self.selected: frozenset[int] = frozenset()
        self.snapshots: dict[int, AutopilotSnapshot] = {}
        self.views: deque[FleetView] = deque(maxlen=KEPT_VIEWS)
        self._pilots = pilots
        self._clock = clock
        self._turns = cycle(pilots)
        self._per_period = -(-len(pilots) // ROUND)
        self._next_s = 0.0

    def after_step(self, view: FleetView) -> None:
        """Keep the step that was published."""
        self.views.append(view)
        self._read_due()

    def while_idle(self, _: int) -> None:
        """Keep reading while time is held: people arm and switch modes then, too."""
        self._read_due()

    def forget(self) -> None:
        """Drop what was read: the run continues at another time."""
        self.views = deque(maxlen=KEPT_VIEWS)
        self.snapshots = {}

    def _read_due(self) -> None:
        if not self.watched:
            return
        now_s = self._clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + PERIOD_S
        for vehicle_id in self.selected.union(islice(self._turns, self._per_period)):
            pilot = self._pilots.get(vehicle_id)
            if pilot is not None:
                self.snapshots[vehicle_id] = AutopilotSnapshot(
                    pilot.telemetry(),
                    pilot.missions.items(MissionType.MISSION),
                    pilot.missions.items(MissionType.FENCE),
                )


def lag_s(view: FleetView, vehicle_id: int) -> float | None:
    """Age of the vehicle's newest sensor record, in simulated seconds; ``None`` without one."""
    record = view.sensors.get(vehicle_id)
    return None if record is None else max(0.0, (view.time_us - record.timestamp_us) / 1e6)


# The order of a row's values; browsers get it first and read rows by these names.
FIELDS = (
    "mode", "armed", "health", "waypoint", "battery_percent", "battery_v",
    "fix", "satellites", "lag_ms", "message", "failures",
)  # fmt: skip

Row = tuple[Any, ...]

# Words for GPS_FIX_TYPE of MAVLink.
_FIXES = {0: "none", 1: "no fix", 2: "2D", 3: "3D", 4: "DGPS", 5: "float", 6: "RTK"}
# The same numbers by the kit's own order of fix qualities.
_FIX_NUMBERS = (1, 2, 3, 5, 6)


def make_rows(
    vehicles: Iterable[VehicleInstance],
    views: list[FleetView],
    snapshots: Mapping[int, AutopilotSnapshot],
    failures: Mapping[int, Mapping[str, str]],
) -> dict[int, Row]:
    """The rows of all vehicles, by id; ``views`` are the last few steps, newest last."""
    return {
        vehicle.id: _row(
            vehicle, views, snapshots.get(vehicle.id), dict(failures.get(vehicle.id, {}))
        )
        for vehicle in vehicles
    }


def _row(
    vehicle: VehicleInstance,
    views: list[FleetView],
    snapshot: AutopilotSnapshot | None,
    failures: dict[str, str],
) -> Row:
    status = vehicle.status()
    lag = lag_s(views[-1], vehicle.id) if views else None
    percent, volts, fix, satellites = (
        _estimated(snapshot.telemetry) if snapshot is not None else _measured(views, vehicle.id)
    )
    return (
        status.mode,
        status.armed,
        _health(vehicle, views),
        status.waypoint,
        percent,
        volts,
        fix,
        satellites,
        None if lag is None else round(lag * 1000.0),
        status.last_message,
        failures,
    )


def _health(vehicle: VehicleInstance, views: list[FleetView]) -> str:
    if vehicle.failed:
        return "failed"
    if vehicle.stalled:
        return "stalled"
    return "ok" if views and vehicle.id in views[-1].sensors else "silent"


def _estimated(now: Telemetry) -> tuple[int | None, float | None, str, int]:
    percent = now.battery_remaining_percent
    return (
        None if percent < 0 else percent,
        round(now.battery_v, 1) or None,
        _FIXES.get(now.gps_fix, str(now.gps_fix)),
        now.gps_satellites,
    )


def _measured(views: list[FleetView], vehicle_id: int) -> tuple[int | None, float | None, str, int]:
    """The same from the sensors, for vehicles whose autopilot is somewhere else."""
    battery = _newest(views, vehicle_id, "battery")
    gps = _newest(views, vehicle_id, "gps")
    percent = volts = None
    if isinstance(battery, BatteryData):
        percent, volts = round(battery.remaining * 100.0), round(battery.voltage_v, 1)
    if isinstance(gps, GpsData):
        return percent, volts, _FIXES[_FIX_NUMBERS[gps.fix_type]], gps.satellites
    return percent, volts, "none", 0


def _newest(views: list[FleetView], vehicle_id: int, sensor: str) -> object:
    for view in reversed(views):
        record = view.sensors.get(vehicle_id)
        sample = getattr(record, sensor, None)
        if sample is not None:
            return sample
    return None


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Changes(Generic[K, V]):
    """Keeps the newest value per key and counts changes.

    Every reader remembers the ``version`` it has seen and asks for what came ``after`` it, so a
    slow reader skips what is outdated and nothing is queued for it.
    """

    def __init__(self) -> None:
        self.version = 0
        self._values: dict[K, V] = {}
        self._changed: dict[K, int] = {}

    def update(self, values: Mapping[K, V]) -> None:
        """Take the newest values of some keys."""
        for key, value in values.items():
            if key not in self._values or self._values[key] != value:
                self.version += 1
                self._values[key] = value
                self._changed[key] = self.version

    def after(self, version: int) -> dict[K, V]:
        """What changed since ``version``; everything for 0."""
        if version >= self.version:
            return {}
        return {key: self._values[key] for key, at in self._changed.items() if at > version}

    def values(self) -> Mapping[K, V]:
        """All values."""
        return self._values


KEPT = 500


class EventTail:
    """A bounded list of numbered events; may be filled by any thread.

    Attributes:
        version: grows with every change.
        began: the version at which it was last emptied; a reader of an older one starts over.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._events: deque[dict[str, Any]] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self.version = 0
        self.began = 0

    def add(self, event: BridgeEvent, text: str = "") -> None:
        """Keep one event, with ``text`` for its own; control characters are made visible."""
        with self._lock:
            self.version += 1
            self._events.append(
                {
                    "n": self.version,
                    "time_s": round(event.time_us / 1e6, 2),
                    "kind": event.kind,
                    "id": event.vehicle_id,
                    "severity": event.severity,
                    "text": _visible(text or event.text),
                }
            )

    def clear(self) -> None:
        """Empty it: what it held lies in the future now."""
        with self._lock:
            self._events.clear()
            self.version += 1
            self.began = self.version

    def after(self, version: int) -> list[dict[str, Any]]:
        """Those that came after ``version``, oldest first."""
        with self._lock:
            return [event for event in self._events if event["n"] > version]

    def message_after(self, version: int) -> tuple[dict[str, Any], int]:
        """The message for a reader that has seen ``version``, and the version to remember."""
        with self._lock:
            events = [event for event in self._events if event["n"] > version]
            reset = version < self.began
            return {"t": "events", "events": events, "reset": reset}, self.version


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:500])


class ViewSource(Protocol):
    """Read and refreshed by the server thread only; nothing in it may wait.

    Attributes:
        frame: the newest positions, encoded; ``frame_number`` grows with every new one.
        figures: how the run goes; ``figures_number`` grows with every new set.
        rows: the fleet table, by vehicle id.
        plans: missions and fences, by vehicle id.
        events: what happened.
        restarts: grows when the run is taken back to a snapshot: browsers begin again.
        commands: what a browser may ask for, by name; may wait, so they get their own thread.
    """

    frame: bytes
    frame_number: int
    figures: Mapping[str, Any]
    figures_number: int
    rows: Changes[int, Row]
    plans: Changes[int, dict[str, Any]]
    events: EventTail
    restarts: int
    commands: Mapping[str, Command]

    def hello(self) -> dict[str, Any]:
        """What never changes, and what happened so far: the first message to a browser.

        Its ``timeline`` is ``{start_s, end_s}`` where ``seek`` can be asked for, else ``None``.
        """

    def refresh(self, now_s: float) -> None:
        """Bring everything up to date; called up to 20 times per second."""

    def set_watchers(self, count: int, selected: Collection[int]) -> None:
        """Take the number of browsers, and the vehicles whose details they want."""

    def details(self, vehicle_id: int) -> dict[str, Any] | None:
        """Everything about one vehicle; ``None`` when there is none of this id."""

    def state(self) -> dict[str, Any]:
        """Everything as one JSON object."""

    def metrics(self) -> str:
        """The figures as Prometheus text."""

    def problems(self, now_s: float) -> list[str]:
        """What is wrong, one sentence each; nothing when all is well."""
