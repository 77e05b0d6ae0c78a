"""Rules about a rover: its controls, IMU and wheels."""

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
    ControlFacts,
    ardupilot_plugins,
    controls_of,
    each_plugin,
    imu_of,
    is_true,
    is_wheel,
    joint_named,
    model_of,
    own_plugins,
)
from pico_gz.gazebo.sdf import Node

DRIVES_AT_NEUTRAL = Trap(
    name="drives-at-neutral",
    severity=Severity.ERROR,
    why="A vehicle without commands gets 1500 us and drives off.",
    fix="<offset>-0.5</offset> with servo_min 1000 and servo_max 2000, multiplier twice the top"
    " speed.",
)
NEVER_MOVES = Trap(
    name="never-moves",
    severity=Severity.ERROR,
    why="The command is zero at every pulse width.",
    fix="Set <multiplier> to twice the top speed, and servo_max above servo_min.",
)
NO_REVERSE = Trap(
    name="no-reverse",
    severity=Severity.ERROR,
    why="The torque is clamped to one sign: it can neither brake nor reverse.",
    fix="cmd_min = -cmd_max, or cmd_max below cmd_min for no limit at all.",
)
JOINT_NOT_FOUND = Trap(
    name="joint-not-found",
    severity=Severity.ERROR,
    why="The plugin stops reading at the first unknown joint, without ending: this control and"
    " all after it are dead.",
    fix="Write the name of a joint of this model into <jointName>.",
)
UNSUPPORTED = Trap(
    name="unsupported-control",
    severity=Severity.ERROR,
    why="Without useForce only VELOCITY works: POSITION warns in every step and does nothing,"
    " EFFORT crashes Gazebo.",
    fix="<useForce>1</useForce> with PID gains, or <type>VELOCITY</type>.",
)
NO_JOINT_STATE = Trap(
    name="no-joint-state",
    severity=Severity.WARNING,
    why="A POSITION control reads the joint's angle, which only exists if some system asks for it.",
    fix="Add gz-sim-joint-state-publisher-system with this <joint_name> to the model.",
)
TOO_FEW_CHANNELS = Trap(
    name="too-few-channels",
    severity=Severity.ERROR,
    why="A servo packet has 16 channels (0..15) unless have_32_channels is set.",
    fix="Use a channel below 16, or <have_32_channels>1</have_32_channels> and SERVO_32_ENABLE.",
)
OTHER_DRIVER = Trap(
    name="other-driver",
    severity=Severity.ERROR,
    why="Two systems write the same joint in every step; which one wins depends on their order.",
    fix="Remove the other system; the ArduPilot plugin drives the joints itself.",
)
UNUSED_SETTING = Trap(
    name="unused-setting",
    severity=Severity.NOTE,
    why="The plugin reads it into something it never uses, or not at all.",
    fix="Remove it.",
)

_STILL = 0.01  # of the full command
_UNUSED = ("frequencyCutoff", "samplingRate", "controlVelocitySlowdownSim", "cmd_offset")
_SHORT_PACKET = 16
# System -> the elements that name its joints.
_DRIVERS = {
    "DiffDrive": ("left_joint", "right_joint"),
    "AckermannSteering": (
        "left_joint", "right_joint", "left_steering_joint", "right_steering_joint",
    ),
    "MecanumDrive": (
        "front_left_joint", "front_right_joint", "back_left_joint", "back_right_joint",
    ),
    "JointController": ("joint_name",),
    "JointPositionController": ("joint_name",),
}  # fmt: skip


def check_neutral(scene: SdfScene) -> Iterator[Finding]:
    """1500 us must be zero for what turns both ways, and for every wheel."""
    for plugin, control in _driving(scene):
        command = control.neutral_command
        if abs(command) <= _STILL * abs(control.multiplier):
            continue
        message = f"At 1500 us {control.joint!r} is commanded {command:g}, not 0."
        if is_wheel(scene, plugin, control):
            yield DRIVES_AT_NEUTRAL.at(control.node.line, message)
        elif control.goes_both_ways:
            # A propeller that may turn backwards can have its zero elsewhere on purpose.
            yield DRIVES_AT_NEUTRAL.at(control.node.line, message, severity=Severity.WARNING)


