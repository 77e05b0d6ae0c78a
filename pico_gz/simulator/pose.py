"""Where a vehicle is and how it is turned: the exact arc, by exact operations.

Heading is a (cos, sin) pair, so no step calls a trigonometric function; positions are summed
with the rounding error carried along (Kahan), so an hour of small steps loses nothing.
"""

from __future__ import annotations

import math

from pico_gz.exact import FLOATS, RAD_PER_DEG, sincos
from pico_gz.simulator.drive.base import Rows
from pico_gz.simulator.ops import Column, Ops
from pico_gz.units import US_PER_S

# Taylor coefficients of sin(h)/h in powers of h^2.
_SINC = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(10))
_NEGLIGIBLE = 1e-19
_LARGEST_SERIES_RAD = 0.8

POSE_FIELDS = (
    "north_m", "north_carry_m", "east_m", "east_carry_m", "cos_yaw", "sin_yaw",
    "speed_mps", "yaw_radps", "wheel_left_rad", "wheel_right_rad",
)  # fmt: skip


class Pose:
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
