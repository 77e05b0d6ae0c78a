"""The simulator's own state of a vehicle; for observers and external wires only."""

from __future__ import annotations

import msgspec

from pico_gz.messages.sensors import Quaternion, Vector3


class VehicleTruth(msgspec.Struct, frozen=True, gc=False):
    """Where a vehicle really is. Autopilots never see this.

    Attributes:
        timestamp_us: simulation time [us].
        vehicle_id: whose it is.
        north_m: and ``east_m, down_m``: position from the fleet's origin [m].
        quat_wxyz: attitude, body FRD to NED.
        velocity_ned_mps: velocity [m/s].
        rates_frd_radps: angular rate in the body frame [rad/s].
        accel_ned_mps2: coordinate acceleration, gravity not included [m/s^2].
        angular_accel_frd_radps2: angular acceleration [rad/s^2].
        wind_ned_mps: wind at the vehicle [m/s].
    """

    timestamp_us: int
    vehicle_id: int
    north_m: float
    east_m: float
    down_m: float
    quat_wxyz: Quaternion
    velocity_ned_mps: Vector3 = (0.0, 0.0, 0.0)
    rates_frd_radps: Vector3 = (0.0, 0.0, 0.0)
    accel_ned_mps2: Vector3 = (0.0, 0.0, 0.0)
    angular_accel_frd_radps2: Vector3 = (0.0, 0.0, 0.0)
    wind_ned_mps: Vector3 = (0.0, 0.0, 0.0)
