"""Elementary functions whose bits are the same on every machine.

``math.sin`` and its relatives differ in the last bit between C libraries and even between CPUs
under one library. These use only operations that IEEE 754 rounds one way (``+ - * /``, ``sqrt``,
``floor``, comparison and selection), so whatever is computed from them can be hashed. They are
good to about 1e-15 relative to the true value.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Final

PI: Final = 3.141592653589793
TWO_PI: Final = 2.0 * PI
HALF_PI: Final = 0.5 * PI
QUARTER_PI: Final = 0.25 * PI
DEG_PER_RAD: Final = 180.0 / PI
RAD_PER_DEG: Final = PI / 180.0

# pi/2 in three parts of 33 bits, so that k * part is exact for |k| < 2**20.
_HALF_PI_1 = float.fromhex("0x1.921fb544p+0")
_HALF_PI_2 = float.fromhex("0x1.0b4611a6p-34")
_HALF_PI_3 = float.fromhex("0x1.3198a2e037073p-69")
_TWO_OVER_PI: Final = 2.0 / PI

# ln 2 in two parts; the first has 32 bits, so k * part is exact.
_LN2_1 = float.fromhex("0x1.62e42feep-1")
_LN2_2 = float.fromhex("0x1.a39ef35793c76p-33")
_ONE_OVER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_EXP_LOW, _EXP_HIGH = -708.0, 709.0

_TAN_PI_8: Final = 0.41421356237309503

# Taylor coefficients. Factorials up to 18! are exact as floats, so each is rounded once.
_S3, _S5, _S7, _S9, _S11, _S13, _S15 = (
    (-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 8)
)
_C2, _C4, _C6, _C8, _C10, _C12, _C14, _C16 = (
    (-1.0) ** k / math.factorial(2 * k) for k in range(1, 9)
)
_EXP_FIRST, *_EXP_REST = (1.0 / math.factorial(k) for k in range(13, -1, -1))
_A3, _A5, _A7, _A9, _A11, _A13, _A15, _A17, _A19, _A21, _A23 = (
    (-1.0) ** k / (2 * k + 1) for k in range(1, 12)
)


def sincos_small(angle_rad: float) -> tuple[float, float]:
    """Return (sin, cos) of an angle within +-pi/4, by series of fixed length.

    Beyond pi/4 the error grows; use ``sincos`` there.
    """
    q = angle_rad * angle_rad
    sine = angle_rad + angle_rad * q * (
        _S3 + q * (_S5 + q * (_S7 + q * (_S9 + q * (_S11 + q * (_S13 + q * _S15)))))
    )
    cosine = 1.0 + q * (
        _C2 + q * (_C4 + q * (_C6 + q * (_C8 + q * (_C10 + q * (_C12 + q * (_C14 + q * _C16))))))
    )
    return sine, cosine


def sincos(angle_rad: float) -> tuple[float, float]:
    """Return (sin, cos) of any angle up to about a million radians."""
    turns = math.floor(angle_rad * _TWO_OVER_PI + 0.5)
    rest = ((angle_rad - turns * _HALF_PI_1) - turns * _HALF_PI_2) - turns * _HALF_PI_3
    s, c = sincos_small(rest)
    quadrant = turns % 4
    if quadrant == 0:
        return s, c
    if quadrant == 1:
        return c, -s
    return (-s, -c) if quadrant == 2 else (-c, s)


def atan2(y: float, x: float) -> float:
    """Return the angle of the point (x, y) in -pi..pi; 0 for the origin.

    A zero ``y`` counts as positive whatever its sign, so the result is never -pi.
    """
    ax, ay = abs(x), abs(y)
    steep = ay > ax
    small, large = (ax, ay) if steep else (ay, ax)
    t = small / large if large else 0.0
    upper = t > _TAN_PI_8
    if upper:
        t = (t - 1.0) / (t + 1.0)
    t = t / (1.0 + math.sqrt(1.0 + t * t))
    q = t * t
    high = _A13 + q * (_A15 + q * (_A17 + q * (_A19 + q * (_A21 + q * _A23))))
    series = 1.0 + q * (_A3 + q * (_A5 + q * (_A7 + q * (_A9 + q * (_A11 + q * high)))))
    angle = 2.0 * (t * series)
    if upper:
        angle = QUARTER_PI + angle
    if steep:
        angle = HALF_PI - angle
    if x < 0.0:
        angle = PI - angle
    return -angle if y < 0.0 else angle


def asin(value: float) -> float:
    """Return the angle in -pi/2..pi/2 whose sine is ``value`` (-1..1, clamped)."""
    value = 1.0 if value > 1.0 else -1.0 if value < -1.0 else value
    return atan2(value, math.sqrt((1.0 - value) * (1.0 + value)))


def exp(exponent: float) -> float:
    """Return e to the power ``exponent``; 0 below -708, the value at 709 above it."""
    if exponent < _EXP_LOW:
        return 0.0
    x = _EXP_HIGH if exponent > _EXP_HIGH else exponent
    k = math.floor(x * _ONE_OVER_LN2 + 0.5)
    rest = (x - k * _LN2_1) - k * _LN2_2
    series = _EXP_FIRST
    for coefficient in _EXP_REST:
        series = series * rest + coefficient
    return math.ldexp(series, k)


def decimal_power(base: float, exponent: float) -> float:
    """Return ``base ** exponent`` once, correctly rounded; far too slow for a step."""
    with localcontext() as context:
        context.prec = 40
        return float(Decimal(base) ** Decimal(exponent))
