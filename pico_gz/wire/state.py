"""The JSON state record that a simulator sends to an autopilot.

The autopilot finds its keys by substring search, not with a JSON parser, so the writer keeps
to what every release reads: compact text, one line feed on both sides and none inside,
``velocity`` ahead of ``velocity_wind``, sections ahead of their members, finite numbers, less
than one Ethernet frame. The reader is a real JSON parser: it ignores unknown keys and refuses
a record as a whole when a value is missing, mistyped, doubled, not finite or absurd.

Extra keys are not for the autopilot: they follow all others, and none of them may contain a key
of the protocol (``source`` contains ``rc``).
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

import msgspec

from pico_gz.core.messages import Quaternion, SensorData, Vector3
from pico_gz.errors import DecodeError, EncodeError
from pico_gz.wire.state_record import (
    BarometerExtra,
    ExtraKeys,
    GpsExtra,
    ImuRecord,
    PlainRecord,
    SimulatorExtra,
    StateRecord,
)

MAX_RECORD_BYTES: Final = 4096
MAX_REPLY_BYTES: Final = 1400
MAX_NESTING: Final = 4
MAX_RANGEFINDERS: Final = 6

# No rover gets further, faster or spins harder; 1e308 is a fault, not a measurement.
_PLAUSIBLE: Final = 1e7
_PLAUSIBLE_TIME_S: Final = 1e9


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(StateRecord)
_BARE_FIELDS = ("timestamp_s", "imu", "position_ned_m", "velocity_ned_mps")
_OPTIONAL_FIELDS = tuple(name for name in StateRecord.__struct_fields__ if name not in _BARE_FIELDS)
# timestamp, imu, gyro, accel_body, position, velocity and one attitude: what the plugin sends.
_PLAIN_COLONS: Final = 7
# The plugin of 2026 adds no_time_sync and no_lockstep to every record.
_FLAG_COLONS: Final = 2


def encode_state(record: StateRecord, extra: msgspec.Struct | None = None) -> bytes:
    """Return the record as one datagram; ``extra`` are keys that follow all others.

    Raises:
        EncodeError: a number that is not finite, no attitude, or a record that is too long.
    """
    if record.quat_wxyz is None and record.attitude_rad is None:
        raise EncodeError("A state record needs an attitude or a quaternion.")
    return _framed(record, extra)


def encode_plain_state(
    timestamp_s: float,
    imu: ImuRecord,
    position_ned_m: Vector3,
    quat_wxyz: Quaternion,
    velocity_ned_mps: Vector3,
    optional: bytes = b"",
) -> bytes:
    """Return a record as one datagram, faster than ``encode_state``; the same bytes.

    Args:
        timestamp_s: and the others: as in ``StateRecord``.
        imu: rate and specific force.
        position_ned_m: from the autopilot's home [m].
        quat_wxyz: body FRD to NED.
        velocity_ned_mps: [m/s].
        optional: what ``SlowKeys.encode`` gave; kept by the caller while nothing changes.

    Raises:
        EncodeError: a number that is not finite, or a record that is too long.
    """
    body = _encoder.encode(
        PlainRecord(timestamp_s, imu, position_ned_m, quat_wxyz, velocity_ned_mps)
    )
    if optional:
        return _checked(b"".join((b"\n", body[:-1], optional, b"}\n")))
    return _checked(b"\n" + body + b"\n")


def _framed(record: msgspec.Struct, extra: msgspec.Struct | None = None) -> bytes:
    body = _encoder.encode(record)
    if extra is not None:
        body = b"%b,%b" % (body[:-1], _encoder.encode(extra)[1:])
    return _checked(b"\n%b\n" % body)


def _checked(data: bytes) -> bytes:
    # The encoder writes NaN and infinity as null, which the autopilot would misread.
    if b"null" in data:
        raise EncodeError("A state record has a number that is not finite.")
    if len(data) >= MAX_REPLY_BYTES:
        raise EncodeError(f"State record of {len(data)} bytes; the limit is {MAX_REPLY_BYTES}.")
    return data


def decode_state(data: bytes) -> StateRecord:
    """Read one record; ``quat_wxyz`` is always there in the result.

    Raises:
        DecodeError: refused as a whole; nothing of it may be used.
    """
    return read_state(data)[0]


def read_state(data: bytes) -> tuple[StateRecord, bool]:
    """Read one record like ``decode_state``, and return whether it may have optional keys.

    Raises:
        DecodeError: refused as a whole; nothing of it may be used.
    """
    if len(data) > MAX_RECORD_BYTES:
        raise DecodeError(f"State record of {len(data)} bytes; at most {MAX_RECORD_BYTES}.")
    try:
        record = _decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as exc:
        raise _refusal(data, str(exc)) from exc
    colons = data.count(b":")
    has_flags = record.no_time_sync is not None and record.no_lockstep is not None
    is_plain = colons == (_PLAIN_COLONS + _FLAG_COLONS if has_flags else _PLAIN_COLONS)
    if not is_plain:
        _check_optional(record, colons, data)
    quat = record.quat_wxyz
    if quat is None:
        if record.attitude_rad is None:
            raise _refusal(data, "neither attitude nor quaternion", "quaternion")
        quat = quaternion_from_euler(*record.attitude_rad)
        record = msgspec.structs.replace(record, quat_wxyz=quat)
    _check_plausible(record, quat, data)
    return record, not is_plain


def _check_plausible(record: StateRecord, quat: Quaternion, data: bytes) -> None:
    """Refuse absurd magnitudes; one length per record, because this runs for every step."""
    imu = record.imu
    length = math.hypot(
        *imu.gyro_frd_radps, *imu.accel_frd_mps2, *record.position_ned_m, *record.velocity_ned_mps
    )
    if not length <= _PLAUSIBLE:
        raise _refusal(data, "a value is absurdly large")
    if not 0.0 <= record.timestamp_s <= _PLAUSIBLE_TIME_S:
        raise _refusal(data, f"timestamp {record.timestamp_s}", "timestamp")
    w, x, y, z = quat
    if not 0.98 <= w * w + x * x + y * y + z * z <= 1.02:
        raise _refusal(data, "the quaternion is not of unit length", "quaternion")


def _check_optional(record: StateRecord, colons: int, data: bytes) -> None:
    """Check what is beyond the plain record: optional values, foreign and doubled keys."""
    known_colons = _PLAIN_COLONS - 1
    for name in _OPTIONAL_FIELDS:
        value = getattr(record, name)
        if value is None:
            continue
        numbers = _numbers(value)
        known_colons += 1 if isinstance(value, (tuple, float, int)) else 1 + len(numbers)
        if not all(abs(number) <= _PLAUSIBLE for number in numbers):
            raise _refusal(data, f"{name} is absurdly large", name)
    if colons != known_colons:
        _check_foreign_keys(data)


def _check_foreign_keys(data: bytes) -> None:
    """Refuse what the typed parser lets pass in keys it does not know; slow, but rare."""
    try:
        _check_depth(json.loads(data.decode(), object_pairs_hook=_refuse_doubles))
    except (ValueError, RecursionError) as exc:
        raise _refusal(data, str(exc)) from exc


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _check_depth(value: Any, depth: int = 1) -> None:
    if depth > MAX_NESTING + 1:
        raise ValueError(f"nested more than {MAX_NESTING} deep")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _check_depth(item, depth + 1)


def _numbers(value: object) -> tuple[float, ...]:
    if isinstance(value, (int, float)):
        return (value,)
    if isinstance(value, dict):
        return tuple(value.values())
    if isinstance(value, tuple):
        return value
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.astuple(value)
    return ()


def _refusal(data: bytes, reason: str, field: str = "") -> DecodeError:
    excerpt = data[:80].decode("utf-8", "backslashreplace")
    return DecodeError(f"State record refused: {reason}.", field=field, excerpt=repr(excerpt))


def quaternion_from_euler(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Quaternion:
    """Return (w, x, y, z), body FRD to NED, of the Euler angles roll, pitch, yaw [rad]."""
    cr, sr = math.cos(roll_rad / 2), math.sin(roll_rad / 2)
    cp, sp = math.cos(pitch_rad / 2), math.sin(pitch_rad / 2)
    cy, sy = math.cos(yaw_rad / 2), math.sin(yaw_rad / 2)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


class ExtraMemory:
    """Keeps the newest sample of every sensor and the clock, and makes the keys of a record."""

    def __init__(self) -> None:
        self._gps: GpsExtra | None = None
        self._mag: Vector3 | None = None
        self._baro: BarometerExtra | None = None
        self._encoders: tuple[int, int] | None = None
        self._epoch = 0
        self._last_us = -1

    def remember(self, sensors: SensorData) -> None:
        """Take what is new."""
        if (fix := sensors.gps) is not None:
            self._gps = GpsExtra(fix.lat_deg, fix.lon_deg, fix.alt_m, fix.speed_ms, fix.course_deg)
        if sensors.compass is not None:
            self._mag = sensors.compass.mag_gauss
        if (air := sensors.barometer) is not None:
            self._baro = BarometerExtra(air.pressure_pa, air.temperature_c)
        if sensors.encoders is not None:
            self._encoders = sensors.encoders.ticks

    def keys(self, time_us: int) -> ExtraKeys:
        """Return the keys of the record at ``time_us``."""
        since_us = time_us - self._last_us if self._last_us >= 0 else 0
        if since_us < 0:
            self._epoch += 1
        self._last_us = time_us
        return ExtraKeys(
            gps=self._gps,
            mag=self._mag,
            baro=self._baro,
            encoders=self._encoders,
            sim=SimulatorExtra(self._epoch, max(0, since_us) / 1e6),
        )
