"""The ArduPilot plugin in a document, and rules about its settings."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from pico_gz.errors import did_you_mean
from pico_gz.gazebo.lint.document import (
    Finding,
    NodeRule,
    Rule,
    SdfScene,
    Seen,
    Severity,
    Trap,
    angle_between,
    for_each,
    looks_like_degrees,
    pose_angles,
)
from pico_gz.gazebo.sdf import Node

DEFAULT_PORT = "9002"
DEFAULT_IMU = "imu_sensor"
# What the plugin makes of a control that says nothing else.
_DEFAULT_SERVO = (1000.0, 2000.0)
_NEUTRAL_US = 1500.0


def is_ardupilot(plugin: Node) -> bool:
    """Whether a ``<plugin>`` is, or is meant to be, the ArduPilot plugin."""
    words = f"{plugin.attributes.get('filename', '')} {plugin.name}".lower()
    return "ardupilotplugin" in words or plugin.child("fdm_port_in") is not None


def ardupilot_plugins(scene: SdfScene) -> Iterator[Seen]:
    """Every ArduPilot plugin, also those of included models."""
    return (seen for seen in scene.find("plugin") if is_ardupilot(seen.node))


def own_plugins(scene: SdfScene) -> Iterator[Node]:
    """The ArduPilot plugins that stand in the file itself."""
    return filter(is_ardupilot, scene.own("plugin"))


def each_plugin(*rules: NodeRule) -> list[Rule]:
    """Rules about each ArduPilot plugin of a file."""
    return for_each(own_plugins, rules)


def model_of(plugin: Node) -> Node | None:
    """The model that a plugin moves; None: that of an include."""
    if plugin.parent is not None and plugin.parent.tag == "include":
        return plugin.parent
    return plugin.inside("model")


def whole_number(text: str) -> int | None:
    """A number of a few digits; None when the text is no such number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def is_true(text: str) -> bool:
    """A truth value as SDF writes it."""
    return text.lower() in ("1", "true")


def imu_of(scene: SdfScene, plugin: Node) -> Seen | None:
    """The sensor that ``imuName`` means; scoped or not, the first that fits."""
    model = model_of(plugin)
    if model is None:
        return None
    wanted = (plugin.value("imuName") or DEFAULT_IMU).split("::")[-1]
    sensors = (seen for seen in scene.find("sensor", model) if seen.node.parent is not plugin)
    return next((seen for seen in sensors if seen.node.name == wanted), None)


@dataclass(frozen=True, slots=True)
class ControlFacts:
    """One ``<control>`` in numbers."""

    node: Node

    @property
    def joint(self) -> str:
        """The joint it moves, without the scope."""
        return self.node.value("jointName").split("::")[-1]

    @property
    def kind(self) -> str:
        """VELOCITY, POSITION, EFFORT or COMMAND."""
        return self.node.value("type").upper() or "VELOCITY"

    @property
    def use_force(self) -> bool:
        """Whether the plugin computes a torque; the default."""
        return is_true(self.node.value("useForce", "1"))

    @property
    def channel(self) -> int | None:
        """0-based; None when it is given by the order."""
        return whole_number(self.node.attributes.get("channel", ""))

    @property
    def multiplier(self) -> float:
        """Command per unit."""
        return self.node.number("multiplier", 1.0)

    def command(self, share: float) -> float:
        """The command at a share 0..1 of the pulse width range."""
        return self.multiplier * (share + self.node.number("offset", 0.0))

    @property
    def neutral_command(self) -> float:
        """The command at 1500 us."""
        low = self.node.number("servo_min", _DEFAULT_SERVO[0])
        high = self.node.number("servo_max", _DEFAULT_SERVO[1])
        share = (_NEUTRAL_US - low) / (high - low) if high != low else 0.0
        return self.command(min(1.0, max(0.0, share)))

    @property
    def goes_both_ways(self) -> bool:
        """Whether it can command forward and reverse."""
        return self.command(0.0) * self.command(1.0) < 0.0

    @property
    def torque_limits(self) -> tuple[float, float] | None:
        """(lowest, highest); None: no limit, which is what highest below lowest means."""
        low = self.node.number("cmd_min", self.node.number("vel_cmd_min", -1.0))
        high = self.node.number("cmd_max", self.node.number("vel_cmd_max", 1.0))
        return None if high < low else (low, high)


def controls_of(plugin: Node) -> list[ControlFacts]:
    """All controls of a plugin."""
    return [ControlFacts(node) for node in plugin.all("control")]


