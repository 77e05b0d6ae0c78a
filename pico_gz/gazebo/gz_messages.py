"""Gazebo's messages as bytes and values.

Gazebo's bindings take and give raw bytes. With these few functions no protobuf package is
needed, whose versions rarely fit both Gazebo and everything else.

World frame ENU, body frame FLU, quaternions (w, x, y, z): this is Gazebo's side.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

import msgspec

from pico_gz.errors import DecodeError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")
_MAX_VARINT_BYTES = 10

Value = int | float | bytes


def put_int(field: int, value: int) -> bytes:
    """An integer or truth value; 0 takes no bytes, as protobuf wants it."""
    if value == 0:
        return b""
    return _varint(field << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def put_double(field: int, value: float) -> bytes:
    """A double; 0 takes no bytes."""
    return _varint(field << 3 | _FIXED64) + _DOUBLE.pack(value) if value else b""


def put_bytes(field: int, value: bytes) -> bytes:
    """A message inside a message; also when it is empty, because that says it is there."""
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def put_text(field: int, value: str) -> bytes:
    """A text; an empty one takes no bytes."""
    return put_bytes(field, value.encode()) if value else b""


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Every field of a message with its number, in order; 64- and 32-bit ones are floating.

    Raises:
        DecodeError: the bytes are no message.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        elif kind == _FIXED64:
            value, at = _unpacked(_DOUBLE, data, at), at + 8
        elif kind == _FIXED32:
            value, at = _unpacked(_FLOAT, data, at), at + 4
        elif kind == _BYTES:
            size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
            if at > end:
                raise DecodeError("A Gazebo message ends in the middle of a field.")
        else:
            raise DecodeError(f"A Gazebo message has a field of kind {kind}.")
        yield number, value


def doubles(value: Value) -> tuple[float, ...]:
    """The numbers of a repeated double, packed or single."""
    if isinstance(value, bytes):
        if len(value) % 8:
            raise DecodeError("A Gazebo message has half a number.")
        return tuple(number for (number,) in _DOUBLE.iter_unpack(value))
    return (float(value),)


def signed(value: Value) -> int:
    """A varint as the signed number that it stands for."""
    number = int(value) if not isinstance(value, bytes) else 0
    return number - (1 << 64) if number >= 1 << 63 else number


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + place + 1
    raise DecodeError("A Gazebo message ends in the middle of a number.")


def _unpacked(kind: struct.Struct, data: bytes, at: int) -> float:
    try:
        value: float = kind.unpack_from(data, at)[0]
    except struct.error:
        raise DecodeError("A Gazebo message ends in the middle of a number.") from None
    return value


Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

BOOLEAN = "gz.msgs.Boolean"
CLOCK = "gz.msgs.Clock"
EMPTY = "gz.msgs.Empty"
ENTITY = "gz.msgs.Entity"
ENTITY_FACTORY = "gz.msgs.EntityFactory"
FLUID_PRESSURE = "gz.msgs.FluidPressure"
LASER_SCAN = "gz.msgs.LaserScan"
MAGNETOMETER = "gz.msgs.Magnetometer"
NAV_SAT = "gz.msgs.NavSat"
POSE = "gz.msgs.Pose"
POSE_V = "gz.msgs.Pose_V"
STATISTICS = "gz.msgs.WorldStatistics"
TEXTS = "gz.msgs.StringMsg_V"
WORLD_CONTROL = "gz.msgs.WorldControl"

_MODEL_ENTITY = 2
_NO_TURN: Quaternion = (1.0, 0.0, 0.0, 0.0)


class GzPose(msgspec.Struct, frozen=True):
    """Where something is: position ENU [m], attitude FLU to ENU."""

    name: str = ""
    position_m: Vector3 = (0.0, 0.0, 0.0)
    quat_wxyz: Quaternion = _NO_TURN


class GzStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """How a world goes: its times [us], and how many steps it has made."""

    sim_time_us: int = 0
    real_time_us: int = 0
    step_us: int = 0
    iterations: int = 0
    paused: bool = False
    real_time_factor: float = 0.0


class GzNavSat(msgspec.Struct, frozen=True, kw_only=True):
    """A position fix: degrees, metres, velocity ENU [m/s]."""

    lat_deg: float = 0.0
    lon_deg: float = 0.0
    alt_m: float = 0.0
    velocity_enu_mps: Vector3 = (0.0, 0.0, 0.0)


class GzScan(msgspec.Struct, frozen=True, kw_only=True):
    """A laser scan: distances from ``angle_min_rad`` on, counter-clockwise from the bow."""

    angle_min_rad: float = 0.0
    angle_step_rad: float = 0.0
    range_min_m: float = 0.0
    range_max_m: float = 0.0
    ranges_m: tuple[float, ...] = ()


# --- to Gazebo ----------------------------------------------------------------------------


def world_control(*, pause: bool = False, multi_step: int = 0, reset: bool = False) -> bytes:
    """``WorldControl``. Steps without ``pause`` would let the world run on."""
    message = put_int(2, pause) + put_int(4, multi_step)
    return message + put_bytes(5, put_int(2, True)) if reset else message


def entity_factory(sdf: str, name: str, pose: GzPose) -> bytes:
    """``EntityFactory``: a model from SDF text; the name in ``pose`` does not matter."""
    return put_text(2, sdf) + put_bytes(7, pose_message(pose)) + put_text(8, name)


def model_entity(name: str) -> bytes:
    """``Entity``: a model by its name."""
    return put_text(3, name) + put_int(4, _MODEL_ENTITY)


def pose_message(pose: GzPose) -> bytes:
    """``Pose``."""
    x, y, z = pose.position_m
    w, qx, qy, qz = pose.quat_wxyz
    position = put_double(2, x) + put_double(3, y) + put_double(4, z)
    turn = put_double(2, qx) + put_double(3, qy) + put_double(4, qz) + put_double(5, w)
    return put_text(2, pose.name) + put_bytes(4, position) + put_bytes(5, turn)


def pose_list(poses: Iterable[GzPose]) -> bytes:
    """``Pose_V``."""
    return b"".join(put_bytes(2, pose_message(pose)) for pose in poses)


# --- from Gazebo --------------------------------------------------------------------------


def read_boolean(data: bytes) -> bool:
    """``Boolean``."""
    return any(number == 2 and bool(value) for number, value in fields(data))


def read_texts(data: bytes) -> list[str]:
    """``StringMsg_V``."""
    return [_bytes(value).decode("utf-8", "replace") for number, value in fields(data)
            if number == 2]  # fmt: skip


def read_clock_us(data: bytes) -> int:
    """The simulation time in ``Clock`` [us]."""
    return next((_time_us(value) for number, value in fields(data) if number == 4), 0)


def read_statistics(data: bytes) -> GzStatistics:
    """``WorldStatistics``."""
    found = dict(fields(data))
    return GzStatistics(
        sim_time_us=_time_us(found.get(2, b"")),
        real_time_us=_time_us(found.get(4, b"")),
        step_us=_time_us(found.get(10, b"")),
        iterations=signed(found.get(6, 0)),
        paused=bool(found.get(5, 0)),
        real_time_factor=_number(found.get(9, 0.0)),
    )


def read_poses(data: bytes) -> list[GzPose]:
    """``Pose_V``."""
    return [_read_pose(_bytes(value)) for number, value in fields(data) if number == 2]


def read_nav_sat(data: bytes) -> GzNavSat:
    """``NavSat``."""
    found = dict(fields(data))
    return GzNavSat(
        lat_deg=_number(found.get(2, 0.0)),
        lon_deg=_number(found.get(3, 0.0)),
        alt_m=_number(found.get(4, 0.0)),
        velocity_enu_mps=(
            _number(found.get(5, 0.0)),
            _number(found.get(6, 0.0)),
            _number(found.get(7, 0.0)),
        ),
    )


def read_magnetometer(data: bytes) -> Vector3:
    """``Magnetometer``, in the unit and axes that the world's system was set to."""
    return next((_read_vector(_bytes(v)) for number, v in fields(data) if number == 2),
                (0.0, 0.0, 0.0))  # fmt: skip


