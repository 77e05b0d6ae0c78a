"""What ctl can do to a run, faults included."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import speed_of, with_speed
from pico_gz.bridge.published import BridgeEvent, BridgeState
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.portable_math import DEG_PER_RAD
from pico_gz.core.snapshot import Snapshot
from pico_gz.errors import ConfigError
from pico_gz.run.control_socket import Command
from pico_gz.run.rc_setup import RcFeeder

if TYPE_CHECKING:
    from pico_gz.vehicle.external.fdm_server import FdmServer


# (vehicle id, unit, kind of failure)
Fail = Callable[[int, str, str], None]

MAX_SINGLE_STEPS = 1_000_000
STEP_ANSWER_S = 5.0  # a request for single steps is answered when they are done, or after this


def control_commands(bridge: SitlBridge, fail_unit: Fail) -> dict[str, Command]:
    """Command name -> function of the request."""

    def pause(_: Mapping[str, Any]) -> dict[str, Any]:
        bridge.pause()
        return status_of(bridge)

    def resume(_: Mapping[str, Any]) -> dict[str, Any]:
        bridge.resume()
        return status_of(bridge)

    def toggle(request: Mapping[str, Any]) -> dict[str, Any]:
        return resume(request) if bridge.state is BridgeState.PAUSED else pause(request)

    def step(request: Mapping[str, Any]) -> dict[str, Any]:
        count = integer(request, "count", 1, MAX_SINGLE_STEPS)
        wanted = bridge.stats.steps + count
        bridge.step(count)
        end_s = time.monotonic() + STEP_ANSWER_S
        while (
            bridge.stats.steps < wanted
            and bridge.state is BridgeState.PAUSED
            and time.monotonic() < end_s
        ):
            time.sleep(0.005)
        return status_of(bridge)

    def speed(request: Mapping[str, Any]) -> dict[str, Any]:
        wanted = request.get("speed")
        factor = None if wanted == "max" else number(request, "speed")
        bridge.time_mode = with_speed(bridge.time_mode, factor)
        return status_of(bridge)

    def set_pose(request: Mapping[str, Any]) -> dict[str, Any]:
        vehicle_id = integer(request, "id", 1, 255)
        north_m, east_m = number(request, "north_m"), number(request, "east_m")
        yaw_deg = number(request, "yaw_deg")
        speed_mps = number(request, "speed_mps") if "speed_mps" in request else 0.0

        def move() -> dict[int, VehicleTruth]:
            bridge.set_pose(vehicle_id, north_m, east_m, yaw_deg, speed_mps)
            place = f"north {north_m:g} m, east {east_m:g} m, yaw {yaw_deg:g} deg"
            name = bridge.get_vehicle(vehicle_id).config.label
            report_event(bridge, "pose", f"{name}: put at {place}.", vehicle_id)
            return _truth_now(bridge)

        return status_of(bridge, bridge.at_step_boundary(move))

    def fail(request: Mapping[str, Any]) -> dict[str, Any]:
        unit, kind = str(request.get("unit", "")), str(request.get("type", ""))
        fail_unit(integer(request, "id", 1, 255), unit, kind)
        return status_of(bridge)

    return {
        "pause": pause,
        "resume": resume,
        "toggle": toggle,
        "step": step,
        "speed": speed,
        "set-pose": set_pose,
        "fail": fail,
        "status": lambda _: status_of(bridge),
    }


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


def number(request: Mapping[str, Any], name: str) -> float:
    """A finite number of a request, checked."""
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise ConfigError(f"{name} is a number, not {value!r}.")
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
