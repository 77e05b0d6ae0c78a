"""What a view can ask of single rovers: arm, mode, drive there, all back to the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pico_gz.autopilot.api import GroundControlled, Mode, Result
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.config import FleetConfig
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.local_frame import LocalFrame
from pico_gz.session.control_commands import integer, number, report_done
from pico_gz.session.control_server import Command
from pico_gz.session.failures import FailureSwitch
from pico_gz.session.missions import MissionStarter
from pico_gz.simulator.ops import SCALAR

EVERYBODY = 0
NAMED_REFUSALS = 5
MODE_NAMES = tuple(mode.name for mode in Mode if mode is not Mode.INITIALISING)


class VehicleCommands:
    """Commands to rovers with a built-in autopilot; each is carried out between two steps."""

    def __init__(
        self,
        bridge: SitlBridge,
        fleet: FleetConfig,
        frame: LocalFrame,
        pilots: Mapping[int, GroundControlled],
    ) -> None:
        self._bridge = bridge
        self._fleet = fleet
        self._frame = frame
        self._pilots = pilots

    def table(self, fail: FailureSwitch, starter: MissionStarter) -> dict[str, Command]:
        """Command name -> function of the request; ``id`` 0 is everybody, but for ``goto``."""
        return {
            "arm": lambda request: self._each(request, self._arm),
            "disarm": lambda request: self._each(request, self._disarm),
            "mode": self._set_mode,
            "goto": self._go_to,
            "reset": lambda _: self._bridge.call(lambda: self._reset(fail, starter)),
        }

    def _each(
        self, request: Mapping[str, Any], act: Callable[[int, GroundControlled], None]
    ) -> None:
        wanted = integer(request, "id", EVERYBODY, 255)

        def all_of_them() -> None:
            refusals = []
            for vehicle_id, pilot in self._chosen(wanted):
                try:
                    act(vehicle_id, pilot)
                except ConfigError as refusal:
                    refusals.append(str(refusal))
            if refusals:
                raise ConfigError(_together(refusals))

        self._bridge.call(all_of_them)

    def _chosen(self, wanted: int) -> Iterator[tuple[int, GroundControlled]]:
        if wanted == EVERYBODY:
            present = self._bridge.list_vehicles()
            yield from ((i, pilot) for i, pilot in self._pilots.items() if i in present)
            return
        self._bridge.get_vehicle(wanted)
        if wanted not in self._pilots:
            raise ConfigError(f"Vehicle {wanted} has no built-in autopilot to command.")
        yield wanted, self._pilots[wanted]

    def _arm(self, vehicle_id: int, pilot: GroundControlled) -> None:
        self._require(pilot.arm(), vehicle_id, "does not arm")

    def _disarm(self, vehicle_id: int, pilot: GroundControlled) -> None:
        self._require(pilot.disarm(force=True), vehicle_id, "does not disarm")

    def _set_mode(self, request: Mapping[str, Any]) -> None:
        name = str(request.get("mode", "")).upper()
        if name not in MODE_NAMES:
            raise ConfigError(f"Unknown mode {name!r}.", hint=did_you_mean(name, MODE_NAMES))
        mode = Mode[name]
        self._each(
            request, lambda i, pilot: self._require(pilot.set_mode(mode), i, f"refuses {name}")
        )

    def _go_to(self, request: Mapping[str, Any]) -> None:
        vehicle_id = integer(request, "id", 1, 255)
        north_m, east_m = number(request, "north_m"), number(request, "east_m")
        lat_deg, lon_deg, _ = self._frame.geodetic_from_ned(SCALAR, north_m, east_m, 0.0)

        def drive() -> None:
            ((_, pilot),) = self._chosen(vehicle_id)
            self._arm(vehicle_id, pilot)
            result = pilot.guide_to_global(
                round(lat_deg * 1e7), round(lon_deg * 1e7), change_mode=True
            )
            self._require(result, vehicle_id, "does not go there")

        self._bridge.call(drive)

    def _reset(self, fail: FailureSwitch, starter: MissionStarter) -> None:
        """Everybody stands where it started, as after power-on; time goes on."""
        for vehicle_id, units in fail.active.items():
            for unit in units:
                fail(vehicle_id, unit, "ok")
        for plan in self._fleet.vehicles:
            if plan.id not in self._bridge.list_vehicles():
                continue
            pilot, pose = self._pilots.get(plan.id), plan.config.pose
            if pilot is not None:
                pilot.disarm(force=True)
            self._bridge.set_pose(plan.id, pose.north_m, pose.east_m, pose.yaw_deg)
            if pilot is not None:
                pilot.reboot()
        starter.restart()
        report_done(self._bridge, "reset", "Everybody stands where it started.")

    def _require(self, result: Result, vehicle_id: int, what: str) -> None:
        if result is Result.ACCEPTED:
            return
        vehicle = self._bridge.get_vehicle(vehicle_id)
        said = vehicle.status().last_message
        raise ConfigError(f"{vehicle.config.label} {what}: {said or result.name.lower()}")


def _together(refusals: list[str]) -> str:
    """One message for many who refuse; the first few in their own words."""
    if len(refusals) == 1:
        return refusals[0]
    named, more = refusals[:NAMED_REFUSALS], len(refusals) - NAMED_REFUSALS
    rest = f"; and {more} more" if more > 0 else ""
    return f"{len(refusals)} refuse: {'; '.join(named)}{rest}"
