"""The plugin's record as truth, for observers and external wires."""

from __future__ import annotations

from pico_gz.codecs.ardupilot_state import StateRecord
from pico_gz.exact import FLOATS, sincos
from pico_gz.frames import (
    Matrix3,
    Quaternion,
    quat_normalize,
    rotation_from_quat,
    yaw_from_quat,
)
from pico_gz.messages import VehicleTruth
from pico_gz.messages.sensors import Vector3
from pico_gz.units import GRAVITY_MPS2


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
    """Where the air moves to, NED [m/s]; ``None`` when the record tells nothing of it.

    A windvane feels the wind less the vehicle's own velocity and tells where that comes from,
    clockwise from the bow.
    """
    vane = record.windvane
    if record.wind_ned_mps is not None or vane is None:
        return record.wind_ned_mps
    sine, cosine = sincos(FLOATS, yaw_from_quat(attitude_of(record)) + vane.from_rad)
    north, east, _ = record.velocity_ned_mps
    return north - vane.speed_mps * cosine, east - vane.speed_mps * sine, 0.0


def truth_from_record(record: StateRecord, vehicle_id: int, time_us: int) -> VehicleTruth:
    """Return the vehicle's true state, as the simulator tells it."""
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
