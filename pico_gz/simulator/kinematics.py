"""Position, heading and attitude; the motion sensors see; truth.

Heading is a (cos, sin) pair, so no step calls a trigonometric function; positions are summed
with the rounding error carried along (Kahan), so an hour of small steps loses nothing.
"""

from __future__ import annotations

import math
from math import sqrt
from typing import NamedTuple

from pico_gz.core.messages import Quaternion, Vector3, VehicleTruth
from pico_gz.core.portable_math import RAD_PER_DEG, sincos
from pico_gz.core.units import US_PER_S

# Taylor coefficients of sin(h)/h in powers of h^2.
_SINC = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(10))
_NEGLIGIBLE = 1e-19
_LARGEST_SERIES_RAD = 0.8
_SLACK = 1.000001

POSE_FIELDS = (
    "north_m", "north_carry_m", "east_m", "east_carry_m", "cos_yaw", "sin_yaw",
    "speed_mps", "yaw_radps", "wheel_left_rad", "wheel_right_rad",
)  # fmt: skip


class KinematicState:
    """The state of one vehicle; NED, yaw clockwise from north.

    ``speed_mps`` is along the body's x axis and ``yaw_radps`` about its z axis, both at the end
    of the last step; ``memory`` belongs to the drive model.
    """

    __slots__ = (*POSE_FIELDS, "memory")

    def __init__(self, north_m: float, east_m: float, yaw_deg: float) -> None:
        self.north_m = north_m
        self.north_carry_m = 0.0
        self.east_m = east_m
        self.east_carry_m = 0.0
        self.sin_yaw, self.cos_yaw = sincos(yaw_deg * RAD_PER_DEG)
        self.speed_mps = 0.0
        self.yaw_radps = 0.0
        self.wheel_left_rad = 0.0
        self.wheel_right_rad = 0.0
        self.memory: tuple[float, ...] = ()

    def move(self, north_m: float, east_m: float) -> None:
        """Go some way, and keep what rounding takes away for the next one (Kahan)."""
        before, way = self.north_m, north_m - self.north_carry_m
        self.north_m = after = before + way
        self.north_carry_m = (after - before) - way
        before, way = self.east_m, east_m - self.east_carry_m
        self.east_m = after = before + way
        self.east_carry_m = (after - before) - way


class Arc:
    """The arc of constant speed and yaw rate over one step length.

    Args:
        dt_us: length of the step.
        top_yaw_radps: what the motors can do; it alone decides how long the series are.
    """

    __slots__ = ("_highest", "_lower", "_most_rad", "dt_s", "half_dt_s")

    def __init__(self, dt_us: int, top_yaw_radps: float) -> None:
        self.dt_s = dt_us / US_PER_S
        self.half_dt_s = 0.5 * self.dt_s
        largest = top_yaw_radps * self.half_dt_s
        has_series = largest <= _LARGEST_SERIES_RAD
        terms = _terms_needed(largest) if has_series else 1
        # A rover that is blown beyond its top speed may turn faster than that.
        self._most_rad = largest * _SLACK if has_series else -1.0
        self._highest = _SINC[terms - 1]
        self._lower = _SINC[: terms - 1][::-1]

    def turn(
        self, cos_yaw: float, sin_yaw: float, yaw_mean_radps: float
    ) -> tuple[float, float, float, float, float]:
        """Follow a heading through the step.

        Returns:
            sinc of half the angle turned, (cos, sin) halfway, (cos, sin) at the end. The chord
            of the arc points halfway and is shorter than the arc by that sinc.
        """
        half = yaw_mean_radps * self.half_dt_s
        if -self._most_rad <= half <= self._most_rad:
            square = half * half
            sinc = self._highest
            for coefficient in self._lower:
                sinc = sinc * square + coefficient
            sine = half * sinc
            cosine = sqrt(1.0 - sine * sine)
        else:
            sine, cosine = sincos(half)
            sinc = 1.0 if abs(half) < 1e-8 else sine / half
        cos_mid = cos_yaw * cosine - sin_yaw * sine
        sin_mid = sin_yaw * cosine + cos_yaw * sine
        cos_end = cos_mid * cosine - sin_mid * sine
        sin_end = sin_mid * cosine + cos_mid * sine
        # Pulled back to length 1; one Newton step, no root needed.
        scale = 1.5 - 0.5 * (cos_end * cos_end + sin_end * sin_end)
        return sinc, cos_mid, sin_mid, cos_end * scale, sin_end * scale


