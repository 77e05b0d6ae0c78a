"""Rules about what makes a world of several rovers slow."""

from __future__ import annotations

from collections.abc import Iterator

from pico_gz.gazebo.lint.document import Finding, Rule, SdfScene, Severity, Trap, each_world
from pico_gz.gazebo.lint.rules_plugin import is_ardupilot
from pico_gz.gazebo.sdf import Node

UNREAD_SENSORS = Trap(
    name="unread-sensors",
    severity=Severity.NOTE,
    why="The ArduPilot plugin sends only the IMU; the others are read by topic, with [gazebo]"
    " sensor_topics = true, and cost time in every step.",
    fix="Remove the sensor and its system if nothing reads its topic.",
)
PARALLEL_POSTUPDATES = Trap(
    name="parallel-postupdates",
    severity=Severity.NOTE,
    why="Every ArduPilot plugin is a system with a thread of its own for the last part of a step,"
    " and waking all of them costs more than their work.",
    fix="<gz:policies><parallel_postupdates>false</parallel_postupdates></gz:policies> in the"
    " world, from gz-sim 8.14 on.",
)
MANY_CONTACTS = Trap(
    name="many-contacts",
    severity=Severity.NOTE,
    why="The time of a step grows with the square of a rover's contact points, and a wheel needs"
    " one.",
    fix="<max_contacts>1</max_contacts> in <physics>.",
)

# Fewer rovers than this gain little.
_ROVERS = 3
_GAZEBOS_CONTACTS = 20.0
_UNREAD = ("navsat", "gps", "magnetometer", "air_pressure")


def check_cost(scene: SdfScene, world: Node) -> Iterator[Finding]:
    """What costs time in a world of several rovers and could be left out."""
    rovers = sum(is_ardupilot(seen.node) for seen in scene.find("plugin", world))
    if rovers < _ROVERS:
        return
    unread = [s for s in scene.find("sensor", world) if s.node.attributes.get("type") in _UNREAD]
    if unread:
        message = f"{len(unread)} sensors that the plugin does not send."
        yield UNREAD_SENSORS.at(unread[0].line, message)
    policies = world.child("gz:policies")
    if policies is None or policies.value("parallel_postupdates").lower() not in ("false", "0"):
        line = (policies or world).line
        yield PARALLEL_POSTUPDATES.at(line, f"{rovers} plugins, each with a thread of its own.")
    physics = world.child("physics")
    contacts = 0.0 if physics is None else physics.number("max_contacts", 0.0)
    contacts = contacts or _GAZEBOS_CONTACTS
    if contacts > 1:
        message = f"Two shapes may touch at {contacts:g} points."
        yield MANY_CONTACTS.at((physics or world).line, message)


RULES: tuple[Rule, ...] = tuple(each_world(check_cost))