def check_moves(scene: SdfScene) -> Iterator[Finding]:
    """A command that is always the same."""
    for _, control in _driving(scene):
        low, high = (
            control.node.number("servo_min", 1000.0),
            control.node.number("servo_max", 2000.0),
        )
        if control.multiplier == 0.0 or high <= low:
            yield NEVER_MOVES.at(control.node.line, f"{control.joint!r} can never move.")


def check_reverse(scene: SdfScene) -> Iterator[Finding]:
    """Torque limits of one sign on something that turns both ways."""
    for _, control in _driving(scene):
        limits = control.torque_limits
        if not control.use_force or not control.goes_both_ways or limits is None:
            continue
        low, high = limits
        if low >= 0.0 or high <= 0.0:
            message = f"The torque of {control.joint!r} is limited to {low:g}..{high:g}."
            yield NO_REVERSE.at(control.node.line, message)


def check_joints(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Joints that are not there."""
    model = model_of(plugin)
    if model is None or not scene.is_complete(model) or model.tag != "model":
        return
    for control in controls_of(plugin):
        if joint_named(scene, plugin, control.joint) is None:
            message = f"There is no joint {control.node.value('jointName')!r} in this model."
            yield JOINT_NOT_FOUND.at(control.node.line, message)


def check_kinds(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Kinds of control that do not work without force, or without the joint's angle."""
    for control in controls_of(plugin):
        if control.kind in ("POSITION", "EFFORT") and not control.use_force:
            message = f"{control.kind} with useForce 0 for {control.joint!r}."
            yield UNSUPPORTED.at(control.node.line, message)
        elif control.kind == "POSITION" and not _angle_is_known(scene, plugin, control):
            message = f"Nothing provides the angle of {control.joint!r}."
            yield NO_JOINT_STATE.at(control.node.line, message)


def check_channels(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Channels that a packet does not have."""
    count = 32 if is_true(plugin.value("have_32_channels")) else _SHORT_PACKET
    for control in controls_of(plugin):
        if control.channel is not None and control.channel >= count:
            message = f"Channel {control.channel} of {count}."
            yield TOO_FEW_CHANNELS.at(control.node.line, message)


def check_drivers(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Another system that drives the same joint."""
    model = model_of(plugin)
    if model is None:
        return
    ours = {control.joint for control in controls_of(plugin) if control.kind != "COMMAND"}
    for seen in scene.find("plugin", model):
        system = _system(seen.node)
        tags = _DRIVERS.get(system, ())
        theirs = {node.text.strip() for node in seen.node.children if node.tag in tags}
        if both := sorted(ours & theirs):
            yield OTHER_DRIVER.at(seen.line, f"{system} also drives {', '.join(both)}.")


def check_settings(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Settings without an effect."""
    reported: set[str] = set()
    for control in controls_of(plugin):
        for node in control.node.children:
            if node.tag in _UNUSED and node.tag not in reported:
                reported.add(node.tag)
                yield UNUSED_SETTING.at(node.line, f"<{node.tag}> has no effect.")


def _driving(scene: SdfScene) -> Iterator[tuple[Node, ControlFacts]]:
    """Controls that turn something, with their plugins."""
    for plugin in own_plugins(scene):
        for control in controls_of(plugin):
            if control.kind in ("VELOCITY", "EFFORT"):
                yield plugin, control


def _angle_is_known(scene: SdfScene, plugin: Node, control: ControlFacts) -> bool:
    model = model_of(plugin)
    if model is None or not scene.is_complete(model):
        return True
    for seen in scene.find("plugin", model):
        if _system(seen.node) in ("JointStatePublisher", "JointPositionController"):
            names = [node.text.strip() for node in seen.node.all("joint_name")]
            if not names or control.joint in names:
                return True
    return False


def _system(plugin: Node) -> str:
    return plugin.name.rsplit("::", 1)[-1]


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
    why="The plugin listens on the sensor's default topic only and sends empty replies without"
    " end and without an error.",
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
    if not step_s > 0.0:
        return
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
    *each_plugin(check_joints, check_kinds, check_channels, check_drivers, check_settings),
    check_neutral,
    check_moves,
    check_reverse,
    *each_plugin(check_imu_name, check_imu_pose, check_imu_topic),
    *each_world(check_imu_rate),
    check_wheels,
)
