"""How a run gets its Gazebo: world file, server, viewer."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.core.port_owner import find_busy
from pico_gz.core.ports import PortProblem, PortRole, PortUse
from pico_gz.core.resources import resource_path
from pico_gz.core.rover_spec import RoverSpec, rover_spec
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import ConfigError, MissingProgramError, PortClashError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.gazebo.install import APT_PACKAGE, find_bindings, find_gazebo, require_gazebo
from pico_gz.gazebo.lint import lint_text
from pico_gz.gazebo.lint.document import RESOURCE_VARIABLES, open_scene
from pico_gz.gazebo.lint.rules_plugin import DEFAULT_PORT, ardupilot_plugins, whole_number
from pico_gz.gazebo.lint.rules_world import NO_IMU_SYSTEM
from pico_gz.gazebo.sdf import SdfError, require_sdf
from pico_gz.gazebo.sensors import GazeboSensorTopics, SensorSite
from pico_gz.gazebo.server import GazeboLaunch, GazeboProcess, GazeboServer
from pico_gz.gazebo.viewer import GazeboViewer
from pico_gz.gazebo.world_control import FleetControl, GzControl, open_control
from pico_gz.gazebo.worlds.render import Origin, origin_of, render_world
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.config.port_plan import sim_wire
from pico_gz.run.gazebo_rules import has_own_world, not_ours_to_start
from pico_gz.run.simulators import local_frame, make_terrain
from pico_gz.run.world_bundle import WORLD_FILE
from pico_gz.run.world_from_fleet import WorldOptions, world_of_fleet

_WORLD_NAME = re.compile(r"<world\s[^>]*?name\s*=\s*[\"']([^\"']+)[\"']")
_SENSORS_SYSTEM = "gz-sim-sensors-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldFile:
    """A world that Gazebo can load.

    Attributes:
        path: of the file.
        name: of the world, part of its topics.
        rendering: whether some sensor needs the render engine.
    """

    path: Path
    name: str
    rendering: bool


def new_run_folder() -> Path:
    """A folder of its own for one run of Gazebo."""
    return Path(tempfile.mkdtemp(prefix="pico_gz_gazebo_"))


def remove_run_folder(folder: Path) -> None:
    """Remove what ``new_run_folder`` made; Gazebo may have left files in it."""
    shutil.rmtree(folder, ignore_errors=True)


def generate_world(
    fleet: FleetConfig, rovers: Collection[int], folder: Path, *, shown_only: bool = False
) -> WorldFile:
    """Write the world of these vehicles of a fleet.

    Args:
        fleet: the fleet.
        rovers: ids of the vehicles in it.
        folder: where to write.
        shown_only: Gazebo drives no rover, another simulator moves them.
    """
    world = world_of_fleet(fleet, WorldOptions(shown_only=shown_only), rovers=rovers)
    text, _ = render_world(world)
    require_sdf(text, WORLD_FILE)
    for name, content in {WORLD_FILE: text, **world.files}.items():
        (folder / name).write_text(content, encoding="utf-8")
    return WorldFile(path=folder / WORLD_FILE, name=world.name, rendering=world.needs_rendering)


def read_world(path: Path) -> WorldFile:
    """Inspect a world that the kit did not make.

    Raises:
        ConfigError: it cannot be read, or is no world.
    """
    text = world_text(path)
    match = _WORLD_NAME.search(text)
    if match is None:
        raise ConfigError(f"{path} holds no <world>.", hint="pico-gz lint says more.")
    return WorldFile(path=path, name=match.group(1), rendering=_SENSORS_SYSTEM in text)


def given_world(fleet: FleetConfig) -> Path | None:
    """The world that ``[gazebo] world`` names, relative to the fleet file."""
    if fleet.gazebo.world is None:
        return None
    base = fleet.source.parent if fleet.source else Path()
    return (base / fleet.gazebo.world).absolute()


def is_own_world(fleet: FleetConfig) -> bool:
    """Whether the rovers' plugins listen where the kit puts them in its own worlds."""
    path = given_world(fleet)
    return path is None or origin_of(world_text(path)) is not Origin.FOREIGN