def is_wheel(scene: SdfScene, plugin: Node, control: ControlFacts) -> bool:
    """Whether a control drives something that is called a wheel."""
    if "wheel" in control.joint.lower():
        return True
    joint = joint_named(scene, plugin, control.joint)
    return joint is not None and "wheel" in joint.value("child").lower()


def joint_named(scene: SdfScene, plugin: Node, name: str) -> Node | None:
    """A joint of the plugin's model."""
    model = model_of(plugin)
    if model is None:
        return None
    return next((seen.node for seen in scene.find("joint", model) if seen.node.name == name), None)


FILE_NAMES = ("ArduPilotPlugin", "libArduPilotPlugin", "libArduPilotPlugin.so")
CLASS_NAMES = ("ArduPilotPlugin", "gz::sim::systems::ArduPilotPlugin")

PLUGIN_NAME = Trap(
    name="plugin-name",
    severity=Severity.ERROR,
    why="Gazebo does not load it, writes one line and runs on: the rover never answers.",
    fix='<plugin filename="ArduPilotPlugin" name="ArduPilotPlugin">',
)
NO_CONTROL = Trap(
    name="no-control",
    severity=Severity.WARNING,
    why="Servo packets are answered, but nothing moves; only a trailer is made like that.",
    fix='Add a <control channel="N"> with <jointName> for every driven joint.',
)
NED_DEFAULT = Trap(
    name="ned-default",
    severity=Severity.WARNING,
    why="By default the plugin takes Gazebo's x as north and y as west; in an ENU world x is"
    " east, so headings are off by 90 degrees.",
    fix='<gazeboXYZToNED degrees="true">0 0 0 180 0 90</gazeboXYZToNED>',
)
ANGLE_UNIT = Trap(
    name="angle-unit",
    severity=Severity.ERROR,
    why='Angles are radians unless degrees="true" is written: 180 is then 28 full turns and'
    " 233 degrees.",
    fix='<gazeboXYZToNED degrees="true">0 0 0 180 0 90</gazeboXYZToNED>; radians: 3.14159, 1.5708.',
)
BAD_PORT = Trap(
    name="fdm-port",
    severity=Severity.ERROR,
    why="The plugin then binds another port, which is not known: the rover never answers.",
    fix="<fdm_port_in>9002</fdm_port_in>: a whole number, 1 to 65535.",
)
DUPLICATE_PORT = Trap(
    name="duplicate-port",
    severity=Severity.ERROR,
    why="Both bind the port without an error; one takes all packets, the other stays deaf.",
    fix="Give every vehicle its own <fdm_port_in>: 9002, 9012, 9022, ...",
)
BAD_ADDRESS = Trap(
    name="fdm-addr",
    severity=Severity.ERROR,
    why="fdm_addr is the local address to bind, as numbers; a name cannot be bound.",
    fix="<fdm_addr>127.0.0.1</fdm_addr>, or 0.0.0.0 for other machines and containers.",
)
LOOPBACK_IN_CONTAINER = Trap(
    name="loopback-in-container",
    severity=Severity.ERROR,
    why="Bound to loopback, the plugin cannot be reached from outside of its container.",
    fix="<fdm_addr>0.0.0.0</fdm_addr>, and publish the port on 127.0.0.1 of the host.",
)
IGNORED = Trap(
    name="ignored-element",
    severity=Severity.WARNING,
    why="The plugin does not read it: replies go to the sender of the last packet, and a vehicle"
    " is known by its port.",
    fix="Remove it.",
)
UNKNOWN = Trap(
    name="unknown-plugin-element",
    severity=Severity.WARNING,
    why="The plugin does not know it and says nothing about it.",
    fix="Remove it, or correct its spelling.",
)
NO_LOCK_STEP = Trap(
    name="lock-step",
    severity=Severity.NOTE,
    why="Without it the world does not wait for the autopilot, and every step without a packet"
    " costs up to 10 ms.",
    fix="Write <lock_step>1</lock_step>, or 0 if that is meant.",
)
PLUGIN_IN_INCLUDE = Trap(
    name="plugin-in-include",
    severity=Severity.WARNING,
    why="A <plugin> in an <include> is added to those of the model, it replaces none: the model"
    " then has two that fight for its joints and port.",
    fix="Give the vehicle a model of its own, with one plugin.",
)

TRANSFORMS = ("gazeboXYZToNED", "modelXYZToAirplaneXForwardZDown")
MAX_PORT = 65535
IGNORED_ELEMENTS = ("fdm_port_out", "listen_addr", "vehicle_id")
KNOWN_ELEMENTS = (
    "fdm_addr", "fdm_port_in", "lock_step", "no_time_sync", "have_32_channels",
    "connectionTimeoutMaxCount", "imuName", "modelXYZToAirplaneXForwardZDown", "gazeboXYZToNED",
    "anemometer", "sensor", "control",
)  # fmt: skip
_ONE_DEGREE = 0.0175
# What the plugin takes when nothing is written.
_DEFAULT_NED = (3.141592653589793, 0.0, 0.0)


