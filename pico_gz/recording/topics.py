"""The topics of a recording: ``/events``, and ``/NAME/KIND`` for every vehicle and kind."""

from __future__ import annotations

from enum import Enum

import msgspec

from pico_gz.messages import ActuatorCommands, SensorData, VehicleTruth

EVENTS_TOPIC = "/events"


class AutopilotSample(msgspec.Struct, frozen=True, kw_only=True):
    """What an autopilot believes and wants, a few times a second.

    Attributes:
        timestamp_us: simulation time [us].
        vehicle_id: whose it is.
        mode: name of the mode.
        armed: whether it may move.
        waypoint: mission item it heads for, -1 without one.
        north_m: and ``east_m``: its estimate from the fleet's origin [m], once it has one.
        yaw_rad: estimated heading, clockwise from north [rad].
        speed_mps: estimated speed over ground [m/s].
        cross_track_m: distance from the line it follows, right positive [m].
        waypoint_distance_m: distance to where it goes [m].
        message: the newest thing it had to say.
    """

    timestamp_us: int
    vehicle_id: int
    mode: str = ""
    armed: bool = False
    waypoint: int = -1
    north_m: float | None = None
    east_m: float | None = None
    yaw_rad: float | None = None
    speed_mps: float | None = None
    cross_track_m: float | None = None
    waypoint_distance_m: float | None = None
    message: str = ""


class Kind(Enum):
    """The kinds of messages; the value is the last part of the topic."""

    TRUTH = "truth"
    SENSORS = "sensors"
    ACTUATORS = "actuators"
    AUTOPILOT = "autopilot"
    POSE = "pose"
    FIX = "fix"
    EVENTS = "events"


# Name of the schema and, for the kit's own messages, the class that it is made from.
SCHEMAS: dict[Kind, tuple[str, type[msgspec.Struct] | None]] = {
    Kind.TRUTH: ("pico_gz.VehicleTruth", VehicleTruth),
    Kind.SENSORS: ("pico_gz.SensorData", SensorData),
    Kind.ACTUATORS: ("pico_gz.ActuatorCommands", ActuatorCommands),
    Kind.AUTOPILOT: ("pico_gz.AutopilotSample", AutopilotSample),
    Kind.POSE: ("foxglove.PoseInFrame", None),
    Kind.FIX: ("foxglove.LocationFix", None),
    Kind.EVENTS: ("foxglove.Log", None),
}


def topic_of(kind: Kind, vehicle_name: str) -> str:
    """The topic of a vehicle's messages."""
    return EVENTS_TOPIC if kind is Kind.EVENTS else f"/{vehicle_name}/{kind.value}"


def kind_of(topic: str) -> Kind | None:
    """What a topic holds; ``None`` for topics of others."""
    word = topic.rpartition("/")[2]
    return next((kind for kind in Kind if kind.value == word), None)


def name_in(topic: str) -> str:
    """The vehicle's name in a topic that ``topic_of`` made."""
    return topic.rpartition("/")[0].removeprefix("/")
