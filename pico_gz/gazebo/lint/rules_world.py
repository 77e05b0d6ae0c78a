"""Rules about worlds: systems, coordinates, includes."""

from __future__ import annotations

from collections.abc import Iterator

from pico_gz.gazebo.lint.document import Finding, Rule, SdfScene, Seen, Severity, Trap, each_world
from pico_gz.gazebo.lint.rules_plugin import is_ardupilot
from pico_gz.gazebo.sdf import Node

NO_IMU_SYSTEM = Trap(
    name="no-imu-system",
    severity=Severity.ERROR,
    why="No IMU ever publishes, so the ArduPilot plugin never answers; Gazebo's default systems"
    " do not contain it either.",
    fix='<plugin filename="gz-sim-imu-system" name="gz::sim::systems::Imu"/> in the world.',
)
NO_PHYSICS_SYSTEM = Trap(
    name="no-physics-system",
    severity=Severity.ERROR,
    why="One <plugin> in a world switches the default systems off, so nothing computes motion:"
    " the rover stands still whatever is commanded.",
    fix='<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/> in the world.',
)
MISSING_SYSTEM = Trap(
    name="missing-system",
    severity=Severity.WARNING,
    why="Without its system a sensor never publishes; one <plugin> in a world also switches"
    " the default systems off.",
    fix="Add the system to the world.",
)
SENSORS_WITHOUT_NEED = Trap(
    name="sensors-without-need",
    severity=Severity.WARNING,
    why="The Sensors system loads a render engine, which costs start-up time and memory and"
    " needs a GPU or EGL, and nothing here uses it.",
    fix="Remove it; keep it only for cameras and gpu_lidar.",
)
NO_SPHERICAL = Trap(
    name="no-spherical-coordinates",
    severity=Severity.ERROR,
    why="Without an origin on Earth NavSat publishes 0, 0, 0.",
    fix="Add <spherical_coordinates> with EARTH_WGS84, ENU, latitude, longitude, elevation.",
)
INCLUDE_NOT_FOUND = Trap(
    name="include-not-found",
    severity=Severity.WARNING,
    why="Gazebo does not load a world whose models it cannot find; and what is in this one was not"
    " checked.",
    fix="Put it beside the world or into a folder of GZ_SIM_RESOURCE_PATH, and correct the name.",
)
INCLUDE_ELSEWHERE = Trap(
    name="include-elsewhere",
    severity=Severity.NOTE,
    why="Lint fetches nothing from the network: ports, joints and sensors of this model were not"
    " checked.",
    fix="Download it, include it by model://NAME, and lint it too.",
)
OLD_NAMES = Trap(
    name="old-plugin-name",
    severity=Severity.WARNING,
    why="These are names of older releases; Harmonic translates some of them and cannot load"
    " the others.",
    fix="gz-sim-NAME-system and gz::sim::systems::NAME.",
)

# Sensor type -> the system that makes it work.
_SYSTEM_OF = {
    "imu": "Imu",
    "navsat": "NavSat",
    "gps": "NavSat",
    "magnetometer": "Magnetometer",
    "air_pressure": "AirPressure",
    "altimeter": "Altimeter",
    "air_speed": "AirSpeed",
    "contact": "Contact",
    "force_torque": "ForceTorque",
    "logical_camera": "LogicalCamera",
}
_RENDERED = {
    "camera", "depth_camera", "depth", "rgbd_camera", "rgbd", "gpu_lidar", "gpu_ray",
    "thermal_camera", "thermal", "segmentation_camera", "segmentation", "boundingbox_camera",
    "boundingbox", "multicamera", "wideanglecamera", "wide_angle_camera", "dvl",
}  # fmt: skip
# Sensors that may or may not be rendered.
_MAYBE_RENDERED = {"lidar", "ray", "custom", ""}
# In a plugin these attributes carry names of Ignition releases.
_OLD = ("ignition-gazebo", "ignition::gazebo", "libignition", "ign-gazebo")