def world_text(path: Path) -> str:
    """The text of a world.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as exc:
        raise ConfigError(
            f"The world {path} cannot be read: {exc.strerror}.", hint="Check [gazebo] world."
        ) from exc


def require_drivable(path: Path, ports: Mapping[str, int]) -> None:
    """Refuse a world in which a rover's plugin would never answer.

    A file that is no XML is left to Gazebo, which says more about it; included models that are
    not here may hold what is missed.

    Args:
        path: of the world.
        ports: by rover, where its plugin must listen.

    Raises:
        ConfigError: the world cannot be read, has no Imu system, or no plugin on some rover's
            port.
    """
    text = world_text(path)
    environ = _environment()
    for finding in lint_text(text, path, environ=environ):
        if finding.rule == NO_IMU_SYSTEM.name:
            where = f"{path}, line {finding.line}"
            raise ConfigError(
                f"{where}: {finding.message} {finding.why}", hint=f"Add {finding.fix}"
            )
    try:
        scene = open_scene(text, path, environ=environ)
    except SdfError:
        return
    if scene.is_complete():
        found = {seen.node.value("fdm_port_in", DEFAULT_PORT) for seen in ardupilot_plugins(scene)}
        _require_ports(path, ports, found)


def _require_ports(path: Path, ports: Mapping[str, int], found: set[str]) -> None:
    missing = [f"{port} ({name})" for name, port in ports.items() if str(port) not in found]
    if not missing:
        return
    by_number = sorted(found, key=lambda port: (whole_number(port) or 0, port))
    there = f"on {', '.join(by_number)}" if found else "nowhere"
    raise ConfigError(
        f"{path}: no ArduPilot plugin listens on UDP {', '.join(missing)}; they listen {there}.",
        hint="Set [ports] fdm_base and fdm_stride as in the world, or <fdm_port_in> as in"
        " pico-gz ports; pico-gz world makes a world with the fleet's ports.",
    )


def _environment() -> dict[str, str]:
    """Where Gazebo will look for models: as for us, and among the kit's own."""
    variable = RESOURCE_VARIABLES[0]
    folders = [os.environ.get(variable, ""), str(resource_path("models"))]
    return {**os.environ, variable: ":".join(filter(None, folders))}


class GazeboStarter:
    """Starts a Gazebo at each call, with a world of its own.

    Args:
        fleet: the fleet.
        vehicle_ids: who is in the world.
        shown_only: another simulator moves the rovers, Gazebo only shows them.
        window: default: as ``[gazebo] gui`` says.

    Raises:
        MissingProgramError: Gazebo is not here, or cannot drive.
    """

    def __init__(
        self,
        fleet: FleetConfig,
        vehicle_ids: tuple[int, ...],
        *,
        shown_only: bool = False,
        window: bool | None = None,
    ) -> None:
        install = find_gazebo()
        problem = install.problem
        if install.program is None or (problem and not shown_only):
            raise MissingProgramError(
                f"Gazebo cannot be started: {problem}.",
                hint="pico-gz doctor says how to get it; [gazebo] attach = true uses another's.",
            )
        self._program = install.program
        self._plugin_folders = (install.plugin.parent,) if install.plugin else ()
        self._fleet = fleet
        self._vehicle_ids = vehicle_ids
        self._shown_only = shown_only
        self._has_window = fleet.gazebo.gui if window is None else window
        # A world of the user's own holds plugins; one that is only shown must not.
        self._given = None if shown_only else given_world(fleet)
        self._world_name = ""
        self._environment: dict[str, str] = {}

    def summary(self) -> str:
        """What is started, as half a sentence."""
        window = "with a window" if self._has_window else "without a window"
        world = self._given or "a generated world"
        return f"started {window}, with {world}"

    def __call__(self) -> GazeboServer:
        """Start one; the world's folder goes when it has ended."""
        folder = new_run_folder()
        try:
            return GazeboServer(self._launch(folder), remove_folder=True)
        except BaseException:
            remove_run_folder(folder)
            raise

    def control(self) -> GzControl:
        """Steer the world of the Gazebo that was started last."""
        return open_control(self._world_name, self._environment)

    def _launch(self, folder: Path) -> GazeboLaunch:
        world = self._world(folder)
        launch = GazeboLaunch(
            program=self._program,
            world_file=world.path,
            folder=folder,
            plugin_folders=self._plugin_folders,
            resource_folders=(world.path.parent / "models", resource_path("models")),
            seed=self._fleet.seed,
            gui=self._has_window,
            paused=self._shown_only,
            rendering=world.rendering,
        )
        self._world_name = world.name
        self._environment = {"GZ_PARTITION": launch.partition, "GZ_IP": "127.0.0.1"}
        return launch

    def _world(self, folder: Path) -> WorldFile:
        if self._given is not None:
            return read_world(self._given)
        return generate_world(self._fleet, self._vehicle_ids, folder, shown_only=self._shown_only)


