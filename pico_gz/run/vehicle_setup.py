"""The vehicles of a run: platform, autopilot, parameters, missions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.core.autopilot import Autopilot
from pico_gz.core.board_options import PlatformOptions
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import (
    GcsParams,
    GcsVehicle,
    MissionItem,
    MissionType,
    Result,
)
from pico_gz.core.memory_limit import require_memory
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.errors import AutopilotError, ConfigError, PicoGzError
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.missions import shifted
from pico_gz.vehicle.own_autopilots import is_commandable, make_autopilot
from pico_gz.vehicle.platform.platform import SitlPlatform

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot


NAV_WAYPOINT = 16
DEMO_SIDE_M = 8.0
_RETRY_US = 500_000
# So many tries are made in silence between two that say what is missing.
_QUIET_TRIES = 20
_PREARM_CHECK = 1 << 28  # MAV_SYS_STATUS_PREARM_CHECK


class MissionStarter(Snapshot):
    """Arms vehicles and starts their missions; asks again until the arming checks pass."""

    _state_fields = ("_next_try_us", "_tries", "_waiting")

    def __init__(self, vehicles: Sequence[GcsVehicle]) -> None:
        self._vehicles = tuple(vehicles)
        self._waiting = list(range(len(self._vehicles)))
        self._next_try_us = 0
        self._tries = 0

    def waiting(self) -> tuple[GcsVehicle, ...]:
        """The vehicles whose mission has not started yet."""
        return tuple(self._vehicles[number] for number in self._waiting)

    def start(self, vehicle: GcsVehicle) -> None:
        """Start this vehicle's mission too."""
        if vehicle not in self._vehicles:
            self._vehicles = (*self._vehicles, vehicle)
        number = self._vehicles.index(vehicle)
        if number not in self._waiting:
            self._waiting.append(number)
        self._next_try_us = 0

    def restart(self) -> None:
        """Start all missions again, as at the beginning."""
        self._waiting = list(range(len(self._vehicles)))
        self._tries = 0

    def __call__(self, now_us: int) -> None:
        """Try those that have not started yet; at most twice per simulated second."""
        if not self._waiting or now_us < self._next_try_us:
            return
        self._next_try_us = now_us + _RETRY_US
        self._tries += 1
        aloud = self._tries % _QUIET_TRIES == 0
        vehicles = self._vehicles
        self._waiting = [n for n in self._waiting if not _start(vehicles[n], aloud=aloud)]


def _start(vehicle: GcsVehicle, *, aloud: bool) -> bool:
    """Whether its mission runs; refusals reach every ground station, so mostly none is provoked."""
    if not aloud:
        telemetry = vehicle.telemetry()
        if not telemetry.armed and not telemetry.sensors_healthy & _PREARM_CHECK:
            return False
    return vehicle.arm() is Result.ACCEPTED and vehicle.start_mission() is Result.ACCEPTED


def load_items(
    vehicle: GcsVehicle, kind: MissionType, items: Sequence[MissionItem], label: str, file: str = ""
) -> None:
    """Give a vehicle its mission, fence or rally points; nothing for an empty list.

    Args:
        vehicle: who gets them.
        kind: what they are.
        items: the whole list.
        label: the vehicle's name.
        file: where they come from.

    Raises:
        ConfigError: the autopilot does not take them.
    """
    if not items:
        return
    from pico_gz.run.config.mission_check import require_items

    refused = f"{label} does not take the {kind.name.lower()}" + (f" of {file}" if file else "")
    require_items(kind, items, refused)
    result = vehicle.missions.replace(kind, items)
    if result != 0:
        raise ConfigError(f"{refused}: {result.name.lower()}.")