def check_name(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """The library and the class."""
    file_name = plugin.attributes.get("filename", "")
    if file_name not in FILE_NAMES:
        yield PLUGIN_NAME.at(plugin.line, f"filename is {file_name!r}.")
    elif plugin.name not in CLASS_NAMES:
        yield PLUGIN_NAME.at(plugin.line, f"name is {plugin.name!r}.")


def check_controls_exist(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """A plugin that drives nothing."""
    if plugin.child("control") is None:
        yield NO_CONTROL.at(plugin.line, "The plugin has no <control>.")


def check_ned(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """North left to the default, or written as the default."""
    node = plugin.child("gazeboXYZToNED")
    if node is None:
        yield NED_DEFAULT.at(plugin.line, "gazeboXYZToNED is left to its default.")
        return
    angles = None if looks_like_degrees(node) else pose_angles(node)
    if angles and angle_between(angles, _DEFAULT_NED) < _ONE_DEGREE:
        yield NED_DEFAULT.at(node.line, "gazeboXYZToNED makes x north and y west.")


def check_angle_units(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Degrees written where radians are read."""
    for tag in TRANSFORMS:
        node = plugin.child(tag)
        if node is not None and looks_like_degrees(node):
            yield ANGLE_UNIT.at(node.line, f"{tag} is {node.text.strip()!r} in radians.")


def check_port_numbers(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """A port that is none."""
    node = plugin.child("fdm_port_in")
    text = node.text.strip() if node else DEFAULT_PORT
    if node and not 1 <= (whole_number(text) or 0) <= MAX_PORT:
        yield BAD_PORT.at(node.line, f"fdm_port_in is {text!r}.")


def check_ports(scene: SdfScene) -> Iterator[Finding]:
    """Two plugins on one port."""
    first: dict[str, Seen] = {}
    for seen in ardupilot_plugins(scene):
        port = seen.node.value("fdm_port_in", DEFAULT_PORT)
        other = first.setdefault(port, seen)
        if other is not seen:
            message = f"Port {port} is taken already, in line {other.line}."
            yield DUPLICATE_PORT.at(seen.line, message)


def check_address(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """What the plugin binds."""
    node = plugin.child("fdm_addr")
    text = node.text.strip() if node else "127.0.0.1"
    line = node.line if node else plugin.line
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        yield BAD_ADDRESS.at(line, f"fdm_addr is {text!r}, no numeric IPv4 address.")
        return
    if scene.in_container and address.is_loopback:
        yield LOOPBACK_IN_CONTAINER.at(line, f"fdm_addr is {text}.")


def check_elements(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Elements that do nothing."""
    for node in plugin.children:
        if node.tag in IGNORED_ELEMENTS:
            yield IGNORED.at(node.line, f"<{node.tag}> is ignored.")
        elif node.tag not in KNOWN_ELEMENTS:
            hint = did_you_mean(node.tag, KNOWN_ELEMENTS)
            near = f" {hint}" if hint.startswith("Did") else ""
            yield UNKNOWN.at(node.line, f"<{node.tag}> is unknown to the plugin.{near}")


def check_lock_step(scene: SdfScene, plugin: Node) -> Iterator[Finding]:
    """Lockstep left to the default."""
    if plugin.child("lock_step") is None:
        yield NO_LOCK_STEP.at(plugin.line, "lock_step is left to its default, 0.")


def check_includes(scene: SdfScene) -> Iterator[Finding]:
    """A plugin added through an include."""
    for node in scene.own("include"):
        for plugin in node.all("plugin"):
            if not is_ardupilot(plugin):
                continue
            model = scene.included.get(node)
            twice = model is not None and _has_ardupilot(scene, model)
            message = f"A <plugin> inside the <include> of {node.value('uri')!r}."
            severity = Severity.ERROR if twice else Severity.WARNING
            yield PLUGIN_IN_INCLUDE.at(plugin.line, message, severity=severity)


def _has_ardupilot(scene: SdfScene, model: Node) -> bool:
    return any(is_ardupilot(seen.node) for seen in scene.find("plugin", model))


RULES: tuple[Rule, ...] = (
    *each_plugin(
        check_name,
        check_controls_exist,
        check_ned,
        check_angle_units,
        check_port_numbers,
        check_address,
        check_elements,
        check_lock_step,
    ),
    check_ports,
    check_includes,
)
