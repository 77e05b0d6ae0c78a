"""The vehicles of a run: platform, autopilot, parameters, mission."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from pico_gz.autopilot.api import GroundControlled, MissionType
from pico_gz.board_options import PlatformOptions
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.config import FleetConfig, VehiclePlan
from pico_gz.errors import ConfigError
from pico_gz.local_frame import LocalFrame
from pico_gz.messages import VehicleConfig
from pico_gz.session.missions import demo_square, load_items
from pico_gz.vehicle.autopilot import Autopilot
from pico_gz.vehicle.platform import SitlPlatform

if TYPE_CHECKING:
    from pico_gz.autopilot.rover import RoverAutopilot

BUILT_IN = "builtin"
SCRIPT_PREFIX = "script:"


def spawn_vehicles(
    bridge: SitlBridge,
    fleet: FleetConfig,
    frame: LocalFrame,
    *,
    demo: bool,
    param_dir: Path | None = None,
) -> tuple[dict[int, RoverAutopilot], list[GroundControlled]]:
    """Put every vehicle of the fleet into the bridge.

    Returns:
        The vehicles that a ground station can command, and those of them with a mission to start.
    """
    commanded: dict[int, RoverAutopilot] = {}
    to_start: list[GroundControlled] = []
    for plan in fleet.vehicles:
        pilot = make_pilot(plan, param_dir)
        external = plan.config.autopilot == "external"
        bridge.spawn_vehicle(
            plan.config,
            pilot,
            platform=None if external else make_platform(plan),
            drive=plan.rover.drive,
            external=external,
        )
        if plan.config.autopilot == BUILT_IN:
            rover = cast("RoverAutopilot", pilot)
            commanded[plan.id] = rover
            if _give_mission(rover, plan, frame, demo=demo):
                to_start.append(rover)
    return commanded, to_start


def make_platform(plan: VehiclePlan) -> SitlPlatform:
    """The board that a vehicle's autopilot runs on."""
    return SitlPlatform(
        plan.id, drive=plan.rover.drive, channels=plan.config.channels, options=plan.board
    )


def make_pilot(plan: VehiclePlan, param_dir: Path | None = None) -> Autopilot | None:
    """What drives a vehicle in this process; ``None`` for ``external`` and ``none``."""
    wanted = plan.config.autopilot
    if wanted in ("external", "none"):
        return None
    if wanted.startswith(SCRIPT_PREFIX):
        from pico_gz.vehicle.scripted import make_script

        return make_script(wanted.removeprefix(SCRIPT_PREFIX))
    if wanted == BUILT_IN:
        return _make_rover_autopilot(plan, param_dir)
    raise ConfigError(
        f"{plan.config.label}: unknown autopilot {wanted!r}.",
        hint="builtin, external, none or script:NAME",
    )


def _make_rover_autopilot(plan: VehiclePlan, param_dir: Path | None) -> RoverAutopilot:
    # Imported on use: a run of scripts or external autopilots does not need it.
    from pico_gz.autopilot.parameter_file import read_parameter_file
    from pico_gz.autopilot.presets import preset_params
    from pico_gz.autopilot.rover import RoverAutopilot

    params = {**preset_params(plan.rover.preset), "SYSID_THISMAV": float(plan.id)}
    if plan.board.battery_divider != PlatformOptions().battery_divider:
        params["BATT_VOLT_MULT"] = plan.board.battery_divider
    if plan.params is not None:
        params.update(read_parameter_file(plan.params))
    return RoverAutopilot(
        params,
        drive=plan.rover.drive,
        param_file=None if param_dir is None else _param_file(param_dir, plan.config),
    )


def _param_file(folder: Path, config: VehicleConfig) -> Path:
    return folder / f"{config.label}.parm"


def _give_mission(
    pilot: GroundControlled, plan: VehiclePlan, frame: LocalFrame, *, demo: bool
) -> bool:
    if plan.mission is not None:
        from pico_gz.autopilot.mission_files import read_item_lists

        lists = read_item_lists(plan.mission)
        load_items(pilot, MissionType.FENCE, lists.fence, plan.config.label)
        load_items(pilot, MissionType.RALLY, lists.rally, plan.config.label)
        load_items(pilot, MissionType.MISSION, lists.mission, plan.config.label)
        return True
    if demo:
        square = demo_square(plan.config.pose, frame)
        load_items(pilot, MissionType.MISSION, square, plan.config.label)
        return True
    return False
