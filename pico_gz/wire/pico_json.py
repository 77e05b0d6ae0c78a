"""The kit's own JSON dialect: one object per datagram.

Sensors come to us, actuators go from us; both carry a version and a vehicle id, both 1 when
absent. Unknown keys are ignored; anything missing, mistyped or not finite refuses the record.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pico_gz.core.messages import GpsData, ImuData, SensorData, Vector3
from pico_gz.errors import DecodeError, EncodeError, MessageError

VERSION = 1
# What ``DecodeError.field`` says when a record is refused for its version.
VERSION_FIELD = "version"
MAX_DATAGRAM_BYTES = 1400
_PLAUSIBLE = 1e7
_MAX_TIME_US = 1 << 62


class _ImuWire(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={"accel": "linear_acceleration", "gyro": "angular_velocity"},
):
    accel: Vector3
    gyro: Vector3


class _GpsWire(msgspec.Struct, frozen=True, gc=False):
    lat: float
    lon: float
    alt: float
    speed: float
    course: float


class _SensorsWire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    version: int = VERSION
    vehicle_id: int = 1
    timestamp: int
    imu: _ImuWire
    gps: _GpsWire | msgspec.UnsetType = msgspec.UNSET


class PicoActuators(msgspec.Struct, frozen=True, kw_only=True):
    """Actuators as they travel.

    Attributes:
        version: of the dialect.
        vehicle_id: whose they are.
        timestamp: simulation time of the decision [us].
        motors: pulse widths [us], channels in order.
    """

    version: int = VERSION
    vehicle_id: int = 1
    timestamp: int
    motors: tuple[int, ...]


class _Header(msgspec.Struct, frozen=True, gc=False):
    version: int = VERSION
    vehicle_id: int = 1


_encoder = msgspec.json.Encoder()
_sensors_decoder = msgspec.json.Decoder(_SensorsWire)
_actuators_decoder = msgspec.json.Decoder(PicoActuators)
_header_decoder = msgspec.json.Decoder(_Header)


def encode_actuators(timestamp_us: int, vehicle_id: int, pwm_us: Sequence[int]) -> bytes:
    """Return the actuator datagram; ``pwm_us`` are the channels in order [us]."""
    return _bounded(
        PicoActuators(vehicle_id=vehicle_id, timestamp=timestamp_us, motors=tuple(pwm_us))
    )


def decode_actuators(data: bytes) -> PicoActuators:
    """Read an actuator datagram.

    Raises:
        DecodeError: refused as a whole.
    """
    try:
        record = _actuators_decoder.decode(_checked(data))
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise _refusal(data, str(exc)) from exc
    _check_header(record.vehicle_id, record.timestamp, data)
    if any(not 0 <= pwm <= 65535 for pwm in record.motors):
        raise _refusal(data, "a pulse width is outside 0..65535", "motors")
    return record


def encode_sensors(record: SensorData) -> bytes:
    """Return the sensor datagram of a record that has an IMU sample.

    Raises:
        EncodeError: no IMU sample, or a number that is not finite.
    """
    if record.imu is None:
        raise EncodeError("A pico_json sensor record needs an IMU sample.")
    gps = record.gps
    return _bounded(
        _SensorsWire(
            vehicle_id=record.vehicle_id,
            timestamp=record.timestamp_us,
            imu=_ImuWire(record.imu.accel_mss, record.imu.gyro_rads),
            gps=msgspec.UNSET
            if gps is None
            else _GpsWire(gps.lat_deg, gps.lon_deg, gps.alt_m, gps.speed_ms, gps.course_deg),
        )
    )


def decode_sensors(data: bytes) -> SensorData:
    """Read a sensor datagram.

    Raises:
        DecodeError: refused as a whole.
    """
    try:
        wire = _sensors_decoder.decode(_checked(data))
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise _refusal(data, str(exc)) from exc
    _check_header(wire.vehicle_id, wire.timestamp, data)
    if not sum(map(abs, wire.imu.accel)) + sum(map(abs, wire.imu.gyro)) <= _PLAUSIBLE:
        raise _refusal(data, "an IMU value is absurdly large", "imu")
    try:
        return SensorData(
            timestamp_us=wire.timestamp,
            vehicle_id=wire.vehicle_id,
            imu=ImuData(wire.imu.accel, wire.imu.gyro),
            gps=None if wire.gps is msgspec.UNSET else _gps(wire.gps, data),
        )
    except MessageError as exc:
        raise _refusal(data, exc.message) from exc


def peek_vehicle_id(data: bytes) -> int:
    """Return whose datagram it is, 0 when that cannot be read; for sharing one socket."""
    try:
        return _header_decoder.decode(data).vehicle_id
    except (msgspec.MsgspecError, RecursionError):
        return 0


def _gps(wire: _GpsWire, data: bytes) -> GpsData:
    if not abs(wire.alt) + abs(wire.speed) + abs(wire.course) <= _PLAUSIBLE:
        raise _refusal(data, "a GPS value is absurdly large", "gps")
    return GpsData(
        lat_deg=wire.lat,
        lon_deg=wire.lon,
        alt_m=wire.alt,
        speed_ms=wire.speed,
        course_deg=wire.course,
    )


def _checked(data: bytes) -> bytes:
    """Refuse oversize datagrams, foreign versions and text that is not UTF-8."""
    if len(data) > MAX_DATAGRAM_BYTES:
        raise _refusal(data, f"{len(data)} bytes, at most {MAX_DATAGRAM_BYTES}", "size")
    try:
        data.decode()
    except UnicodeDecodeError as exc:
        raise _refusal(data, str(exc)) from exc
    version = _header_decoder.decode(data).version
    if version != VERSION:
        raise DecodeError(
            f"pico_json version {version} is not understood; this is version {VERSION}.",
            field=VERSION_FIELD,
        )
    return data


def _check_header(vehicle_id: int, timestamp_us: int, data: bytes) -> None:
    if not 1 <= vehicle_id <= 255:
        raise _refusal(data, f"vehicle id {vehicle_id} is outside 1..255", "vehicle_id")
    if not 0 <= timestamp_us <= _MAX_TIME_US:
        raise _refusal(data, f"timestamp {timestamp_us}", "timestamp")


def _bounded(record: msgspec.Struct) -> bytes:
    data = _encoder.encode(record)
    if b"null" in data:
        raise EncodeError("A pico_json record has a number that is not finite.")
    if len(data) >= MAX_DATAGRAM_BYTES:
        raise EncodeError(f"pico_json record of {len(data)} bytes; at most {MAX_DATAGRAM_BYTES}.")
    return data


def _refusal(data: bytes, reason: str, field: str = "") -> DecodeError:
    excerpt = data[:80].decode("utf-8", "backslashreplace")
    return DecodeError(f"pico_json record refused: {reason}.", field=field, excerpt=repr(excerpt))
