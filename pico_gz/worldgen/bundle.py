"""Everything that ``pico-gz world`` writes, as texts."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from pico_gz.config import FleetConfig, VehiclePlan
from pico_gz.messages.vehicle import ARDUPILOT_CHANNELS, DriveKind
from pico_gz.ports import FDM_BASE, FDM_STRIDE
from pico_gz.rover import RoverSpec
from pico_gz.worldgen.check import require_sdf
from pico_gz.worldgen.from_fleet import NO_OPTIONS, WorldOptions, rovers_in_world, world_of_fleet
from pico_gz.worldgen.overlaps import overlap_warnings
from pico_gz.worldgen.recipe import Recipe
from pico_gz.worldgen.render import (
    render_model_config,
    render_model_file,
    render_text,
    render_world,
)
from pico_gz.worldgen.stamp import stamped
from pico_gz.worldgen.world_spec import WorldSpec

WORLD_FILE = "world.sdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldBundle:
    """A generated world.

    Attributes:
        world: what was rendered.
        files: relative path -> text.
        warnings: what people should know, one sentence each.
    """

    world: WorldSpec
    files: dict[str, str]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectDrive:
    """How ArduRover drives a rover without anything in between."""

    frame: str
    instance: int


def make_bundle(
    fleet: FleetConfig, options: WorldOptions = NO_OPTIONS, recipe: Recipe | None = None
) -> WorldBundle:
    """Generate the world of a fleet: world file, a model per rover, ports, README.

    Args:
        fleet: the fleet.
        options: what else is wanted.
        recipe: how it is being made; default: from the fleet alone.

    Raises:
        ConfigError: a run could not drive it, because its steps do not fit.
        WorldTemplateError: it cannot be made.
        PortClashError: two users of one port.
    """
    fleet.require_gazebo_step()
    recipe = recipe or Recipe.of(fleet)
    world = world_of_fleet(fleet, options)
    text, rovers = render_world(world)
    require_sdf(text, WORLD_FILE)
    bodies = {WORLD_FILE: text, **world.files}
    for rover in world.rovers:
        folder = f"models/{rover.name}"
        bodies[f"{folder}/model.sdf"] = render_model_file(rovers[rover.name])
        bodies[f"{folder}/model.config"] = render_model_config(rover.name, rover.description)
    ids = rovers_in_world(fleet)
    plans = [plan for plan in fleet.vehicles if plan.id in ids]
    bodies["ports.toml"] = render_text("ports.toml.j2", plan=fleet.port_plan(on_gazebo=ids))
    bodies["README.md"] = _readme(fleet, world, plans, options, recipe)
    files = {name: stamped(name, body, recipe.words) for name, body in bodies.items()}
    return WorldBundle(world=world, files=files, warnings=overlap_warnings(fleet, plans))


def _readme(
    fleet: FleetConfig,
    world: WorldSpec,
    plans: Sequence[VehiclePlan],
    options: WorldOptions,
    recipe: Recipe,
) -> str:
    # What the file decides by itself is left to it; --adapter would move the others here too.
    everybody = len(plans) == len(fleet.vehicles)
    choose_gazebo = everybody and len(fleet.on_gazebo()) < len(plans)
    addresses = {rover.plugin.address for rover in world.rovers if rover.plugin}
    return render_text(
        "README.md.j2",
        world=world,
        recipe=recipe,
        fleet_folder=f" in the folder of `{recipe.fleet_file}`" if recipe.fleet_file else "",
        run_command=recipe.run_command(choose_gazebo=choose_gazebo),
        local_only=all(ipaddress.ip_address(address).is_loopback for address in addresses),
        lidar=options.lidar,
        sensor_topics=fleet.gazebo.sensor_topics,
        outputs={plan.config.label: _outputs(plan.rover) for plan in plans},
        ardupilot_channels=all(_is_ardupilots(plan.rover) for plan in plans),
        direct=_direct_drive(plans, world),
    )


def _outputs(rover: RoverSpec) -> str:
    channels = rover.channels
    if rover.drive is DriveKind.SKID:
        return f"left {channels.left}, right {channels.right}"
    return f"steering {channels.steering}, throttle {channels.throttle}"


def _is_ardupilots(rover: RoverSpec) -> bool:
    """Whether a rover is driven by the outputs that ArduRover has by itself."""
    own = msgspec.structs.replace(rover, channels=ARDUPILOT_CHANNELS)
    return _outputs(rover) == _outputs(own)


def _direct_drive(plans: Sequence[VehiclePlan], world: WorldSpec) -> DirectDrive | None:
    """For the first rover, if its port and channels are those ArduRover has by itself."""
    rover = next((rover for rover in world.rovers if rover.plugin), None)
    if rover is None or rover.plugin is None:
        return None
    plan = next(plan for plan in plans if plan.config.label == rover.name)
    instance, rest = divmod(rover.plugin.port - FDM_BASE, FDM_STRIDE)
    if rest or not 0 <= instance < 255 or not _is_ardupilots(plan.rover):
        return None
    frame = "rover-skid" if plan.rover.drive is DriveKind.SKID else "rover"
    return DirectDrive(frame=frame, instance=instance)
