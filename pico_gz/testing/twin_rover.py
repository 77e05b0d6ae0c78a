"""The kinematic rover that stands in for Gazebo's."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pico_gz.core.messages import Quaternion, Vector3, VehicleTruth
from pico_gz.wire.state_record import ImuRecord

GAZEBO_GRAVITY_MPS2 = 9.8


def joint_command(
    pwm_us: int,
    *,
    multiplier: float,
    offset: float = -0.5,
    servo_min_us: int = 1000,
    servo_max_us: int = 2000,
    zero_is_a_command: bool = False,
) -> float:
    """Return what the plugin makes of a pulse width: ``multiplier * (n + offset)``.

    ``zero_is_a_command`` is the older plugin, for which "no output" is full reverse.
    """
    if pwm_us == 0 and not zero_is_a_command:
        return 0.0
    n = (pwm_us - servo_min_us) / (servo_max_us - servo_min_us)
    return multiplier * (min(max(n, 0.0), 1.0) + offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinPose:
    """Where a rover is spawned, as Gazebo counts: x east, y north, yaw from east, leftwards."""

    x_m: float = 0.0
    y_m: float = 0.0
    yaw_rad: float = 0.0


class TwinRover:
    """Kinematics of the rover in ``plugin_capture_world.sdf``; NED and FRD inside.

    Attributes:
        position_ned_m: of the link that holds the IMU.
        velocity_ned_mps: of that link.
    """

    AXLE_AHEAD_M = 0.15
    TRACK_M = 0.44
    WHEEL_RADIUS_M = 0.15
    HEIGHT_M = 0.2
    # What the tyres allow: the recording shows no jump in speed either.
    SLEW_MPS2 = 8.0

    def __init__(self, pose: TwinPose | None = None) -> None:
        pose = pose or TwinPose()
        self._yaw_rad = math.pi / 2 - pose.yaw_rad
        self._cos_yaw, self._sin_yaw = math.cos(self._yaw_rad), math.sin(self._yaw_rad)
        self._north_m = pose.y_m + self.AXLE_AHEAD_M * math.cos(self._yaw_rad)
        self._east_m = pose.x_m + self.AXLE_AHEAD_M * math.sin(self._yaw_rad)
        self._left_mps = 0.0
        self._right_mps = 0.0
        self._force_frd: Vector3 = (0.0, 0.0, -GAZEBO_GRAVITY_MPS2)
        self.lift_m = 0.0

    @property
    def yaw_rate_radps(self) -> float:
        """Right turn positive."""
        return (self._left_mps - self._right_mps) / self.TRACK_M

    @property
    def position_ned_m(self) -> Vector3:
        """Position of the IMU's link."""
        north = self._north_m - self.AXLE_AHEAD_M * self._cos_yaw
        east = self._east_m - self.AXLE_AHEAD_M * self._sin_yaw
        return north, east, -self.HEIGHT_M - self.lift_m

    @property
    def velocity_ned_mps(self) -> Vector3:
        """Velocity of the IMU's link."""
        forward = 0.5 * (self._left_mps + self._right_mps)
        right = -self.AXLE_AHEAD_M * self.yaw_rate_radps
        cos_yaw, sin_yaw = self._cos_yaw, self._sin_yaw
        return forward * cos_yaw - right * sin_yaw, forward * sin_yaw + right * cos_yaw, 0.0

    def quaternion(self, yaw_offset_rad: float = 0.0) -> Quaternion:
        """Attitude, body FRD to NED."""
        half = 0.5 * (self._yaw_rad + yaw_offset_rad)
        return math.cos(half), 0.0, 0.0, math.sin(half)

    def imu(self) -> ImuRecord:
        """Rate and specific force of the last step."""
        return ImuRecord((0.0, 0.0, self.yaw_rate_radps), self._force_frd)

    def step(self, left_radps: float, right_radps: float, dt_s: float) -> None:
        """Turn the wheels at these rates for ``dt_s``."""
        speed_before = 0.5 * (self._left_mps + self._right_mps)
        rate_before = self.yaw_rate_radps
        self._left_mps = self._slew(self._left_mps, left_radps * self.WHEEL_RADIUS_M, dt_s)
        self._right_mps = self._slew(self._right_mps, right_radps * self.WHEEL_RADIUS_M, dt_s)
        speed = 0.5 * (self._left_mps + self._right_mps)
        rate = self.yaw_rate_radps
        half_turn = 0.5 * rate * dt_s
        chord = speed * dt_s * (1.0 - half_turn * half_turn / 6.0)
        self._north_m += chord * math.cos(self._yaw_rad + half_turn)
        self._east_m += chord * math.sin(self._yaw_rad + half_turn)
        self._yaw_rad = math.remainder(self._yaw_rad + 2.0 * half_turn, 2.0 * math.pi)
        self._cos_yaw, self._sin_yaw = math.cos(self._yaw_rad), math.sin(self._yaw_rad)
        forward = (speed - speed_before) / dt_s + rate * rate * self.AXLE_AHEAD_M
        right = speed * rate - self.AXLE_AHEAD_M * (rate - rate_before) / dt_s
        self._force_frd = (forward, right, -GAZEBO_GRAVITY_MPS2)

    def _slew(self, now_mps: float, wanted_mps: float, dt_s: float) -> float:
        limit = self.SLEW_MPS2 * dt_s
        return now_mps + min(max(wanted_mps - now_mps, -limit), limit)


def level_truth(vehicle_id: int = 1, time_us: int = 0) -> VehicleTruth:
    """Truth of a rover that stands level at the origin, facing north."""
    return VehicleTruth(
        timestamp_us=time_us,
        vehicle_id=vehicle_id,
        north_m=0.0,
        east_m=0.0,
        down_m=0.0,
        quat_wxyz=(1.0, 0.0, 0.0, 0.0),
    )
