"""Position, heading and attitude; the motion sensors see; truth.

Heading is a (cos, sin) pair, so no step calls a trigonometric function; positions are summed
with the rounding error carried along (Kahan), so an hour of small steps loses nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from pico_gz.core.messages import VehicleTruth
from pico_gz.core.portable_math import FLOATS, RAD_PER_DEG, sincos
from pico_gz.core.units import US_PER_S
from pico_gz.simulator.drive_model import Rows
from pico_gz.simulator.ops import ARRAY, SCALAR, Column, Ops

# Taylor coefficients of sin(h)/h in powers of h^2.
_SINC = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(10))
_NEGLIGIBLE = 1e-19
_LARGEST_SERIES_RAD = 0.8

POSE_FIELDS = (
    "north_m", "north_carry_m", "east_m", "east_carry_m", "cos_yaw", "sin_yaw",
    "speed_mps", "yaw_radps", "wheel_left_rad", "wheel_right_rad",
)  # fmt: skip


class KinematicState:
    """The state of one vehicle (floats) or of a group (arrays); NED, yaw clockwise from north.

    ``speed_mps`` is along the body's x axis and ``yaw_radps`` about its z axis, both at the end
    of the last step; ``memory`` belongs to the drive model.
    """

    __slots__ = (*POSE_FIELDS, "memory")

    north_m: Column
    north_carry_m: Column
    east_m: Column
    east_carry_m: Column
    cos_yaw: Column
    sin_yaw: Column
    speed_mps: Column
    yaw_radps: Column
    wheel_left_rad: Column
    wheel_right_rad: Column
    memory: Rows

    def move(self, north_m: Column, east_m: Column) -> None:
        """Go some way, and keep what rounding takes away for the next one (Kahan)."""
        before, way = self.north_m, north_m - self.north_carry_m
        self.north_m = after = before + way
        self.north_carry_m = (after - before) - way
        before, way = self.east_m, east_m - self.east_carry_m
        self.east_m = after = before + way
        self.east_carry_m = (after - before) - way


def start_values(north_m: float, east_m: float, yaw_deg: float) -> dict[str, float]:
    """One vehicle's pose fields, standing still."""
    values = dict.fromkeys(POSE_FIELDS, 0.0)
    sine, cosine = sincos(FLOATS, yaw_deg * RAD_PER_DEG)
    values.update(north_m=north_m, east_m=east_m, cos_yaw=cosine, sin_yaw=sine)
    return values


class Arc:
    """The arc of constant speed and yaw rate over one step length.

    Args:
        dt_us: length of the step.
        top_yaw_radps: a bound of the yaw rate; it alone decides how long the series are, so
            that a vehicle's bits do not depend on its neighbours.
    """

    def __init__(self, dt_us: int, top_yaw_radps: float) -> None:
        self.dt_s = dt_us / US_PER_S
        self.half_dt_s = 0.5 * self.dt_s
        largest = top_yaw_radps * self.half_dt_s
        self._series = largest <= _LARGEST_SERIES_RAD
        terms = _terms_needed(largest) if self._series else 1
        self._highest, *lower = _SINC[terms - 1 :: -1]
        self._lower = tuple(lower)

    def turn(
        self, ops: Ops, cos_yaw: Column, sin_yaw: Column, yaw_mean_radps: Column
    ) -> tuple[Column, Column, Column, Column, Column]:
        """Follow a heading through the step.

        Returns:
            sinc of half the angle turned, (cos, sin) halfway, (cos, sin) at the end. The chord
            of the arc points halfway and is shorter than the arc by that sinc.
        """
        half = yaw_mean_radps * self.half_dt_s
        if self._series:
            square = half * half
            sinc = self._highest
            for coefficient in self._lower:
                sinc = sinc * square + coefficient
            sine = half * sinc
            cosine = ops.sqrt(1.0 - sine * sine)
        else:
            sine, cosine = sincos(ops, half)
            still = ops.absolute(half) < 1e-8
            sinc = ops.where(still, 1.0, sine / ops.where(still, 1.0, half))
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


