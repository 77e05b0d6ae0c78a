"""Rules about the plugin's IMU and about wheels."""

from __future__ import annotations

from collections.abc import Iterator

from pico_gz.gazebo.lint.document import (
    ROLLED,
    Finding,
    Rule,
    SdfScene,
    Severity,
    Trap,
    angle_between,
    each_world,
    looks_like_degrees,
    pose_angles,
)
from pico_gz.gazebo.lint.rules_plugin import (
    DEFAULT_IMU,
    ardupilot_plugins,
    controls_of,
    each_plugin,
    imu_of,
    joint_named,
    model_of,
    own_plugins,
)
from pico_gz.gazebo.sdf import Node

NO_IMU_NAME = Trap(
    name="no-imu-name",
    severity=Severity.WARNING,
    why=f"The plugin then looks for {DEFAULT_IMU!r} anywhere in the model and takes the first.",
    fix="<imuName>base_link::imu_sensor</imuName>, with the link before the sensor.",
)
IMU_NOT_FOUND = Trap(
    name="imu-not-found",
    severity=Severity.ERROR,
    why="Without an IMU the plugin never answers a servo packet.",
    fix="Add an imu sensor, and write link::sensor into <imuName>.",
)
IMU_NOT_ROLLED = Trap(
    name="imu-not-rolled",
    severity=Severity.ERROR,
    why="The plugin passes gyro and accelerometer on as they are, and the autopilot expects"
    " forward, right, down: gravity then points up.",
    fix='<pose degrees="true">0 0 0 180 0 0</pose> in the imu sensor, the same turn as'
    " modelXYZToAirplaneXForwardZDown.",
)
IMU_TOPIC = Trap(
    name="imu-topic",
    severity=Severity.ERROR,
    why="The plugin listens on the sensor's default topic only and sends empty replies for"
    " ever, without an error.",
    fix="Remove <topic> from the imu sensor.",
)
IMU_TOO_SLOW = Trap(
    name="imu-too-slow",
    severity=Severity.WARNING,
    why="The plugin answers in every physics step; between two samples it repeats the old one,"
    " and the estimator sees steps.",
    fix="Set <update_rate> to 1 / max_step_size or more.",
)
MESH_WHEEL = Trap(
    name="mesh-wheel",
    severity=Severity.WARNING,
    why="A mesh rolls on its facets: the rover shakes, and contacts cost much more time.",
    fix="Keep the mesh as the visual; use a <cylinder> or <sphere> as the collision.",
)

_ONE_DEGREE = 0.0175


def check_imu_name(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """The name is missing, or names nothing."""
    named = plugin.child("imuName") is not None
    model = model_of(plugin)
    known = model is not None and model.tag == "model" and scene.is_complete(model)
    sensor = imu_of(scene, plugin)
    if sensor is None and known:
        wanted = plugin.value("imuName") or DEFAULT_IMU
        yield IMU_NOT_FOUND.at(plugin.line, f"This model has no imu sensor {wanted!r}.")
    elif not named:
        yield NO_IMU_NAME.at(plugin.line, "imuName is missing.")


def check_imu_pose(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """The sensor must be turned against its link as the airplane frame is against the model."""
    seen = imu_of(scene, plugin)
    if seen is None:
        return
    pose = seen.node.child("pose")
    if pose is not None and pose.attributes.get("relative_to"):
        return
    given = pose_angles(pose) or (0.0, 0.0, 0.0)
    frame = plugin.child("modelXYZToAirplaneXForwardZDown")
    wanted = None if looks_like_degrees(frame) else pose_angles(frame)
    if angle_between(given, wanted or ROLLED) > _ONE_DEGREE:
        line = pose.line if pose is not None and seen.line == seen.node.line else seen.line
        yield IMU_NOT_ROLLED.at(line, f"The IMU {seen.node.name!r} is not rolled by 180 degrees.")


def check_imu_topic(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """The sensor has a topic of its own."""
    seen = imu_of(scene, plugin)
    topic = seen.node.child("topic") if seen else None
    if seen is not None and topic is not None and topic.text.strip():
        message = f"The IMU {seen.node.name!r} publishes on {topic.text.strip()!r}."
        yield IMU_TOPIC.at(seen.line, message)


def check_imu_rate(scene: SdfScene, world: Node) -> Iterator[Finding]:
    """The sensor is slower than physics; 0 is every step."""
    physics = world.child("physics")
    step_s = physics.number("max_step_size", 0.001) if physics else 0.001
    plugins = {seen.node: seen.line for seen in ardupilot_plugins(scene)}
    for plugin, line in plugins.items():
        seen = imu_of(scene, plugin)
        rate_hz = seen.node.number("update_rate", 0.0) if seen else 0.0
        if seen and 0.0 < rate_hz < 0.999 / step_s:
            message = f"The IMU runs at {rate_hz:g} Hz, physics at {1.0 / step_s:g} Hz."
            yield IMU_TOO_SLOW.at(_line(seen.node, plugin, line), message)


def check_wheels(scene: SdfScene) -> Iterator[Finding]:
    """Wheels that collide as meshes."""
    driven = _driven_links(scene)
    for link in scene.own("link"):
        if link not in driven and "wheel" not in link.name.lower():
            continue
        for collision in link.all("collision"):
            geometry = collision.child("geometry")
            mesh = geometry.child("mesh") if geometry else None
            if mesh is not None:
                yield MESH_WHEEL.at(mesh.line, f"The wheel {link.name!r} collides as a mesh.")


def _driven_links(scene: SdfScene) -> set[Node]:
    """Links that a VELOCITY control turns and that stand on the ground by their name."""
    links: set[Node] = set()
    for plugin in own_plugins(scene):
        model = model_of(plugin)
        if model is None:
            continue
        for control in controls_of(plugin):
            joint = joint_named(scene, plugin, control.joint)
            if joint is None or control.kind != "VELOCITY" or "wheel" not in joint.name.lower():
                continue
            child = joint.value("child").split("::")[-1]
            links |= {link for link in model.all("link") if link.name == child}
    return links


def _line(sensor: Node, plugin: Node, plugin_line: int) -> int:
    """The sensor's line if it is in this file, else that of the include."""
    return sensor.line if plugin.line == plugin_line else plugin_line


RULES: tuple[Rule, ...] = (
    *each_plugin(check_imu_name, check_imu_pose, check_imu_topic),
    *each_world(check_imu_rate),
    check_wheels,
)