def _terms_needed(largest_rad: float) -> int:
    """How many terms of a series matter for angles up to ``largest_rad``."""
    square = largest_rad * largest_rad
    power = square
    for terms in range(1, len(_SINC)):
        if power * abs(_SINC[terms]) <= _NEGLIGIBLE:
            return terms
        power *= square
    return len(_SINC)


MOTION_FIELDS = (
    "north_m", "east_m", "down_m",
    "vel_n_mps", "vel_e_mps", "vel_d_mps",
    "accel_n_mps2", "accel_e_mps2", "accel_d_mps2",
    "r00", "r01", "r02", "r10", "r11", "r12", "r20", "r21", "r22",
    "rate_x_radps", "rate_y_radps", "rate_z_radps",
    "ang_accel_x_radps2", "ang_accel_y_radps2", "ang_accel_z_radps2",
    "wheel_left_rad", "wheel_right_rad",
    "load_left", "load_right", "throttle_abs", "speed_mps",
    "wind_n_mps", "wind_e_mps",
)  # fmt: skip


class Attitude(NamedTuple):
    """Rows of the rotation; its columns are the body's axes seen in NED."""

    r00: float
    r01: float
    r02: float
    r10: float
    r11: float
    r12: float
    r20: float
    r21: float
    r22: float

    def turn(self, x: float, y: float, z: float) -> Vector3:
        """Turn a vector from the body into NED."""
        return (
            self.r00 * x + self.r01 * y + self.r02 * z,
            self.r10 * x + self.r11 * y + self.r12 * z,
            self.r20 * x + self.r21 * y + self.r22 * z,
        )


class Motion:
    """Truth of one vehicle. NED world, FRD body; ``rIJ`` is the rotation NED-from-FRD, row I.

    ``wheel_*_rad`` are wheel angles since the start (before slip), ``load_*`` the motor loads
    0..1 and ``throttle_abs`` the mean |command| 0..1, for battery, vibration and compass.
    """

    __slots__ = MOTION_FIELDS

    def __init__(self) -> None:
        self.north_m = self.east_m = self.down_m = 0.0
        self.vel_n_mps = self.vel_e_mps = self.vel_d_mps = 0.0
        self.accel_n_mps2 = self.accel_e_mps2 = self.accel_d_mps2 = 0.0
        self.r00 = self.r11 = self.r22 = 1.0
        self.r01 = self.r02 = self.r10 = self.r12 = self.r20 = self.r21 = 0.0
        self.rate_x_radps = self.rate_y_radps = self.rate_z_radps = 0.0
        self.ang_accel_x_radps2 = self.ang_accel_y_radps2 = self.ang_accel_z_radps2 = 0.0
        self.wheel_left_rad = self.wheel_right_rad = 0.0
        self.load_left = self.load_right = self.throttle_abs = self.speed_mps = 0.0
        self.wind_n_mps = self.wind_e_mps = 0.0

    @property
    def attitude(self) -> Attitude:
        """All of the rotation."""
        return Attitude(
            self.r00, self.r01, self.r02, self.r10, self.r11, self.r12,
            self.r20, self.r21, self.r22,
        )  # fmt: skip

    @attitude.setter
    def attitude(self, attitude: Attitude) -> None:
        (
            self.r00, self.r01, self.r02, self.r10, self.r11, self.r12,
            self.r20, self.r21, self.r22,
        ) = attitude  # fmt: skip


def level_attitude(cos_yaw: float, sin_yaw: float) -> Attitude:
    """On level ground only the heading counts."""
    return Attitude(cos_yaw, -sin_yaw, 0.0, sin_yaw, cos_yaw, 0.0, 0.0, 0.0, 1.0)


