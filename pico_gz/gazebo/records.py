"""The plugin's records as truth and as what sensor models see."""

from __future__ import annotations

import msgspec

from pico_gz.core.frames import (
    Matrix3,
    Quaternion,
    quat_normalize,
    rotation_from_quat,
    yaw_from_quat,
)
from pico_gz.core.messages import ActuatorCommands, Vector3, VehicleTruth
from pico_gz.core.portable_math import sincos
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.simulator.followed_motion import NO_WHEELS_SEEN, Seen
from pico_gz.wire.servo import drive_values
from pico_gz.wire.state_record import StateRecord


def attitude_of(record: StateRecord) -> Quaternion:
    """The record's attitude as a unit quaternion, body FRD to NED."""
    quat = record.quat_wxyz
    if quat is None:
        raise ValueError("A decoded record always has a quaternion.")
    return quat_normalize(quat)


def coordinate_accel(rotation: Matrix3, force_frd: Vector3) -> Vector3:
    """Return the acceleration in NED of a specific force in the body frame [m/s^2]."""
    x, y, z = force_frd
    north, east, down = (r0 * x + r1 * y + r2 * z for r0, r1, r2 in rotation)
    return north, east, down + GRAVITY_MPS2


def wind_of(record: StateRecord) -> Vector3 | None:
    """Where the air moves to, NED [m/s]; ``None`` when the record has none.

    A windvane feels the wind less the vehicle's own velocity and measures where that comes from,
    clockwise from the bow.
    """
    vane = record.windvane
    if record.wind_ned_mps is not None or vane is None:
        return record.wind_ned_mps
    sine, cosine = sincos(yaw_from_quat(attitude_of(record)) + vane.from_rad)
    north, east, _ = record.velocity_ned_mps
    return north - vane.speed_mps * cosine, east - vane.speed_mps * sine, 0.0


def truth_from_record(record: StateRecord, vehicle_id: int, time_us: int) -> VehicleTruth:
    """Return the vehicle's true state, as the simulator reports it."""
    quat = attitude_of(record)
    north, east, down = record.position_ned_m
    return VehicleTruth(
        timestamp_us=time_us,
        vehicle_id=vehicle_id,
        north_m=north,
        east_m=east,
        down_m=down,
        quat_wxyz=quat,
        velocity_ned_mps=record.velocity_ned_mps,
        rates_frd_radps=record.imu.gyro_frd_radps,
        accel_ned_mps2=coordinate_accel(rotation_from_quat(quat), record.imu.accel_frd_mps2),
        wind_ned_mps=record.wind_ned_mps or (0.0, 0.0, 0.0),
    )


_RANGE_KEYS = ("rng_1", "rng_2", "rng_3", "rng_4", "rng_5", "rng_6")
_NO_READING_M = -1.0


class OptionalKeys:
    """Keeps what came with the records of one step, so that the last one need not carry it.

    Attributes:
        seen: any of them has ever come.
        sends_ranges: a distance has ever come.
        sends_wind: wind has ever come.
    """

    __slots__ = ("_ranges_m", "_wind_ned_mps", "seen", "sends_ranges", "sends_wind")

    def __init__(self) -> None:
        self.seen = False
        self.sends_ranges = False
        self.sends_wind = False
        self._ranges_m: dict[str, float] = {}  # since the last ``put_into``
        self._wind_ned_mps: Vector3 | None = None

    def keep(self, record: StateRecord) -> None:
        """Take what a record has of them."""
        for key in _RANGE_KEYS:
            distance_m = getattr(record, key)
            if distance_m is not None and distance_m >= 0.0:
                self._ranges_m[key] = distance_m
                self.seen = self.sends_ranges = True
        wind = wind_of(record)
        if wind is not None:
            self._wind_ned_mps = wind
            self.seen = self.sends_wind = True

    def put_into(self, record: StateRecord) -> StateRecord:
        """Return a step's last record with its distances, each alone, and the wind.

        Distances are delivered once; the wind stays until another one comes.
        """
        ranges: dict[str, float | None] = dict.fromkeys(_RANGE_KEYS)
        if self._ranges_m:
            # Whether there are distances at all is asked of the first one.
            ranges |= {"rng_1": _NO_READING_M, **self._ranges_m}
            self._ranges_m = {}
        return msgspec.structs.replace(
            record, wind_ned_mps=self._wind_ned_mps, windvane=None, **ranges
        )


def seen_of(record: StateRecord, command: ActuatorCommands | None, drive: DriveKind) -> Seen:
    """What the sensor models see of a vehicle."""
    first, second = drive_values(command, drive)
    wind = record.wind_ned_mps
    return (
        *record.position_ned_m,
        *record.velocity_ned_mps,
        *record.imu.gyro_frd_radps,
        *(record.quat_wxyz or (1.0, 0.0, 0.0, 0.0)),
        *record.imu.accel_frd_mps2,
        *((0.0, 0.0, 0.0) if wind is None else (1.0, wind[0], wind[1])),
        first,
        second if drive is DriveKind.SKID else first,
        *NO_WHEELS_SEEN,
    )