class Motion:
    """Truth in columns. NED world, FRD body; ``rIJ`` is the rotation NED-from-FRD, row I.

    ``wheel_*_rad`` are wheel angles since the start (before slip), ``load_*`` the motor loads
    0..1 and ``throttle_abs`` the mean |command| 0..1, for battery, vibration and compass.
    """

    __slots__ = MOTION_FIELDS

    north_m: Column
    east_m: Column
    down_m: Column
    vel_n_mps: Column
    vel_e_mps: Column
    vel_d_mps: Column
    accel_n_mps2: Column
    accel_e_mps2: Column
    accel_d_mps2: Column
    r00: Column
    r01: Column
    r02: Column
    r10: Column
    r11: Column
    r12: Column
    r20: Column
    r21: Column
    r22: Column
    rate_x_radps: Column
    rate_y_radps: Column
    rate_z_radps: Column
    ang_accel_x_radps2: Column
    ang_accel_y_radps2: Column
    ang_accel_z_radps2: Column
    wheel_left_rad: Column
    wheel_right_rad: Column
    load_left: Column
    load_right: Column
    throttle_abs: Column
    speed_mps: Column
    wind_n_mps: Column
    wind_e_mps: Column

    def __init__(self) -> None:
        for name in MOTION_FIELDS:
            setattr(self, name, 0.0)
        self.r00 = self.r11 = self.r22 = 1.0


Vector = tuple[Column, Column, Column]
Quaternions = tuple[Column, Column, Column, Column]
Formula = Callable[[Ops, "Attitude | Motion"], Quaternions]


class Attitude(NamedTuple):
    """Rows of the rotation; its columns are the body's axes seen in NED."""

    r00: Column
    r01: Column
    r02: Column
    r10: Column
    r11: Column
    r12: Column
    r20: Column
    r21: Column
    r22: Column

    @classmethod
    def of(cls, motion: Motion) -> Attitude:
        """The attitude that a motion holds."""
        m = motion
        return cls(m.r00, m.r01, m.r02, m.r10, m.r11, m.r12, m.r20, m.r21, m.r22)

    def put(self, motion: Motion) -> None:
        """Write it into a motion."""
        for name, value in zip(self._fields, self, strict=True):
            setattr(motion, name, value)

    def turn(self, x: Column, y: Column, z: Column) -> Vector:
        """Turn a vector from the body into NED."""
        return (
            self.r00 * x + self.r01 * y + self.r02 * z,
            self.r10 * x + self.r11 * y + self.r12 * z,
            self.r20 * x + self.r21 * y + self.r22 * z,
        )


def level_attitude(cos_yaw: Column, sin_yaw: Column, zero: Column, one: Column) -> Attitude:
    """On level ground only the heading counts."""
    return Attitude(cos_yaw, -sin_yaw, zero, sin_yaw, cos_yaw, zero, zero, zero, one)


def surface_attitude(
    ops: Ops, cos_yaw: Column, sin_yaw: Column, to_north: Column, to_east: Column
) -> Attitude:
    """Standing on ground that rises by ``to_north`` and ``to_east`` per metre."""
    rise = to_north * cos_yaw + to_east * sin_yaw
    x_scale = 1.0 / ops.sqrt(1.0 + rise * rise)
    x0, x1, x2 = cos_yaw * x_scale, sin_yaw * x_scale, -rise * x_scale
    z_scale = 1.0 / ops.sqrt(1.0 + (to_north * to_north + to_east * to_east))
    z0, z1, z2 = to_north * z_scale, to_east * z_scale, z_scale
    # y = z cross x
    y0, y1, y2 = z1 * x2 - z2 * x1, z2 * x0 - z0 * x2, z0 * x1 - z1 * x0
    return Attitude(x0, y0, z0, x1, y1, z1, x2, y2, z2)


def body_rates(ops: Ops, before: Attitude, now: Attitude, dt_s: float) -> Vector:
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


def quaternions(ops: Ops, attitude: Attitude | Motion) -> Quaternions:
    """(w, x, y, z) of attitudes, w >= 0; roots and divisions only.

    The largest of the four comes from the diagonal, the others from it, so that nothing is
    divided by a small number.
    """
    if ops is SCALAR:
        return _formula(attitude)(ops, attitude)
    rows = attitude if isinstance(attitude, Attitude) else Attitude.of(attitude)
    largest = _largest(ops, rows)
    found = np.empty((4, len(largest)))
    for number, formula in enumerate(_BY_LARGEST):
        chosen = largest == number
        if ops.any(chosen):
            found[:, chosen] = formula(ops, Attitude(*(column[chosen] for column in rows)))
    w, x, y, z = found
    return w, x, y, z


def _formula(r: Attitude | Motion) -> Formula:
    """Which component of one attitude to begin with."""
    if r.r00 + r.r11 + r.r22 > 0.0:
        return _from_w
    if r.r00 >= r.r11 and r.r00 >= r.r22:
        return _from_x
    return _from_y if r.r11 >= r.r22 else _from_z