def surface_attitude(cos_yaw: float, sin_yaw: float, to_north: float, to_east: float) -> Attitude:
    """Standing on ground that rises by ``to_north`` and ``to_east`` per metre."""
    rise = to_north * cos_yaw + to_east * sin_yaw
    x_scale = 1.0 / sqrt(1.0 + rise * rise)
    x0, x1, x2 = cos_yaw * x_scale, sin_yaw * x_scale, -rise * x_scale
    z_scale = 1.0 / sqrt(1.0 + (to_north * to_north + to_east * to_east))
    z0, z1, z2 = to_north * z_scale, to_east * z_scale, z_scale
    # y = z cross x
    y0, y1, y2 = z1 * x2 - z2 * x1, z2 * x0 - z0 * x2, z0 * x1 - z1 * x0
    return Attitude(x0, y0, z0, x1, y1, z1, x2, y2, z2)


def body_rates(before: Attitude, now: Attitude, dt_s: float) -> Vector3:
    """Mean angular rate in the body frame that leads from one attitude to the other.

    The rotation vector comes from the antisymmetric part of the relative rotation (its length
    is the sine of the angle) by the series of the arc sine, good for angles up to about 0.5.
    """
    a, b = before, now
    # relative = before^T now; only its off-diagonal elements are needed.
    r21 = a.r02 * b.r01 + a.r12 * b.r11 + a.r22 * b.r21
    r12 = a.r01 * b.r02 + a.r11 * b.r12 + a.r21 * b.r22
    r02 = a.r00 * b.r02 + a.r10 * b.r12 + a.r20 * b.r22
    r20 = a.r02 * b.r00 + a.r12 * b.r10 + a.r22 * b.r20
    r10 = a.r01 * b.r00 + a.r11 * b.r10 + a.r21 * b.r20
    r01 = a.r00 * b.r01 + a.r10 * b.r11 + a.r20 * b.r21
    x, y, z = 0.5 * (r21 - r12), 0.5 * (r02 - r20), 0.5 * (r10 - r01)
    s = x * x + y * y + z * z
    scale = 1.0 + s * (
        1.0 / 6.0
        + s * (3.0 / 40.0 + s * (15.0 / 336.0 + s * (105.0 / 3456.0 + s * 945.0 / 42240.0)))
    )
    scale = scale / dt_s
    return x * scale, y * scale, z * scale


def quaternion(r: Attitude | Motion) -> Quaternion:
    """(w, x, y, z) of an attitude, w >= 0; roots and divisions only.

    The largest of the four comes from the diagonal, the others from it, so that nothing is
    divided by a small number.
    """
    if r.r00 + r.r11 + r.r22 > 0.0:
        w = 0.5 * sqrt(1.0 + (r.r00 + r.r11 + r.r22))
        scale = 0.25 / w
        return w, (r.r21 - r.r12) * scale, (r.r02 - r.r20) * scale, (r.r10 - r.r01) * scale
    if r.r00 >= r.r11 and r.r00 >= r.r22:
        x = 0.5 * sqrt(1.0 + r.r00 - r.r11 - r.r22)
        scale = 0.25 / x
        y, z = (r.r01 + r.r10) * scale, (r.r02 + r.r20) * scale
        w = (r.r21 - r.r12) * scale
    elif r.r11 >= r.r22:
        y = 0.5 * sqrt(1.0 + r.r11 - r.r00 - r.r22)
        scale = 0.25 / y
        x, z = (r.r01 + r.r10) * scale, (r.r12 + r.r21) * scale
        w = (r.r02 - r.r20) * scale
    else:
        z = 0.5 * sqrt(1.0 + r.r22 - r.r00 - r.r11)
        scale = 0.25 / z
        x, y = (r.r02 + r.r20) * scale, (r.r12 + r.r21) * scale
        w = (r.r10 - r.r01) * scale
    sign = -1.0 if w < 0.0 else 1.0
    return w * sign, x * sign, y * sign, z * sign


def truth_of(vehicle_id: int, time_us: int, m: Motion) -> VehicleTruth:
    """The message about a motion."""
    return VehicleTruth(
        time_us,
        vehicle_id,
        m.north_m,
        m.east_m,
        m.down_m,
        quaternion(m),
        (m.vel_n_mps, m.vel_e_mps, m.vel_d_mps),
        (m.rate_x_radps, m.rate_y_radps, m.rate_z_radps),
        (m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2),
        (m.ang_accel_x_radps2, m.ang_accel_y_radps2, m.ang_accel_z_radps2),
        (m.wind_n_mps, m.wind_e_mps, 0.0),
    )