_READY_S = 30.0


def fleet_to_view(fleet: FleetConfig) -> FleetConfig:
    """The fleet as ``--view gazebo`` wants it.

    A vehicle on ``auto`` is simulated by Lightweight, because Gazebo is there to show; a
    Gazebo that simulates gets its window.
    """
    undecided = [plan.id for plan in fleet.vehicles if plan.config.adapter in ("", "auto")]
    fleet = fleet.with_adapters(dict.fromkeys(undecided, "lightweight"))
    return dataclasses.replace(fleet, gazebo=dataclasses.replace(fleet.gazebo, gui=True))


def open_viewer(fleet: FleetConfig, *, window: bool = True) -> GazeboViewer | None:
    """Start a Gazebo that shows all vehicles that it does not simulate; ``None`` without any.

    ``window`` False leaves it to others to look, for example through Gazebo's web server.

    Raises:
        MissingProgramError: Gazebo or its Python bindings are not here.
    """
    on_gazebo = fleet.on_gazebo()
    names = {plan.id: plan.config.label for plan in fleet.vehicles if plan.id not in on_gazebo}
    if not names:
        return None
    if not find_bindings():
        raise MissingProgramError(
            "Gazebo can show a run only with its Python bindings.",
            hint=f"sudo apt install {APT_PACKAGE}; pico-gz doctor says more.",
        )
    start = GazeboStarter(fleet, tuple(names), shown_only=True, window=window)
    server = start()

    def open_mover() -> GzControl:
        control = start.control()
        control.wait_until_ready(_READY_S)
        return control

    viewer = GazeboViewer(names, open_mover, problem=server.problem, on_close=server.stop)
    return viewer.start()


# A small world is ready after two seconds; each further rover adds to it.
_START_S, _START_PER_ROVER_S = 30.0, 0.5


def make_gazebo(
    name: str,
    fleet: FleetConfig,
    options: Mapping[str, Any],
    report: Callable[[str], None] = lambda text: None,
) -> GazeboAdapter:
    """An unconnected adapter: connecting starts Gazebo, or reaches the one that is there.

    Args:
        name: of the adapter.
        fleet: the fleet.
        options: what ``[adapters]`` says of this adapter.
        report: takes one line for people: what Gazebo it is.

    Raises:
        PortClashError: some of the plugins' ports are in use, but not all, or not by Gazebo.
        MissingProgramError: Gazebo has to be started and is not here.
        ConfigError: the fleet's own world cannot be driven in.
    """
    config = gazebo_config(fleet, options)
    plans = [plan for plan in fleet.vehicles if plan.config.adapter == name]
    rovers = {plan.id: plan.rover for plan in plans}

    def rover_of(vehicle: VehicleConfig) -> RoverSpec:
        return rovers.get(vehicle.id) or rover_spec(vehicle.preset)

    others: dict[str, Any] = {
        "name": name,
        "site": SensorSite(frame=local_frame(fleet), on=fleet.origin.date, seed=fleet.seed),
        "rover_of": rover_of,
    }
    reason = not_ours_to_start(
        fleet, config.server_addr, ardupilot_compat=config.ardupilot_compat
    ) or _attach_to_running(config, plans)
    if reason:
        report(f"{name}: not started, {reason}")
        control = _fleet_control(fleet, plans, rover_of, lambda: open_control(fleet.name))
        return GazeboAdapter(config, world_control=control, **others)
    start = GazeboStarter(fleet, tuple(rovers))
    if (world := given_world(fleet)) is not None:
        require_drivable(world, {p.config.label: config.port_pair(p.config)[0] for p in plans})
    report(f"{name}: {start.summary()}")
    if config.connect_timeout_s is None:
        deadline_s = _START_S + _START_PER_ROVER_S * len(plans)
        config = msgspec.structs.replace(config, connect_timeout_s=deadline_s)
    control = _fleet_control(fleet, plans, rover_of, start.control)
    return GazeboAdapter(config, world_control=control, process=GazeboProcess(start), **others)