def read_pressure_pa(data: bytes) -> float:
    """``FluidPressure`` [Pa]."""
    return next((_number(value) for number, value in fields(data) if number == 2), 0.0)


def read_scan(data: bytes) -> GzScan:
    """``LaserScan``."""
    found: dict[int, Value] = {}
    ranges: list[float] = []
    for number, value in fields(data):
        if number == 14:
            ranges += doubles(value)
        else:
            found[number] = value
    return GzScan(
        angle_min_rad=_number(found.get(4, 0.0)),
        angle_step_rad=_number(found.get(6, 0.0)),
        range_min_m=_number(found.get(7, 0.0)),
        range_max_m=_number(found.get(8, 0.0)),
        ranges_m=tuple(ranges),
    )


def _read_pose(data: bytes) -> GzPose:
    found = dict(fields(data))
    turn = dict(fields(_bytes(found.get(5, b""))))
    x, y, z, w = (_number(turn.get(number, 0.0)) for number in (2, 3, 4, 5))
    return GzPose(
        name=_bytes(found.get(2, b"")).decode("utf-8", "replace"),
        position_m=_read_vector(_bytes(found.get(4, b""))),
        quat_wxyz=(w, x, y, z) if turn else _NO_TURN,
    )


def _read_vector(data: bytes) -> Vector3:
    found = dict(fields(data))
    return _number(found.get(2, 0.0)), _number(found.get(3, 0.0)), _number(found.get(4, 0.0))


def _time_us(value: Value) -> int:
    found = dict(fields(_bytes(value)))
    return signed(found.get(1, 0)) * 1_000_000 + signed(found.get(2, 0)) // 1000


def _number(value: Value) -> float:
    return 0.0 if isinstance(value, bytes) else float(value)


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else b""