def demo_square(pose: Pose, frame: LocalFrame, side_m: float = DEMO_SIDE_M) -> list[MissionItem]:
    """A square north and east of where a vehicle starts, ending there; item 0 is home."""
    corners = ((0.0, 0.0), (side_m, 0.0), (side_m, side_m), (0.0, side_m), (0.0, 0.0))
    items = []
    for seq, (north_m, east_m) in enumerate(corners):
        lat_deg, lon_deg, alt_m = frame.geodetic_from_ned(
            pose.north_m + north_m, pose.east_m + east_m, 0.0
        )
        items.append(
            MissionItem(
                seq=seq,
                command=NAV_WAYPOINT,
                frame=0 if seq == 0 else 3,
                lat_e7=round(lat_deg * 1e7),
                lon_e7=round(lon_deg * 1e7),
                alt_m=alt_m if seq == 0 else 0.0,
            )
        )
    return items


BUILT_IN = "builtin"
SCRIPT_PREFIX = "script:"


def spawn_vehicles(
    bridge: SitlBridge,
    fleet: FleetConfig,
    frame: LocalFrame,
    *,
    demo: bool,
    param_dir: Path | None = None,
    relative_missions: bool = False,
) -> tuple[dict[int, GcsVehicle], list[GcsVehicle]]:
    """Put every vehicle of the fleet into the bridge.

    Args:
        bridge: where they go.
        fleet: their plans.
        frame: the fleet's geodetic origin.
        demo: built-in vehicles without a mission drive a square.
        param_dir: where parameters are kept; ``None``: nowhere.
        relative_missions: move each mission by the vehicle's start minus the plan's home.

    Returns:
        The vehicles that a ground station can command, and those of them with a mission to start.
    """
    commanded: dict[int, GcsVehicle] = {}
    to_start: list[GcsVehicle] = []
    for plan in fleet.vehicles:
        require_memory()
        pilot = spawn_vehicle(bridge, fleet, plan, param_dir)
        if pilot is None:
            continue
        commanded[plan.id] = pilot
        first_start = fleet.vehicles[0].config.pose if relative_missions else None
        if plan.mission is not None:
            give_mission(pilot, plan.mission, plan.config, frame, first_start)
        elif demo and plan.config.autopilot == BUILT_IN:
            square = demo_square(plan.config.pose, frame)
            load_items(pilot, MissionType.MISSION, square, plan.config.label)
        if has_mission(pilot):
            to_start.append(pilot)
    return commanded, to_start


def has_mission(pilot: GcsVehicle) -> bool:
    """Whether there is something to drive to; item 0 is home."""
    return len(pilot.missions.items(MissionType.MISSION)) > 1


def spawn_vehicle(
    bridge: SitlBridge, fleet: FleetConfig, plan: VehiclePlan, param_dir: Path | None = None
) -> GcsVehicle | None:
    """Put one vehicle into the bridge; returns it if a ground station can command it.

    Raises:
        ConfigError: its autopilot cannot be made, or does not take its files.
        AutopilotError: its autopilot raised.
    """
    pilot = make_pilot(fleet, plan, param_dir)
    external = plan.config.is_external
    commanded = not external and is_commandable(pilot)
    if plan.mission is not None and not external and not commanded:
        raise ConfigError(
            f"{plan.config.label} has a mission, and its autopilot {plan.config.autopilot} takes "
            "none.",
            hint="An autopilot with missions implements GcsVehicle; GroundLink is a start.",
        )
    try:
        bridge.spawn_vehicle(
            plan.config,
            pilot,
            platform=None if external else make_platform(plan),
            drive=plan.rover.drive,
            external=external,
        )
    except PicoGzError:
        raise
    except Exception as error:
        raise AutopilotError(
            f"{plan.config.label}: {type(error).__name__} in start() of its autopilot "
            f"{plan.config.autopilot}: {error}"
        ) from error
    return cast(GcsVehicle, pilot) if commanded else None


def make_platform(plan: VehiclePlan) -> SitlPlatform:
    """The board that a vehicle's autopilot runs on."""
    return SitlPlatform(
        plan.id,
        drive=plan.rover.drive,
        channels=plan.config.channels,
        options=plan.board,
        aircraft_channels=plan.config.aircraft_channels,
    )