def gazebo_config(fleet: FleetConfig, options: Mapping[str, Any]) -> GazeboConfig:
    """The wire to the fleet's Gazebo."""
    # The port plan knows the same wire, so the run uses what ``pico-gz ports`` shows.
    wire = sim_wire("gazebo", fleet.gazebo, fleet.rules, options)
    config = GazeboConfig(
        sensor_port=wire.sensor_port,
        actuator_port=wire.actuator_port,
        fdm_stride=wire.stride,
        server_addr=fleet.gazebo.server_addr,
        ardupilot_compat=fleet.gazebo.ardupilot_compat,
        timeout_ms=fleet.gazebo.timeout_ms,
        physics_step_us=fleet.gazebo.physics_step_us,
        overlap=fleet.gazebo.overlap,
        own_world=has_own_world(fleet),
    )
    moved = ("sensor_port", "actuator_port")
    given = {k: value for k, value in options.items() if k not in moved and value is not None}
    return msgspec.structs.replace(config, **given)


def _fleet_control(
    fleet: FleetConfig,
    plans: Sequence[VehiclePlan],
    rover_of: Callable[[VehicleConfig], RoverSpec],
    control: Callable[[], GzControl],
) -> FleetControl:
    terrain = make_terrain(fleet.terrain)

    def sensors(control: GzControl) -> GazeboSensorTopics:
        return GazeboSensorTopics(
            control.world,
            {plan.id: plan.config.label for plan in plans},
            {plan.id: plan.rover.rangefinders_deg for plan in plans},
            control.transport,
            origin_alt_m=fleet.origin.alt_m,
        )

    return FleetControl(
        open_control=control,
        model_sdf=lambda vehicle: _model_sdf(fleet, vehicle, rover_of(vehicle)),
        height_m=lambda north_m, east_m: float(terrain.height_m(north_m, east_m)),
        sensors=sensors if fleet.gazebo.sensor_topics else None,
    )


def _model_sdf(fleet: FleetConfig, vehicle: VehicleConfig, rover: RoverSpec) -> str:
    """The model of a vehicle that joins a running world, with its plugin on its own port."""
    from pico_gz.gazebo.worlds.render import render_model, render_model_file
    from pico_gz.run.world_from_fleet import world_of_fleet

    # The packets follow the vehicle's channels, so its model must as well.
    rover = msgspec.structs.replace(rover, channels=vehicle.channels)
    alone = dataclasses.replace(fleet, vehicles=(VehiclePlan(config=vehicle, rover=rover),))
    (model,) = world_of_fleet(alone, rovers=(vehicle.id,)).rovers
    return render_model_file(render_model(model))


def _attach_to_running(config: GazeboConfig, plans: Sequence[VehiclePlan]) -> str | None:
    """Whom the plugins' ports belong to already; ``None`` when they are free."""
    held = _held_plugin_ports(config, plans)
    if len(held) == len(plans):
        require_gazebo(held)
        return f"because {held[0].use} {held[0].reason}: that one is used"
    if held:
        raise PortClashError(
            "\n".join(map(str, held)),
            hint="End that program, or let --port-offset auto move the whole fleet.",
        )
    return None


def _held_plugin_ports(config: GazeboConfig, plans: Sequence[VehiclePlan]) -> list[PortProblem]:
    return find_busy(
        PortUse(
            protocol="udp",
            port=config.port_pair(plan.config)[0],
            host="127.0.0.1",
            role=PortRole.BIND,
            purpose="Gazebo plugin",
            owner=plan.config.label,
            vehicle_id=plan.id,
        )
        for plan in plans
    )
