"""Elementary functions whose bits are the same on every machine.

``math.sin`` and its relatives differ in the last bit between C libraries and even between CPUs
under one library. These use only operations that IEEE 754 rounds one way (``+ - * /``, ``sqrt``,
``floor``, comparison and selection), so whatever is computed from them can be hashed.

Every function takes the operations first: those for floats or those for NumPy arrays
(``simulator/ops.py``). Both give the same bits, to about 1e-15 relative to the true value.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any, Protocol

# A float, or an array that is worked on element by element.
Column = Any


class Arithmetic(Protocol):
    """What these functions need beside ``+ - * /`` and comparisons."""

    def where(self, condition: Any, if_true: Column, if_false: Column) -> Column:
        """Select by a condition."""

    def absolute(self, value: Column) -> Column:
        """Drop the sign."""

    def sqrt(self, value: Column) -> Column:
        """Return the square root."""

    def floor(self, value: Column) -> Column:
        """Return the whole number at or below, as a float."""


class _Floats:
    """The operations on Python floats, for callers that never see an array."""

    absolute = staticmethod(abs)
    sqrt = staticmethod(math.sqrt)

    @staticmethod
    def where(condition: Any, if_true: Column, if_false: Column) -> Column:
        return if_true if condition else if_false

    @staticmethod
    def floor(value: Column) -> Column:
        return float(math.floor(value))


FLOATS: Arithmetic = _Floats()

PI = 3.141592653589793
TWO_PI = 2.0 * PI
HALF_PI = 0.5 * PI
QUARTER_PI = 0.25 * PI
DEG_PER_RAD = 180.0 / PI
RAD_PER_DEG = PI / 180.0

# pi/2 in three parts of 33 bits, so that k * part is exact for |k| < 2**20.
_HALF_PI_1 = float.fromhex("0x1.921fb544p+0")
_HALF_PI_2 = float.fromhex("0x1.0b4611a6p-34")
_HALF_PI_3 = float.fromhex("0x1.3198a2e037073p-69")
_TWO_OVER_PI = 2.0 / PI

# ln 2 in two parts; the first has 32 bits, so k * part is exact.
_LN2_1 = float.fromhex("0x1.62e42feep-1")
_LN2_2 = float.fromhex("0x1.a39ef35793c76p-33")
_ONE_OVER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_EXP_LOW, _EXP_HIGH = -708.0, 709.0

_TAN_PI_8 = 0.41421356237309503

# Taylor coefficients. Factorials up to 18! are exact as floats, so each is rounded once.
_S3, _S5, _S7, _S9, _S11, _S13, _S15 = (
    (-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 8)
)
_C2, _C4, _C6, _C8, _C10, _C12, _C14, _C16 = (
    (-1.0) ** k / math.factorial(2 * k) for k in range(1, 9)
)
_EXP = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
_ATAN_FIRST, *_ATAN_REST = ((-1.0) ** k / (2 * k + 1) for k in range(11, -1, -1))


def sincos_small(angle_rad: Column) -> tuple[Column, Column]:
    """Return (sin, cos) of an angle within +-pi/4, by series of fixed length.

    Needs no operations argument: it is plain arithmetic on floats or arrays. Beyond pi/4 the
    error grows; use ``sincos`` there.
    """
    q = angle_rad * angle_rad
    sine = angle_rad + angle_rad * q * (
        _S3 + q * (_S5 + q * (_S7 + q * (_S9 + q * (_S11 + q * (_S13 + q * _S15)))))
    )
    cosine = 1.0 + q * (
        _C2 + q * (_C4 + q * (_C6 + q * (_C8 + q * (_C10 + q * (_C12 + q * (_C14 + q * _C16))))))
    )
    return sine, cosine


def sincos(ops: Arithmetic, angle_rad: Column) -> tuple[Column, Column]:
    """Return (sin, cos) of any angle up to about a million radians."""
    if isinstance(angle_rad, float):
        return _sincos_of_one(angle_rad)
    turns = ops.floor(angle_rad * _TWO_OVER_PI + 0.5)
    rest = ((angle_rad - turns * _HALF_PI_1) - turns * _HALF_PI_2) - turns * _HALF_PI_3
    s, c = sincos_small(rest)
    quadrant = turns - 4.0 * ops.floor(turns * 0.25)
    odd = (quadrant == 1.0) | (quadrant == 3.0)
    sine = ops.where(odd, c, s)
    cosine = ops.where(odd, s, c)
    sine = ops.where(quadrant >= 2.0, -sine, sine)
    cosine = ops.where((quadrant == 1.0) | (quadrant == 2.0), -cosine, cosine)
    return sine, cosine


def _sincos_of_one(angle_rad: float) -> tuple[float, float]:
    """The same without a call per selection, in half the time."""
    turns = math.floor(angle_rad * _TWO_OVER_PI + 0.5)
    rest = ((angle_rad - turns * _HALF_PI_1) - turns * _HALF_PI_2) - turns * _HALF_PI_3
    s, c = sincos_small(rest)
    quadrant = turns % 4
    if quadrant == 0:
        return s, c
    if quadrant == 1:
        return c, -s
    return (-s, -c) if quadrant == 2 else (-c, s)


def atan2(ops: Arithmetic, y: Column, x: Column) -> Column:
    """Return the angle of the point (x, y) in -pi..pi; 0 for the origin.

    A zero ``y`` counts as positive whatever its sign, so the result is never -pi.
    """
    if isinstance(y, float) and isinstance(x, float):
        return _atan2_of_one(y, x)
    ax, ay = ops.absolute(x), ops.absolute(y)
    steep = ay > ax
    large = ops.where(steep, ay, ax)
    ratio = ops.where(steep, ax, ay) / ops.where(large == 0.0, 1.0, large)
    # atan(t) = pi/4 + atan((t-1)/(t+1)), then half the angle: the series is short at 0.2.
    upper = ratio > _TAN_PI_8
    t = ops.where(upper, (ratio - 1.0) / (ratio + 1.0), ratio)
    t = t / (1.0 + ops.sqrt(1.0 + t * t))
    q = t * t
    series = _ATAN_FIRST
    for coefficient in _ATAN_REST:
        series = series * q + coefficient
    angle = 2.0 * (t * series)
    angle = ops.where(upper, QUARTER_PI + angle, angle)
    angle = ops.where(steep, HALF_PI - angle, angle)
    angle = ops.where(x < 0.0, PI - angle, angle)
    return ops.where(y < 0.0, -angle, angle)


def _atan2_of_one(y: float, x: float) -> float:
    """The same without a call per selection, in two thirds of the time."""
    ax, ay = abs(x), abs(y)
    steep = ay > ax
    small, large = (ax, ay) if steep else (ay, ax)
    t = small / large if large else 0.0
    upper = t > _TAN_PI_8
    if upper:
        t = (t - 1.0) / (t + 1.0)
    t = t / (1.0 + math.sqrt(1.0 + t * t))
    q = t * t
    series = _ATAN_FIRST
    for coefficient in _ATAN_REST:
        series = series * q + coefficient
    angle = 2.0 * (t * series)
    if upper:
        angle = QUARTER_PI + angle
    if steep:
        angle = HALF_PI - angle
    if x < 0.0:
        angle = PI - angle
    return -angle if y < 0.0 else angle


def asin(ops: Arithmetic, value: Column) -> Column:
    """Return the angle in -pi/2..pi/2 whose sine is ``value`` (-1..1, clamped)."""
    value = ops.where(value > 1.0, 1.0, ops.where(value < -1.0, -1.0, value))
    return atan2(ops, value, ops.sqrt((1.0 - value) * (1.0 + value)))


def exp(ops: Arithmetic, exponent: Column) -> Column:
    """Return e to the power ``exponent``; 0 below -708, the value at 709 above it."""
    x = ops.where(exponent > _EXP_HIGH, _EXP_HIGH, exponent)
    x = ops.where(x < _EXP_LOW, _EXP_LOW, x)
    k = ops.floor(x * _ONE_OVER_LN2 + 0.5)
    rest = (x - k * _LN2_1) - k * _LN2_2
    series = _EXP[0]
    for coefficient in _EXP[1:]:
        series = series * rest + coefficient
    return ops.where(exponent < _EXP_LOW, 0.0, _times_power_of_two(ops, series, k))


def _times_power_of_two(ops: Arithmetic, value: Column, power: Column) -> Column:
    """Return ``value * 2**power`` for a whole ``power`` in -1023..1023, by its bits."""
    negative = power < 0.0
    left = ops.absolute(power)
    for bit in range(9, -1, -1):
        step = 1 << bit
        weight = float(step)
        taken = left >= weight
        factor = ops.where(negative, math.ldexp(1.0, -step), math.ldexp(1.0, step))
        value = value * ops.where(taken, factor, 1.0)
        left = left - ops.where(taken, weight, 0.0)
    return value


def decimal_power(base: float, exponent: float) -> float:
    """Return ``base ** exponent`` once, correctly rounded; far too slow for a step."""
    with localcontext() as context:
        context.prec = 40
        return float(Decimal(base) ** Decimal(exponent))
