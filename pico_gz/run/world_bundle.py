"""Everything that pico-gz world writes, as texts."""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from pico_gz.core.ports import FDM_BASE, FDM_STRIDE
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import ARDUPILOT_CHANNELS, DriveKind
from pico_gz.gazebo.covered_ground import covered_ground, find_overlaps
from pico_gz.gazebo.sdf import require_sdf
from pico_gz.gazebo.worlds.render import (
    WorldSpec,
    render_model_config,
    render_model_file,
    render_text,
    render_world,
    stamped,
)
from pico_gz.gazebo.worlds.scenery import obstacle_name
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.world_from_fleet import NO_OPTIONS, WorldOptions, rovers_in_world, world_of_fleet
from pico_gz.simulator.obstacles import outline

# The switches that ``pico-gz run`` has too, and needs to find the same rovers.
_RUN_SWITCHES = ("--rovers", "--layout", "--autopilot", "--port-offset", "--allow-gcs-sysid")

Value = str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The command that made a world.

    Attributes:
        fleet_file: its name, without the folder; empty for the default fleet.
        switches: option -> value; True for one without a value, None or False for one not given.
    """

    fleet_file: str = ""
    switches: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, fleet: FleetConfig, switches: Mapping[str, Value] | None = None) -> Recipe:
        """The recipe for a fleet; without a file and switches its size is what matters."""
        name = fleet.source.name if fleet.source else ""
        if switches is None:
            switches = {} if name else {"--rovers": len(fleet.vehicles)}
        return cls(fleet_file=name, switches=switches)

    @property
    def world_command(self) -> str:
        """What makes it again, in the folder of the fleet file."""
        return shlex.join(["pico-gz", "world", *self._arguments(self.switches), "-o", "DIR"])

    def run_command(self, *, choose_gazebo: bool) -> str:
        """What drives it, in the folder of the fleet file."""
        switches = {name: self.switches.get(name) for name in _RUN_SWITCHES}
        adapter = ["--adapter", "gazebo"] if choose_gazebo else []
        return shlex.join(["pico-gz", "run", *self._arguments(switches), *adapter])

    @property
    def words(self) -> str:
        """The same for a comment, where two dashes cannot stand."""
        given = [
            name.lstrip("-") if value is True else f"{name.lstrip('-')}={value}"
            for name, value in self.switches.items()
            if value
        ]
        source = self.fleet_file or "the default fleet"
        return f"{source} with {', '.join(given)}" if given else source

    def _arguments(self, switches: Mapping[str, Value]) -> list[str]:
        words = [self.fleet_file] if self.fleet_file else []
        for name, value in switches.items():
            if value:
                words += [name] if value is True else [name, str(value)]
        return words


_MAX_NAMED_PAIRS = 5


def overlap_warnings(fleet: FleetConfig, plans: Sequence[VehiclePlan]) -> tuple[str, ...]:
    """A sentence that names the pairs that stand in each other; nothing when all have room."""
    pairs = find_overlaps(
        {plan.config.label: covered_ground(plan.config.pose, plan.rover) for plan in plans},
        {obstacle_name(n): outline(one) for n, one in enumerate(fleet.obstacles, start=1)},
    )
    if not pairs:
        return ()
    named = ", ".join(f"{one} and {other}" for one, other in pairs[:_MAX_NAMED_PAIRS])
    more = (
        f" and {len(pairs) - _MAX_NAMED_PAIRS} more pairs" if len(pairs) > _MAX_NAMED_PAIRS else ""
    )
    return (
        f"These would start inside each other, and Gazebo throws them apart: {named}{more}."
        " Change spacing_m of [layout], or the places.",
    )


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
    all_on_gazebo = len(plans) == len(fleet.vehicles)
    choose_gazebo = all_on_gazebo and len(fleet.on_gazebo()) < len(plans)
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