def make_pilot(
    fleet: FleetConfig, plan: VehiclePlan, param_dir: Path | None = None
) -> Autopilot | None:
    """What drives a vehicle in this process; ``None`` for ``external`` and ``none``."""
    wanted = plan.config.autopilot
    if plan.config.is_external or wanted == "none":
        return None
    if wanted.startswith(SCRIPT_PREFIX):
        from pico_gz.vehicle.scripted import make_script

        return make_script(wanted.removeprefix(SCRIPT_PREFIX))
    if wanted == BUILT_IN:
        return _make_rover_autopilot(plan, param_dir)
    own, label = fleet.autopilot_plan(wanted), plan.config.label
    pilot = make_autopilot(own.type, own.options, label, fleet.module_folder)
    if plan.params is not None:
        _give_params(pilot, plan.params, label)
    return pilot


def _give_params(pilot: Autopilot, file: Path, label: str) -> None:
    """Set the parameters of a file, as a ground station would."""
    from pico_gz.vehicle.autopilot.parameters import read_any_parameters

    params: GcsParams | None = getattr(pilot, "params", None)
    if params is None or not is_commandable(pilot):
        raise ConfigError(f"{label} has a parameter file, and its autopilot has no parameters.")
    unknown = [
        name for name, value in read_any_parameters(file).items() if params.set(name, value) is None
    ]
    if unknown:
        raise ConfigError(f"{label} has no parameter {', '.join(unknown[:5])} ({file}).")
    params.drain_changes()


def _make_rover_autopilot(plan: VehiclePlan, param_dir: Path | None) -> RoverAutopilot:
    # Imported on use: a run of scripts or external autopilots does not need it.
    from pico_gz.vehicle.autopilot.parameter_table import READ_ONLY
    from pico_gz.vehicle.autopilot.parameters import preset_params, read_parameter_file
    from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot

    params = {**preset_params(plan.rover.preset), "SYSID_THISMAV": float(plan.id)}
    if plan.board.battery_divider != PlatformOptions().battery_divider:
        params["BATT_VOLT_MULT"] = plan.board.battery_divider
    if plan.params is not None:
        given = read_parameter_file(plan.params)
        params.update({name: value for name, value in given.items() if name not in READ_ONLY})
    return RoverAutopilot(
        params,
        drive=plan.rover.drive,
        param_file=None if param_dir is None else _param_file(param_dir, plan.config),
    )


def _param_file(folder: Path, config: VehicleConfig) -> Path:
    return folder / f"{config.label}.parm"


def give_mission(
    pilot: GcsVehicle,
    path: Path,
    config: VehicleConfig,
    frame: LocalFrame,
    first_start: Pose | None,
) -> None:
    """Load mission, fence and rally points of a file.

    Args:
        pilot: who gets them.
        path: the mission file.
        config: of the vehicle.
        frame: the fleet's geodetic origin.
        first_start: where the first vehicle starts: the lists are moved to the vehicle's own
            start (``missions.shifted``); ``None``: they stay where they are.

    Raises:
        ConfigError: the file holds nothing to drive to, a place far away, or what the autopilot
            does not take.
    """
    from pico_gz.run.config.mission_check import MAX_DISTANCE_M, far_items, lacks_a_goal
    from pico_gz.vehicle.autopilot.mission_files import read_item_lists

    lists = read_item_lists(path)
    if lacks_a_goal(lists):
        raise ConfigError(f"{config.label}: {path} holds nothing to drive to.")
    if first_start is not None:
        lists = shifted(lists, frame, config.pose, first_start)
    for item, distance_m in far_items(lists.mission, frame.lat_deg, frame.lon_deg)[:1]:
        raise ConfigError(
            f"{config.label}: item {item.seq} of {path} lies {distance_m / 1000.0:.0f} km from "
            f"[origin]; allowed are {MAX_DISTANCE_M / 1000.0:.0f} km."
        )
    load_items(pilot, MissionType.FENCE, lists.fence, config.label, str(path))
    load_items(pilot, MissionType.RALLY, lists.rally, config.label, str(path))
    load_items(pilot, MissionType.MISSION, lists.mission, config.label, str(path))
