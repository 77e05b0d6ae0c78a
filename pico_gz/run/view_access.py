"""What the browser view may see and ask of a run.

The run does not know the view's code; its caller hands in the function that opens
one (``pico_gz.view.app.open_dashboard``), so that nothing here needs the ``web`` extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import GcsVehicle, MissionItem, Mode, Result
from pico_gz.core.vehicle_config import WORLD_RADIUS_M
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.run.commands import FailureSwitch, integer, number, report_event
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.control_socket import Command
from pico_gz.run.health import Failures, Troubles
from pico_gz.run.overload import Pace
from pico_gz.run.recording.topics import AutopilotSample
from pico_gz.run.vehicle_setup import MissionStarter, give_mission

FLEET_CHANGES = ("join", "leave")  # kinds of events after which the fleet is another
ALL_VEHICLES = 0
NAMED_REFUSALS = 5
MODE_NAMES = tuple(mode.name for mode in Mode if mode is not Mode.INITIALISING)
_NOT_ARMED_IN = (Mode.RTL, Mode.SMART_RTL)


class VehicleCommands:
    """Commands to rovers with a built-in autopilot; each is carried out between two steps."""

    def __init__(
        self,
        bridge: SitlBridge,
        fleet: Callable[[], FleetConfig],
        frame: LocalFrame,
        pilots: Mapping[int, GcsVehicle],
    ) -> None:
        self._bridge = bridge
        self._fleet = fleet
        self._frame = frame
        self._pilots = pilots

    def table(self, fail: FailureSwitch, starter: MissionStarter) -> dict[str, Command]:
        """Command name -> function of the request; ``id`` 0 is all vehicles, but for ``goto``."""
        return {
            "arm": lambda request: self._each(request, self._arm),
            "disarm": lambda request: self._each(request, self._disarm),
            "mode": self._set_mode,
            "goto": self._go_to,
            "mission": lambda request: self._start_mission(request, starter),
            "reset": lambda _: self._bridge.at_step_boundary(lambda: self._reset(fail, starter)),
        }

    def _each(self, request: Mapping[str, Any], act: Callable[[int, GcsVehicle], None]) -> None:
        wanted = integer(request, "id", ALL_VEHICLES, 255)

        def all_of_them() -> None:
            refusals, hints = [], []
            for vehicle_id, pilot in self._chosen(wanted):
                try:
                    act(vehicle_id, pilot)
                except ConfigError as refusal:
                    refusals.append(refusal.message)
                    hints.append(refusal.hint)
            if refusals:
                raise ConfigError(_together(refusals), hint=hints[0])

        self._bridge.at_step_boundary(all_of_them)

    def _chosen(self, wanted: int) -> Iterator[tuple[int, GcsVehicle]]:
        if wanted == ALL_VEHICLES:
            present = self._bridge.list_vehicles()
            yield from ((i, pilot) for i, pilot in self._pilots.items() if i in present)
            return
        self._bridge.get_vehicle(wanted)
        if wanted not in self._pilots:
            raise ConfigError(f"Vehicle {wanted} has no built-in autopilot to command.")
        yield wanted, self._pilots[wanted]

    def _arm(self, vehicle_id: int, pilot: GcsVehicle) -> None:
        self._require(pilot.arm(), vehicle_id, "does not arm")

    def _disarm(self, vehicle_id: int, pilot: GcsVehicle) -> None:
        self._require(pilot.disarm(force=True), vehicle_id, "does not disarm")

    def _set_mode(self, request: Mapping[str, Any]) -> None:
        name = str(request.get("mode", "")).upper()
        if name not in MODE_NAMES:
            raise ConfigError(f"Unknown mode {name!r}.", hint=did_you_mean(name, MODE_NAMES))
        mode, arms = Mode[name], request.get("arm") is True

        def change(vehicle_id: int, pilot: GcsVehicle) -> None:
            self._require(pilot.set_mode(mode), vehicle_id, f"refuses {name}")
            if arms and mode in _NOT_ARMED_IN and not pilot.telemetry().armed:
                # Armed on the spot first; that it can get into the mode is known by now.
                pilot.set_mode(Mode.HOLD)
                self._arm(vehicle_id, pilot)
                self._require(pilot.set_mode(mode), vehicle_id, f"refuses {name}")
            elif arms:
                self._arm(vehicle_id, pilot)

        self._each(request, change)

    def _go_to(self, request: Mapping[str, Any]) -> None:
        vehicle_id = integer(request, "id", 1, 255)
        north_m = number(request, "north_m", WORLD_RADIUS_M)
        east_m = number(request, "east_m", WORLD_RADIUS_M)
        lat_deg, lon_deg, _ = self._frame.geodetic_from_ned(north_m, east_m, 0.0)

        def drive() -> None:
            ((_, pilot),) = self._chosen(vehicle_id)
            self._arm(vehicle_id, pilot)
            result = pilot.guided.to_global(
                round(lat_deg * 1e7), round(lon_deg * 1e7), change_mode=True
            )
            self._require(result, vehicle_id, "does not go there")

        self._bridge.at_step_boundary(drive)

    def _start_mission(self, request: Mapping[str, Any], starter: MissionStarter) -> dict[str, str]:
        """Load a mission file, arm and start it; several rovers each drive it from their start.

        Returns:
            A message about the rovers that cannot start yet; ``starter`` tries them again.
        """
        path = Path(str(request.get("path", "")))
        wanted = integer(request, "id", ALL_VEHICLES, 255)
        relative = wanted == ALL_VEHICLES or request.get("relative") is True
        first_start = self._fleet().vehicles[0].config.pose if relative else None

        def load(vehicle_id: int, pilot: GcsVehicle) -> None:
            config = self._fleet().vehicle(vehicle_id).config
            give_mission(pilot, path, config, self._frame, first_start)
            pilot.missions.set_current(1)
            starter.start(pilot)
            if pilot.arm() is not Result.ACCEPTED:
                said = self._bridge.get_vehicle(vehicle_id).status().last_message
                waiting.append(f"{config.label} starts when it can arm: {said}")

        waiting: list[str] = []
        self._each(request, load)
        return {"message": _together(waiting)} if waiting else {}

    def _reset(self, fail: FailureSwitch, starter: MissionStarter) -> None:
        """All vehicles stand where they started, as after power-on; time continues."""
        for vehicle_id, units in fail.active.items():
            for unit in units:
                fail(vehicle_id, unit, "ok")
        for plan in self._fleet().vehicles:
            if plan.id not in self._bridge.list_vehicles():
                continue
            pilot, pose = self._pilots.get(plan.id), plan.config.pose
            if pilot is not None:
                pilot.disarm(force=True)
            self._bridge.set_pose(plan.id, pose.north_m, pose.east_m, pose.yaw_deg)
            if pilot is not None:
                pilot.reboot()
        starter.restart()
        report_event(self._bridge, "reset", "All vehicles stand where they started.")

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


@dataclass(slots=True, kw_only=True)
class RunHandle:
    """A run as its observers see it.

    Attributes:
        fleet: with every adapter decided; another one when a vehicle has joined.
        bridge: adapters, vehicles and clock.
        frame: the fleet's geodetic origin.
        pilots: the vehicles that can be commanded; called on the simulation thread only.
        commands: what can be done to the run, by name, from any thread.
        failures: returns which failures are switched on.
        troubles: returns the vehicles in trouble.
        pace: returns how slow the run is; ``None`` while it keeps its pace.
        timeline_s: from when to when time can be chosen [s]; ``None``: it cannot be chosen.
        tracks: of a recording: vehicle id -> time [ms], north [cm], east [cm], in turn.
        recorded_events: of a recording: all of them, in order of time.
        recorded_items: of a recording: vehicle id -> mission and fence that it started with.
        sample_of: of a recording: what a vehicle's autopilot believed at the time that is shown.
    """

    fleet: FleetConfig
    bridge: SitlBridge
    frame: LocalFrame
    pilots: Mapping[int, GcsVehicle]
    commands: Mapping[str, Command]
    failures: Callable[[], Failures]
    troubles: Callable[[], Troubles] = dict
    pace: Callable[[], Pace | None] = lambda: None
    timeline_s: tuple[float, float] | None = None
    tracks: Mapping[int, Sequence[int]] = field(default_factory=dict)
    recorded_events: Sequence[BridgeEvent] = ()
    recorded_items: Mapping[int, tuple[Sequence[MissionItem], Sequence[MissionItem]]] = field(
        default_factory=dict
    )
    sample_of: Callable[[int], AutopilotSample | None] = lambda vehicle_id: None


class RunView(Protocol):
    """Something that shows a run while it is under way."""

    @property
    def line(self) -> str:
        """Where people find it, one line."""

    def close(self) -> None:
        """End it; harmless when called twice."""


OpenView = Callable[[RunHandle], RunView]
