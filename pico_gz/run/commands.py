"""What ctl can do to a run, faults included."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import msgspec

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.bridge import MAX_DISTANCE_M, SitlBridge
from pico_gz.bridge.clock import speed_of, with_speed
from pico_gz.bridge.published import BridgeEvent, BridgeState, FleetView
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.portable_math import DEG_PER_RAD
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError
from pico_gz.run.control_socket import Command
from pico_gz.run.rc_setup import RcFeeder
from pico_gz.simulator.contacts import Contact

if TYPE_CHECKING:
    from pico_gz.vehicle.external.fdm_server import FdmServer


@runtime_checkable
class ReportsContacts(Protocol):
    """An adapter that knows which vehicles touch what."""

    name: str

    def drain_contacts(self) -> list[Contact]:
        """Take the contacts that began since the last call."""

    def touching(self) -> list[tuple[int, int | str]]:
        """The contacts that last."""


@runtime_checkable
class KnowsPlaces(Protocol):
    """A simulator that knows who stands where."""

    def overlaps_at(self, vehicle_id: int, pose: Pose) -> list[str]:
        """What a vehicle would stand in at ``pose``, by name."""


# (vehicle id, unit, kind of failure)
Fail = Callable[[int, str, str], None]

MAX_SINGLE_STEPS = 1_000_000
STEP_ANSWER_S = 5.0  # a request for single steps is answered when they are done, or after this


PAUSE_ANSWER_S = 1.0  # a request to pause is answered when time stands, or after this
MAX_SPEED_MPS = 1_000.0


class SpeedMeter:
    """After each step, notes how fast simulated time passes now; pauses are not counted."""

    def __init__(self, bridge: SitlBridge) -> None:
        self._bridge = bridge
        # (wall seconds without pauses, simulated us), oldest first
        self._marks: deque[tuple[float, int]] = deque([(0.0, 0)])

    def __call__(self, view: FleetView) -> None:
        """Note one step."""
        stats = self._bridge.stats
        if stats.wall_s - self._marks[-1][0] < _MARK_EVERY_S:
            return
        self._marks.append((stats.wall_s, stats.sim_us))
        while self._marks[0][0] < stats.wall_s - _MEASURED_S:
            self._marks.popleft()

    def now(self) -> float:
        """Simulated seconds per second, over the last two seconds; 0 while paused."""
        if self._bridge.state is BridgeState.PAUSED:
            return 0.0
        stats, (wall_s, sim_us) = self._bridge.stats, self._marks[0]
        passed_s = stats.wall_s - wall_s
        return (stats.sim_us - sim_us) / 1e6 / passed_s if passed_s > _MARK_EVERY_S else 0.0


_MARK_EVERY_S = 0.1
_MEASURED_S = 2.0


def control_commands(
    bridge: SitlBridge,
    fail_unit: Fail,
    about: Callable[[], Mapping[str, Any]] = dict,
    note_of: Callable[[int, str], str] = lambda vehicle_id, unit: "",
) -> dict[str, Command]:
    """Command name -> function of the request.

    Args:
        bridge: what they act on.
        fail_unit: breaks and mends what vehicles have.
        about: gives what every answer says of the run, beside ``status_of``.
        note_of: (vehicle id, unit) -> what the answer to a failure adds.
    """

    def status(truth_now: Mapping[int, VehicleTruth] | None = None) -> dict[str, Any]:
        return {**status_of(bridge, truth_now), **about()}

    def pause(_: Mapping[str, Any]) -> dict[str, Any]:
        _pause(bridge)
        return status()

    def resume(_: Mapping[str, Any]) -> dict[str, Any]:
        bridge.resume()
        return status()

    def toggle(request: Mapping[str, Any]) -> dict[str, Any]:
        return resume(request) if bridge.state is BridgeState.PAUSED else pause(request)

    def step(request: Mapping[str, Any]) -> dict[str, Any]:
        count = integer(request, "count", 1, MAX_SINGLE_STEPS)
        wanted = bridge.stats.steps + count
        bridge.step(count)
        _wait_while(
            lambda: bridge.stats.steps < wanted and bridge.state is BridgeState.PAUSED,
            STEP_ANSWER_S,
        )
        return status()

    def speed(request: Mapping[str, Any]) -> dict[str, Any]:
        wanted = request.get("speed")
        factor = None if wanted == "max" else number(request, "speed")
        bridge.time_mode = with_speed(bridge.time_mode, factor)
        return status()

    def set_pose(request: Mapping[str, Any]) -> dict[str, Any]:
        vehicle_id = integer(request, "id", 1, 255)
        north_m = number(request, "north_m", MAX_DISTANCE_M)
        east_m = number(request, "east_m", MAX_DISTANCE_M)
        yaw_deg = number(request, "yaw_deg")
        speed_mps = number(request, "speed_mps", MAX_SPEED_MPS) if "speed_mps" in request else 0.0

        def move() -> dict[int, VehicleTruth]:
            pose = Pose(north_m=north_m, east_m=east_m, yaw_deg=yaw_deg)
            _require_free(bridge, vehicle_id, pose)
            bridge.set_pose(vehicle_id, north_m, east_m, yaw_deg, speed_mps)
            place = f"north {north_m:g} m, east {east_m:g} m, yaw {yaw_deg:g} deg"
            name = bridge.get_vehicle(vehicle_id).config.label
            report_event(bridge, "pose", f"{name}: put at {place}.", vehicle_id)
            return _truth_now(bridge)

        return status(_seen_moved(bridge, bridge.at_step_boundary(move)))

    def fail(request: Mapping[str, Any]) -> dict[str, Any]:
        unit, kind = str(request.get("unit", "")), str(request.get("type", ""))
        vehicle_id = integer(request, "id", 1, 255)
        fail_unit(vehicle_id, unit, kind)
        name = bridge.get_vehicle(vehicle_id).config.label
        return {**status(), "message": f"{unit} of {name}: {kind}{note_of(vehicle_id, unit)}"}

    return {
        "pause": pause,
        "resume": resume,
        "toggle": toggle,
        "step": step,
        "speed": speed,
        "set-pose": set_pose,
        "fail": fail,
        "status": lambda _: status(),
    }


def _seen_moved(
    bridge: SitlBridge, places: Mapping[int, VehicleTruth]
) -> Mapping[int, VehicleTruth] | None:
    """Where vehicles are after one was moved; Gazebo moves it in its next step."""
    step = bridge.view.step
    _wait_while(
        lambda: bridge.view.step < step + 2 and bridge.state is BridgeState.RUNNING,
        PAUSE_ANSWER_S,
    )
    return None if bridge.state is BridgeState.RUNNING else places


def _pause(bridge: SitlBridge) -> None:
    """Hold time, and wait for the step under way: the answer must name the time that stays."""
    bridge.pause()
    _wait_while(lambda: bridge.view.state is BridgeState.RUNNING, PAUSE_ANSWER_S)


def _wait_while(condition: Callable[[], bool], limit_s: float) -> None:
    end_s = time.monotonic() + limit_s
    while condition() and time.monotonic() < end_s:
        time.sleep(0.002)


def with_status(order: Command, bridge: SitlBridge, status: Command) -> Command:
    """An order to rovers, answered with how the run stands after the next step."""

    def carry_out(request: Mapping[str, Any]) -> Any:
        found = order(request)
        step = bridge.view.step
        _wait_while(
            lambda: bridge.view.step == step and bridge.state is BridgeState.RUNNING,
            PAUSE_ANSWER_S,
        )
        return {**status({}), **(found or {})}

    return carry_out


# A request for events waits for the next one this long, and looks this often.
_EVENTS_LIMIT_S = 2.0
_EVENTS_LOOK_S = 0.05


def run_commands(bridge: SitlBridge, about: Callable[[], Mapping[str, Any]]) -> dict[str, Command]:
    """What only ``pico-gz ctl`` may ask for: the end of the run, its events, its name."""

    def stop(_: Mapping[str, Any]) -> dict[str, Any]:
        bridge.stop()
        return {**status_of(bridge), **about()}

    def events(request: Mapping[str, Any]) -> dict[str, Any]:
        """Those after a number, which may be waited for."""
        after = integer(request, "after", -1, sys.maxsize)
        limit_s = time.monotonic() + _EVENTS_LIMIT_S
        while True:
            ended = bridge.state in (BridgeState.STOPPED, BridgeState.FAILED)
            found, newest = bridge.events.since(after)
            if found or ended or after < 0 or time.monotonic() > limit_s:
                plain = msgspec.to_builtins(found)
                return {"events": plain, "newest": newest, "ended": ended, **about()}
            time.sleep(_EVENTS_LOOK_S)

    return {"stop": stop, "events": events, "whoami": lambda _: dict(about())}


def status_of(
    bridge: SitlBridge, truth_now: Mapping[int, VehicleTruth] | None = None
) -> dict[str, Any]:
    """How the run stands; vehicles are where the last step left them, or at ``truth_now``."""
    view = bridge.view
    if truth_now is None and bridge.state is BridgeState.PAUSED:
        truth_now = _truth_now(bridge)  # set-pose may have moved them since the last step
    places = {**view.truth, **(truth_now or {})}
    vehicles = {}
    for vehicle in bridge.vehicles:
        truth, status = places.get(vehicle.id), vehicle.status()
        vehicles[str(vehicle.id)] = {
            "name": vehicle.config.label,
            "adapter": vehicle.adapter,
            "north_m": truth.north_m if truth else None,
            "east_m": truth.east_m if truth else None,
            "yaw_deg": yaw_from_quat(truth.quat_wxyz) * DEG_PER_RAD if truth else None,
            "mode": status.mode,
            "armed": status.armed,
            "last_message": status.last_message,
        }
    return {
        "state": bridge.state.value,
        "sim_time_s": view.time_us / 1e6,
        "steps": bridge.stats.steps,
        "lost_steps": bridge.stats.lost_steps,
        "rtf": bridge.stats.real_time_factor,
        "speed": speed_of(bridge.time_mode) or "max",
        "vehicles": vehicles,
    }


def report_event(
    bridge: SitlBridge, kind: str, text: str, vehicle_id: int = 0, *, severity: int = 5
) -> None:
    """Report that something happened now; call it between two steps."""
    bridge.events.add(
        BridgeEvent(
            time_us=bridge.view.time_us,
            kind=kind,
            text=text,
            vehicle_id=vehicle_id,
            severity=severity,
        )
    )


def adapter_of(bridge: SitlBridge, vehicle_id: int) -> SimulatorAdapter:
    """The adapter that simulates a vehicle."""
    return bridge.get_adapter(bridge.get_vehicle(vehicle_id).adapter)


def _require_free(bridge: SitlBridge, vehicle_id: int, pose: Pose) -> None:
    """Refuse a place where another vehicle or an obstacle is."""
    adapter = adapter_of(bridge, vehicle_id)
    if isinstance(adapter, KnowsPlaces) and (there := adapter.overlaps_at(vehicle_id, pose)):
        name = bridge.get_vehicle(vehicle_id).config.label
        raise ConfigError(f"{name} cannot be put there: it would stand inside {', '.join(there)}.")


def _truth_now(bridge: SitlBridge) -> dict[int, VehicleTruth]:
    """Where the simulators have the vehicles; read between steps."""
    found: dict[int, VehicleTruth] = {}
    for name in sorted({vehicle.adapter for vehicle in bridge.vehicles}):
        found |= bridge.get_adapter(name).receive_truth()
    return found


def integer(request: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """A whole number of a request, checked."""
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{name} is a whole number, {low}..{high}, not {value!r}.")
    return value


def number(request: Mapping[str, Any], name: str, most: float = 1e9) -> float:
    """A finite number of a request, checked."""
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{name} is a number, not {value!r}.")
    if not abs(value) <= most:
        raise ConfigError(f"{name} = {value!r} is outside -{most:g}..{most:g}.")
    return float(value)


RC_UNIT = "rc"
LINK_UNIT = "mavlink"
_HEALTHY = "ok"
_RC_KINDS = (_HEALTHY, "off", "wrong")
_IMU_UNITS = frozenset({"imu", "gyro", "accel"})


class FailureSwitch(Snapshot):
    """Switches a failure of one vehicle; what is not a sensor or motor is found here.

    Attributes:
        active: vehicle id -> unit -> kind, those that are on; replaced, never changed.
        link: switches a vehicle's ground link, (vehicle id, kind); ``None`` without MAVLink.
        external: serves the external autopilots, who see failures only in their records.
    """

    _state_fields = ("active",)
    _state_types: ClassVar[Mapping[str, Any]] = {"active": dict[int, dict[str, str]]}

    def __init__(self, bridge: SitlBridge, rc: RcFeeder | None) -> None:
        self._bridge = bridge
        self._rc = rc
        self.active: Mapping[int, Mapping[str, str]] = {}
        self.link: Callable[[int, str], None] | None = None
        self.external: FdmServer | None = None
        bridge.timeline.add_state("failures", self)

    def __call__(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break ``unit`` in the way ``kind``; ``ok`` repairs it.

        Raises:
            ConfigError: there is no such unit or way of failing.
        """
        if unit == RC_UNIT:
            self._fail_rc(vehicle_id, kind)
        elif unit == LINK_UNIT:
            self._fail_link(vehicle_id, kind)
        else:
            self._require_seen(vehicle_id, unit)
            adapter = adapter_of(self._bridge, vehicle_id)
            self._bridge.at_step_boundary(lambda: adapter.set_failure(vehicle_id, unit, kind))
        self._note(vehicle_id, unit, kind)
        self._bridge.at_step_boundary(lambda: self._report(vehicle_id, unit, kind))
        if unit in _IMU_UNITS:
            self._show_imu(vehicle_id)

    def note_of(self, vehicle_id: int, unit: str) -> str:
        """A warning where only firmware that reads the records' further keys notices."""
        server = self.external
        if server is None or vehicle_id not in server.vehicle_ids():
            return ""
        from pico_gz.vehicle.external.fdm_server import SENT_FIELDS

        if all(field in SENT_FIELDS for field in _sensor_fields(unit)):
            return ""
        return (
            f" in its records. ArduRover simulates its own {unit} and does not notice: "
            "set its SIM_* parameters."
        )

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Break what was broken; sensors, motors and radio control have a state of their own."""
        before = self.active
        super().load_state(state)
        for vehicle_id in {*before, *self.active}:
            if self.link is not None:
                self.link(vehicle_id, self.active.get(vehicle_id, {}).get(LINK_UNIT, _HEALTHY))
            self._show_imu(vehicle_id)

    def _note(self, vehicle_id: int, unit: str, kind: str) -> None:
        units = {u: k for u, k in self.active.get(vehicle_id, {}).items() if u != unit}
        if unit == "imu":  # it is both halves
            units = {u: k for u, k in units.items() if u not in _IMU_UNITS}
        if kind != _HEALTHY:
            units[unit] = kind
        self.active = {**self.active, vehicle_id: units}

    def _report(self, vehicle_id: int, unit: str, kind: str) -> None:
        name = self._bridge.get_vehicle(vehicle_id).config.label
        healthy = kind == _HEALTHY
        what = "works again" if healthy else f"fails: {kind}"
        severity = 6 if healthy else 4
        report_event(
            self._bridge, "failure", f"{name}: {unit} {what}.", vehicle_id, severity=severity
        )

    def _require_seen(self, vehicle_id: int, unit: str) -> None:
        """Refuse a failure that an external autopilot would never notice."""
        server = self.external
        if server is None or vehicle_id not in server.vehicle_ids():
            return
        if not all(server.sends(vehicle_id, field) for field in _sensor_fields(unit)):
            raise ConfigError(
                f"Vehicle {vehicle_id}: its autopilot makes up {unit!r} itself.",
                hint="Set the autopilot's own SIM_* parameters.",
            )

    def _show_imu(self, vehicle_id: int) -> None:
        """An external autopilot gets its IMU from truth, unless that has failed."""
        server = self.external
        if server is not None and vehicle_id in server.vehicle_ids():
            failing = not _IMU_UNITS.isdisjoint(self.active.get(vehicle_id, {}))
            self._bridge.at_step_boundary(lambda: server.set_imu_failing(vehicle_id, failing))

    def _fail_link(self, vehicle_id: int, kind: str) -> None:
        if self.link is None:
            raise ConfigError("No vehicle has a ground link in this run.")
        switch = self.link
        self._bridge.at_step_boundary(lambda: switch(vehicle_id, kind))

    def _fail_rc(self, vehicle_id: int, kind: str) -> None:
        self._bridge.get_vehicle(vehicle_id)
        if self._rc is None:
            raise ConfigError("No vehicle has radio control in this run.", hint="--rc udp")
        if kind not in _RC_KINDS:
            raise ConfigError(f"Radio control cannot be {kind!r}.", hint="Use off, wrong or ok.")
        self._rc.set_lost(vehicle_id, kind == "off")
        self._rc.set_fallen_back(vehicle_id, kind == "wrong")


def _sensor_fields(unit: str) -> list[str]:
    """The fields of ``SensorData`` that a unit is about; none for what is no sensor."""
    from pico_gz.simulator.faults import UNITS, find_units

    try:
        return [UNITS[name].field for name in find_units(unit)]
    except ConfigError:
        return []
