"""Topics, schemas and Foxglove messages of a recording.

Where Foxglove has a schema of its own it is used under its name; all other messages are the
kit's own, with the schema made from their class.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

import msgspec
from msgspec import inspect as types

from pico_gz.bridge.published import BridgeEvent
from pico_gz.core.frames import quat_enu_flu_from_ned_frd
from pico_gz.core.messages import ActuatorCommands, GpsData, GpsFixType, SensorData, VehicleTruth

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


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER: dict[str, Any] = {"type": "number"}
_TEXT: dict[str, Any] = {"type": "string"}
_WHOLE: dict[str, Any] = {"type": "integer"}


def _object(title: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties}


_TIME = _object("time", sec=_WHOLE, nsec=_WHOLE)
_XYZ = {"x": _NUMBER, "y": _NUMBER, "z": _NUMBER}

FOXGLOVE: dict[str, dict[str, Any]] = {
    "foxglove.PoseInFrame": _object(
        "foxglove.PoseInFrame",
        timestamp=_TIME,
        frame_id=_TEXT,
        pose=_object(
            "foxglove.Pose",
            position=_object("foxglove.Vector3", **_XYZ),
            orientation=_object("foxglove.Quaternion", **_XYZ, w=_NUMBER),
        ),
    ),
    "foxglove.LocationFix": _object(
        "foxglove.LocationFix",
        timestamp=_TIME,
        frame_id=_TEXT,
        latitude=_NUMBER,
        longitude=_NUMBER,
        altitude=_NUMBER,
        position_covariance={"type": "array", "items": _NUMBER, "minItems": 9, "maxItems": 9},
        position_covariance_type=_WHOLE,
    ),
    "foxglove.Log": _object(
        "foxglove.Log",
        timestamp=_TIME,
        level=_WHOLE,
        message=_TEXT,
        name=_TEXT,
        file=_TEXT,
        line=_WHOLE,
        kind=_TEXT,
        vehicle_id=_WHOLE,
        adapter=_TEXT,
        severity=_WHOLE,
        time_us=_WHOLE,
    ),
}


def schema_bytes(name: str, message: type[msgspec.Struct] | None = None) -> bytes:
    """The schema of this name; made from ``message`` where it is the kit's own."""
    schema = FOXGLOVE[name] if message is None else _of(types.type_info(message))
    return json.dumps(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    ).encode()


def _of(kind: types.Type) -> dict[str, Any]:
    """Plain enough for every reader: no references, no alternatives, one kind of item."""
    if isinstance(kind, types.StructType):
        fields = {field.encode_name: _of(field.type) for field in kind.fields}
        return _object(f"pico_gz.{kind.cls.__name__}", **fields)
    if isinstance(kind, types.UnionType):
        return _of(next(part for part in kind.types if not isinstance(part, types.NoneType)))
    if isinstance(kind, types.TupleType):
        return {"type": "array", "items": _of(kind.item_types[0])}
    if isinstance(kind, types.VarTupleType):
        return {"type": "array", "items": _of(kind.item_type)}
    if isinstance(kind, types.FloatType):
        return _NUMBER
    if isinstance(kind, types.BoolType):
        return {"type": "boolean"}
    if isinstance(kind, types.StrType):
        return _TEXT
    if isinstance(kind, types.IntType | types.EnumType):
        return _WHOLE
    raise TypeError(f"A recording cannot hold {kind!r}.")


WORLD_FRAME = "world"
_UERE_M = 1.5  # horizontal error of a fix with an HDOP of 1
_COVARIANCE_APPROXIMATED = 1

# syslog severity -> level of foxglove.Log: 1 debug, 2 info, 3 warning, 4 error, 5 fatal.
_LEVELS = {0: 5, 1: 5, 2: 5, 3: 4, 4: 3, 5: 2, 6: 2, 7: 1}


def pose_in_frame(truth: VehicleTruth) -> dict[str, Any]:
    """Where a vehicle is, for a 3-D view."""
    w, x, y, z = quat_enu_flu_from_ned_frd(truth.quat_wxyz)
    return {
        "timestamp": _time(truth.timestamp_us),
        "frame_id": WORLD_FRAME,
        "pose": {
            "position": {"x": truth.east_m, "y": truth.north_m, "z": -truth.down_m},
            "orientation": {"x": x, "y": y, "z": z, "w": w},
        },
    }


def location_fix(fix: GpsData, time_us: int, vehicle_name: str) -> dict[str, Any]:
    """A GPS fix, for a map."""
    horizontal_m2 = (fix.hdop * _UERE_M) ** 2
    vertical_m2 = 4.0 * horizontal_m2
    known = fix.fix_type is not GpsFixType.NO_FIX
    return {
        "timestamp": _time(time_us),
        "frame_id": vehicle_name,
        "latitude": fix.lat_deg,
        "longitude": fix.lon_deg,
        "altitude": fix.alt_m,
        "position_covariance": [horizontal_m2, 0, 0, 0, horizontal_m2, 0, 0, 0, vertical_m2],
        "position_covariance_type": _COVARIANCE_APPROXIMATED if known else 0,
    }


def log_entry(event: BridgeEvent, name: str) -> dict[str, Any]:
    """An event, for a log panel; the kit's own fields are beside Foxglove's."""
    return {
        "timestamp": _time(event.time_us),
        "level": _LEVELS.get(event.severity, 0),
        "message": event.text,
        "name": name,
        "file": event.kind,
        "line": 0,
        "kind": event.kind,
        "vehicle_id": event.vehicle_id,
        "adapter": event.adapter,
        "severity": event.severity,
        "time_us": event.time_us,
    }


def event_of(entry: dict[str, Any]) -> BridgeEvent:
    """The event behind a log entry."""
    return BridgeEvent(
        time_us=entry["time_us"],
        kind=entry["kind"],
        text=entry["message"],
        vehicle_id=entry["vehicle_id"],
        adapter=entry["adapter"],
        severity=entry["severity"],
    )


def _time(time_us: int) -> dict[str, int]:
    seconds, rest_us = divmod(time_us, 1_000_000)
    return {"sec": seconds, "nsec": rest_us * 1000}
