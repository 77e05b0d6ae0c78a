"""The ArduPilot plugin as lint sees it: where it is, what it drives and reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pico_gz.lint.document import Node
from pico_gz.lint.scene import Scene, Seen

DEFAULT_PORT = "9002"
DEFAULT_IMU = "imu_sensor"
# What the plugin makes of a control that says nothing else.
_DEFAULT_SERVO = (1000.0, 2000.0)
_NEUTRAL_US = 1500.0


def is_ardupilot(plugin: Node) -> bool:
    """Whether a ``<plugin>`` is, or is meant to be, the ArduPilot plugin."""
    words = f"{plugin.attributes.get('filename', '')} {plugin.name}".lower()
    return "ardupilotplugin" in words or plugin.child("fdm_port_in") is not None


def ardupilot_plugins(scene: Scene) -> Iterator[Seen]:
    """Every ArduPilot plugin, also those of included models."""
    return (seen for seen in scene.find("plugin") if is_ardupilot(seen.node))


def own_plugins(scene: Scene) -> Iterator[Node]:
    """The ArduPilot plugins that stand in the file itself."""
    return filter(is_ardupilot, scene.own("plugin"))


def model_of(plugin: Node) -> Node | None:
    """The model that a plugin moves; None: that of an include."""
    if plugin.parent is not None and plugin.parent.tag == "include":
        return plugin.parent
    return plugin.inside("model")


def is_true(text: str) -> bool:
    """A truth value as SDF writes it."""
    return text.lower() in ("1", "true")


def imu_of(scene: Scene, plugin: Node) -> Seen | None:
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
        text = self.node.attributes.get("channel", "")
        return int(text) if text.isdigit() else None

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


def is_wheel(scene: Scene, plugin: Node, control: ControlFacts) -> bool:
    """Whether a control drives something that is called a wheel."""
    if "wheel" in control.joint.lower():
        return True
    joint = joint_named(scene, plugin, control.joint)
    return joint is not None and "wheel" in joint.value("child").lower()


def joint_named(scene: Scene, plugin: Node, name: str) -> Node | None:
    """A joint of the plugin's model."""
    model = model_of(plugin)
    if model is None:
        return None
    return next((seen.node for seen in scene.find("joint", model) if seen.node.name == name), None)