def check_systems(scene: SdfScene, world: Node) -> Iterator[Finding]:
    """Every sensor needs its system."""
    systems = _systems(scene, world)
    reported: set[str] = set()
    sensors = [(seen, seen.node.attributes.get("type", "")) for seen in _sensors(scene, world)]
    for seen, kind in sensors:
        system = _SYSTEM_OF.get(kind) or ("Sensors" if kind in _RENDERED else "")
        if not system or system in systems or system in reported:
            continue
        reported.add(system)
        flies = system == "Imu" and _has_ardupilot(scene, world)
        trap = NO_IMU_SYSTEM if flies else MISSING_SYSTEM
        yield trap.at(seen.line, f"The {kind} sensor needs the system {system}.")
    if "Imu" not in systems | reported and _has_ardupilot(scene, world):
        yield NO_IMU_SYSTEM.at(world.line, "This world has no Imu system.")


def check_physics(scene: SdfScene, world: Node) -> Iterator[Finding]:
    """Something to drive, and nothing that moves it."""
    listed = world.child("plugin") is not None
    if listed and "Physics" not in _systems(scene, world) and _has_ardupilot(scene, world):
        yield NO_PHYSICS_SYSTEM.at(world.line, "This world has no Physics system.")


def check_includes_found(scene: SdfScene) -> Iterator[Finding]:
    """Included models that are not here."""
    for node in scene.own("include"):
        uri = node.value("uri")
        if node in scene.included:
            continue
        if uri.startswith(("http://", "https://")):
            yield INCLUDE_ELSEWHERE.at(node.line, f"{uri!r} is in the network.")
        else:
            yield INCLUDE_NOT_FOUND.at(node.line, f"{uri!r} was not found.")


def check_rendering(scene: SdfScene, world: Node) -> Iterator[Finding]:
    """The Sensors system where nothing is rendered."""
    kinds = {seen.node.attributes.get("type", "") for seen in _sensors(scene, world)}
    if kinds & (_RENDERED | _MAYBE_RENDERED) or not scene.is_complete(world):
        return
    for plugin in world.all("plugin"):
        if _short(plugin) == "Sensors":
            message = "The Sensors system without a camera or gpu_lidar."
            yield SENSORS_WITHOUT_NEED.at(plugin.line, message)


def check_coordinates(scene: SdfScene, world: Node) -> Iterator[Finding]:
    """NavSat without a place on Earth."""
    if world.child("spherical_coordinates") is not None:
        return
    for seen in _sensors(scene, world):
        if seen.node.attributes.get("type") in ("navsat", "gps"):
            message = "NavSat in a world without <spherical_coordinates>."
            yield NO_SPHERICAL.at(seen.line, message)
            break


def check_old_names(scene: SdfScene) -> Iterator[Finding]:
    """Plugins by their names in older releases."""
    for node in scene.own("plugin"):
        if is_ardupilot(node):
            continue
        for word in (node.attributes.get("filename", ""), node.name):
            if any(old in word for old in _OLD):
                yield OLD_NAMES.at(node.line, f"The plugin is called {word!r}.")
                break


def _systems(scene: SdfScene, world: Node) -> set[str]:
    """Systems of a world by their short names; a model may bring one too."""
    return {_short(seen.node) for seen in scene.find("plugin", world)}


def _sensors(scene: SdfScene, world: Node) -> Iterator[Seen]:
    """Real sensors; the ArduPilot plugin has an element of the same name."""
    for seen in scene.find("sensor", world):
        parent = seen.node.parent
        if parent is not None and parent.tag in ("link", "joint"):
            yield seen


def _has_ardupilot(scene: SdfScene, world: Node) -> bool:
    return any(is_ardupilot(seen.node) for seen in scene.find("plugin", world))


def _short(plugin: Node) -> str:
    return plugin.name.rsplit("::", 1)[-1]


RULES: tuple[Rule, ...] = (
    *each_world(check_systems, check_physics, check_rendering, check_coordinates),
    check_includes_found,
    check_old_names,
)
