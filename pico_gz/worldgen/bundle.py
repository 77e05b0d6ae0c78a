"""Everything that ``pico-gz world`` writes, as texts."""

from __future__ import annotations

from dataclasses import dataclass

from pico_gz.config import FleetConfig
from pico_gz.messages.vehicle import ARDUPILOT_CHANNELS, DriveKind
from pico_gz.ports import FDM_BASE, FDM_STRIDE
from pico_gz.worldgen.check import require_sdf
from pico_gz.worldgen.from_fleet import NO_OPTIONS, WorldOptions, rovers_in_world, world_of_fleet
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
    """

    world: WorldSpec
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectDrive:
    """How ArduRover drives a rover without anything in between."""

    frame: str
    instance: int


def make_bundle(
    fleet: FleetConfig, options: WorldOptions = NO_OPTIONS, *, command: str = ""
) -> WorldBundle:
    """Generate the world of a fleet: world file, a model per rover, ports, README.

    Args:
        fleet: the fleet.
        options: what else is wanted.
        command: what somebody types to make it again.

    Raises:
        WorldTemplateError: it cannot be made.
        PortClashError: two users of one port.
    """
    world = world_of_fleet(fleet, options)
    text, rovers = render_world(world)
    require_sdf(text, WORLD_FILE)
    bodies = {WORLD_FILE: text, **world.files}
    for rover in world.rovers:
        folder = f"models/{rover.name}"
        bodies[f"{folder}/model.sdf"] = render_model_file(rovers[rover.name])
        bodies[f"{folder}/model.config"] = render_model_config(rover.name, rover.description)
    bodies["ports.toml"] = render_text(
        "ports.toml.j2", plan=fleet.port_plan(on_gazebo=rovers_in_world(fleet))
    )
    bodies["README.md"] = _readme(fleet, world, command)
    how = fleet.source.name if fleet.source else f"the default fleet of {len(fleet.vehicles)}"
    files = {name: stamped(name, body, how) for name, body in bodies.items()}
    return WorldBundle(world=world, files=files)


def _readme(fleet: FleetConfig, world: WorldSpec, command: str) -> str:
    fleet_file = fleet.source.name if fleet.source else ""
    usual = f"pico-gz world {fleet_file or f'--rovers {len(fleet.vehicles)}'} -o DIR"
    return render_text(
        "README.md.j2",
        world=world,
        fleet_file=fleet_file,
        command=command or usual,
        direct=_direct_drive(fleet, world),
    )


def _direct_drive(fleet: FleetConfig, world: WorldSpec) -> DirectDrive | None:
    """For the first rover, if its port and channels are those ArduRover has by itself."""
    rover = next((rover for rover in world.rovers if rover.plugin), None)
    if rover is None or rover.plugin is None:
        return None
    plan = next(plan for plan in fleet.vehicles if plan.config.label == rover.name)
    instance, rest = divmod(rover.plugin.port - FDM_BASE, FDM_STRIDE)
    if rest or not 0 <= instance < 255 or plan.rover.channels != ARDUPILOT_CHANNELS:
        return None
    frame = "rover-skid" if plan.rover.drive is DriveKind.SKID else "rover"
    return DirectDrive(frame=frame, instance=instance)
