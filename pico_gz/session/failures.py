"""One switch for everything that can fail: sensors and motors, the radio, MAVLink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.events import BridgeEvent
from pico_gz.errors import ConfigError
from pico_gz.session.rc import RcFeeder

if TYPE_CHECKING:
    from pico_gz.fdm.server import FdmServer

RC_UNIT = "rc"
LINK_UNIT = "mavlink"
_HEALTHY = "ok"
_RC_KINDS = (_HEALTHY, "off", "wrong")
_IMU_UNITS = frozenset({"imu", "gyro", "accel"})


class FailureSwitch:
    """Switches a failure of one vehicle; what is not a sensor or motor is found here.

    Attributes:
        active: vehicle id -> unit -> kind, those that are on; replaced, never changed.
        link: switches a vehicle's ground link, (vehicle id, kind); ``None`` without MAVLink.
        external: serves the external autopilots, who see failures only in their records.
    """

    def __init__(self, bridge: SitlBridge, rc: RcFeeder | None) -> None:
        self._bridge = bridge
        self._rc = rc
        self.active: Mapping[int, Mapping[str, str]] = {}
        self.link: Callable[[int, str], None] | None = None
        self.external: FdmServer | None = None

    def __call__(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break ``unit`` in the way ``kind``; ``ok`` mends it.

        Raises:
            ConfigError: there is no such unit or way of failing.
        """
        if unit == RC_UNIT:
            self._fail_rc(vehicle_id, kind)
        elif unit == LINK_UNIT:
            self._fail_link(vehicle_id, kind)
        else:
            self._require_seen(vehicle_id, unit)
            self._bridge.set_failure(vehicle_id, unit, kind)
        self._note(vehicle_id, unit, kind)
        self._bridge.between_steps(lambda: self._tell(vehicle_id, unit, kind))
        if unit in _IMU_UNITS:
            self._show_imu(vehicle_id)

    def _note(self, vehicle_id: int, unit: str, kind: str) -> None:
        units = {u: k for u, k in self.active.get(vehicle_id, {}).items() if u != unit}
        if unit == "imu":  # it is both halves
            units = {u: k for u, k in units.items() if u not in _IMU_UNITS}
        if kind != _HEALTHY:
            units[unit] = kind
        self.active = {**self.active, vehicle_id: units}

    def _tell(self, vehicle_id: int, unit: str, kind: str) -> None:
        name = self._bridge.get_vehicle(vehicle_id).config.label
        healthy = kind == _HEALTHY
        self._bridge.report(
            BridgeEvent(
                time_us=self._bridge.sim_time_us(),
                kind="failure",
                text=f"{name}: {unit} works again."
                if healthy
                else f"{name}: {unit} fails: {kind}.",
                vehicle_id=vehicle_id,
                severity=6 if healthy else 4,
            )
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
            failing = not _IMU_UNITS.isdisjoint(self.active[vehicle_id])
            self._bridge.between_steps(lambda: server.set_imu_failing(vehicle_id, failing))

    def _fail_link(self, vehicle_id: int, kind: str) -> None:
        if self.link is None:
            raise ConfigError("No vehicle has a ground link in this run.")
        switch = self.link
        self._bridge.between_steps(lambda: switch(vehicle_id, kind))

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
    from pico_gz.simulator.sensors.fault_values import UNITS
    from pico_gz.simulator.sensors.faults import find_units

    try:
        return [UNITS[name].field for name in find_units(unit)]
    except ConfigError:
        return []
