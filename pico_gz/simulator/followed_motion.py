"""The motion of a vehicle that another simulator moves."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.simulator.kinematics import Motion

# What is seen of a vehicle: position 3, velocity 3, body rates 3, attitude (w, x, y, z),
# specific force 3, whether there is wind and its two, commands of the left and right wheels -1..1,
# angular acceleration 3, whether wheels are seen and the angles of the left and right ones [rad].
Seen = Sequence[float]
SEEN_NUMBERS = 27
NO_WHEELS_SEEN = (0.0,) * 6  # the last six of a simulator that shows neither


class FollowedMotion:
    """Follows what is seen of a vehicle and keeps its ``Motion``.

    Nothing is seen of motors: their load follows from the command. Where no wheels are seen, their
    angles follow from the motion of the body.
    """

    __slots__ = ("half_track_m", "max_speed", "motion", "seen", "time_us", "wheel_radius_m")

    def __init__(self, spec: RoverSpec) -> None:
        self.half_track_m = 0.5 * spec.effective_track_m
        self.wheel_radius_m = spec.wheel_radius_m
        self.max_speed = spec.max_speed
        self.motion = Motion()
        self.time_us = -1
        self.seen: Seen = (0.0,) * SEEN_NUMBERS

    def update(self, seen: Seen, time_us: int, dt_us: int) -> Motion:
        """Take what is seen at ``time_us``, ``dt_us`` after the last time."""
        self.seen, self.time_us = seen, time_us
        m = self.motion
        m.north_m, m.east_m, m.down_m, m.vel_n_mps, m.vel_e_mps, m.vel_d_mps = seen[:6]
        m.rate_x_radps, m.rate_y_radps, m.rate_z_radps = seen[6:9]
        _rotate(m, *seen[9:13])
        _accelerate(m, *seen[13:16])
        has_wind, north, east, left, right = seen[16:21]
        if has_wind:
            m.wind_n_mps, m.wind_e_mps = north, east
        m.ang_accel_x_radps2, m.ang_accel_y_radps2, m.ang_accel_z_radps2 = seen[21:24]
        self._turn_wheels(dt_us / US_PER_S)
        if seen[24]:
            m.wheel_left_rad, m.wheel_right_rad = seen[25:27]
        self._load_motors(left, right)
        return m

    def _turn_wheels(self, dt_s: float) -> None:
        m = self.motion
        speed = m.r00 * m.vel_n_mps + m.r10 * m.vel_e_mps + m.r20 * m.vel_d_mps
        difference = m.rate_z_radps * self.half_track_m
        m.speed_mps = speed
        m.wheel_left_rad = m.wheel_left_rad + (speed + difference) * dt_s / self.wheel_radius_m
        m.wheel_right_rad = m.wheel_right_rad + (speed - difference) * dt_s / self.wheel_radius_m

    def _load_motors(self, left: float, right: float) -> None:
        m = self.motion
        m.throttle_abs = 0.5 * (abs(left) + abs(right))
        # A motor is loaded by as much as it lags behind its command.
        ratio = m.speed_mps / self.max_speed
        m.load_left = min(abs(left - ratio), 1.0)
        m.load_right = min(abs(right - ratio), 1.0)


def _rotate(m: Motion, w: float, x: float, y: float, z: float) -> None:
    length = sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = w / length, x / length, y / length, z / length
    m.r00 = 1.0 - 2.0 * (y * y + z * z)
    m.r01 = 2.0 * (x * y - w * z)
    m.r02 = 2.0 * (x * z + w * y)
    m.r10 = 2.0 * (x * y + w * z)
    m.r11 = 1.0 - 2.0 * (x * x + z * z)
    m.r12 = 2.0 * (y * z - w * x)
    m.r20 = 2.0 * (x * z - w * y)
    m.r21 = 2.0 * (y * z + w * x)
    m.r22 = 1.0 - 2.0 * (x * x + y * y)


def _accelerate(m: Motion, x: float, y: float, z: float) -> None:
    m.accel_n_mps2 = m.r00 * x + m.r01 * y + m.r02 * z
    m.accel_e_mps2 = m.r10 * x + m.r11 * y + m.r12 * z
    m.accel_d_mps2 = m.r20 * x + m.r21 * y + m.r22 * z + GRAVITY_MPS2