def _largest(ops: Ops, r: Attitude) -> Column:
    """Which component to begin with: 0 w, 1 x, 2 y, 3 z."""
    by_diagonal = ops.where(
        (r.r00 >= r.r11) & (r.r00 >= r.r22), 1.0, ops.where(r.r11 >= r.r22, 2.0, 3.0)
    )
    return ops.where(r.r00 + r.r11 + r.r22 > 0.0, 0.0, by_diagonal)


def _from_w(ops: Ops, r: Attitude | Motion) -> Quaternions:
    w = 0.5 * ops.sqrt(1.0 + (r.r00 + r.r11 + r.r22))
    scale = 0.25 / w
    return w, (r.r21 - r.r12) * scale, (r.r02 - r.r20) * scale, (r.r10 - r.r01) * scale


def _from_x(ops: Ops, r: Attitude | Motion) -> Quaternions:
    x = 0.5 * ops.sqrt(1.0 + r.r00 - r.r11 - r.r22)
    scale = 0.25 / x
    return _upright(
        ops, (r.r21 - r.r12) * scale, x, (r.r01 + r.r10) * scale, (r.r02 + r.r20) * scale
    )


def _from_y(ops: Ops, r: Attitude | Motion) -> Quaternions:
    y = 0.5 * ops.sqrt(1.0 + r.r11 - r.r00 - r.r22)
    scale = 0.25 / y
    return _upright(
        ops, (r.r02 - r.r20) * scale, (r.r01 + r.r10) * scale, y, (r.r12 + r.r21) * scale
    )


def _from_z(ops: Ops, r: Attitude | Motion) -> Quaternions:
    z = 0.5 * ops.sqrt(1.0 + r.r22 - r.r00 - r.r11)
    scale = 0.25 / z
    return _upright(
        ops, (r.r10 - r.r01) * scale, (r.r02 + r.r20) * scale, (r.r12 + r.r21) * scale, z
    )


def _upright(ops: Ops, w: Column, x: Column, y: Column, z: Column) -> Quaternions:
    """Of the two quaternions of one attitude, the one with w >= 0."""
    sign = ops.where(w < 0.0, -1.0, 1.0)
    return w * sign, x * sign, y * sign, z * sign


_BY_LARGEST = (_from_w, _from_x, _from_y, _from_z)


# In threes, as the vectors of the message; the wind has no third.
_USED = (
    "north_m", "east_m", "down_m",
    "vel_n_mps", "vel_e_mps", "vel_d_mps",
    "rate_x_radps", "rate_y_radps", "rate_z_radps",
    "accel_n_mps2", "accel_e_mps2", "accel_d_mps2",
    "ang_accel_x_radps2", "ang_accel_y_radps2", "ang_accel_z_radps2",
    "wind_n_mps", "wind_e_mps",
)  # fmt: skip


def truth_of(
    ops: Ops, vehicle_ids: Sequence[int], time_us: int, motion: Motion
) -> list[VehicleTruth]:
    """One message per vehicle of a lane, in its order."""
    if ops is SCALAR:
        return [_truth_of_one(vehicle_ids[0], time_us, motion)]
    return _truth_of_group(vehicle_ids, time_us, motion)


def _truth_of_one(vehicle_id: int, time_us: int, m: Motion) -> VehicleTruth:
    return VehicleTruth(
        time_us,
        vehicle_id,
        m.north_m,
        m.east_m,
        m.down_m,
        quaternions(SCALAR, m),
        (m.vel_n_mps, m.vel_e_mps, m.vel_d_mps),
        (m.rate_x_radps, m.rate_y_radps, m.rate_z_radps),
        (m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2),
        (m.ang_accel_x_radps2, m.ang_accel_y_radps2, m.ang_accel_z_radps2),
        (m.wind_n_mps, m.wind_e_mps, 0.0),
    )


def _truth_of_group(vehicle_ids: Sequence[int], time_us: int, motion: Motion) -> list[VehicleTruth]:
    # Column by column into ``map``: without a Python frame per vehicle it takes a third.
    n, e, d, vn, ve, vd, wx, wy, wz, an, ae, ad, ux, uy, uz, wind_n, wind_e = np.stack(
        [getattr(motion, name) for name in _USED]
    ).tolist()
    turned = np.stack(quaternions(ARRAY, motion)).tolist()
    return list(
        map(
            VehicleTruth,
            repeat(time_us),
            vehicle_ids,
            n,
            e,
            d,
            zip(*turned, strict=True),
            zip(vn, ve, vd, strict=True),
            zip(wx, wy, wz, strict=True),
            zip(an, ae, ad, strict=True),
            zip(ux, uy, uz, strict=True),
            zip(wind_n, wind_e, repeat(0.0), strict=False),
        )
    )
