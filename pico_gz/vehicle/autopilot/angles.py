"""Angles with operations that every processor rounds alike.

The autopilot's outputs are part of a run's digest, so nothing here calls the C library's
``sin``, ``cos`` or ``atan2``: their last bits depend on the processor. Only ``+ - * /``,
``sqrt`` and comparisons are used; errors stay below 1e-12 rad.
"""

from __future__ import annotations

from math import floor, sqrt

PI = 3.141592653589793
TWO_PI = 6.283185307179586
HALF_PI = 1.5707963267948966
RAD_PER_DEG = 0.017453292519943295
DEG_PER_RAD = 57.29577951308232

# pi/2 in two parts, so that reducing an angle of a few turns loses no digits.
_HALF_PI_HIGH = 1.5707963267341256
_HALF_PI_LOW = 6.077100506506192e-11
_INV_HALF_PI = 0.6366197723675814
_TAN_22_5 = 0.41421356237309503


def wrap_pi(angle_rad: float) -> float:
    """Bring an angle into -pi..pi."""
    if -PI <= angle_rad <= PI:
        return angle_rad
    return angle_rad - TWO_PI * floor((angle_rad + PI) / TWO_PI)


def wrap_360(angle_deg: float) -> float:
    """Bring an angle in degrees into 0..360."""
    return angle_deg - 360.0 * floor(angle_deg / 360.0)


def sincos(angle_rad: float) -> tuple[float, float]:
    """Return (sin, cos) of an angle."""
    quarter = floor(angle_rad * _INV_HALF_PI + 0.5)
    x = (angle_rad - quarter * _HALF_PI_HIGH) - quarter * _HALF_PI_LOW
    z = x * x
    sine = x * (
        1.0
        + z
        * (
            -1.6666666666666666e-1
            + z
            * (
                8.333333333333333e-3
                + z
                * (
                    -1.984126984126984e-4
                    + z * (2.7557319223985893e-6 + z * (-2.505210838544172e-8 + z * 1.6059e-10))
                )
            )
        )
    )
    cosine = 1.0 + z * (
        -0.5
        + z
        * (
            4.1666666666666664e-2
            + z
            * (
                -1.388888888888889e-3
                + z
                * (
                    2.48015873015873e-5
                    + z * (-2.755731922398589e-7 + z * (2.08767569878681e-9 - z * 1.147e-11))
                )
            )
        )
    )
    turn = quarter % 4
    if turn == 0:
        return sine, cosine
    if turn == 1:
        return cosine, -sine
    if turn == 2:
        return -sine, -cosine
    return -cosine, sine


def atan2(y: float, x: float) -> float:
    """Return the angle of the vector (x, y), -pi..pi; 0 for the null vector."""
    ax = -x if x < 0.0 else x
    ay = -y if y < 0.0 else y
    if ax == 0.0 and ay == 0.0:
        return 0.0
    steep = ay > ax
    t = ax / ay if steep else ay / ax
    base = 0.0
    if t > _TAN_22_5:
        t = (t - 1.0) / (t + 1.0)
        base = 0.7853981633974483
    # Halve the angle once more, so that a short series is enough.
    t = t / (1.0 + sqrt(1.0 + t * t))
    z = t * t
    series = 1.0 + z * (
        -0.3333333333333333
        + z
        * (
            0.2
            + z
            * (
                -0.14285714285714285
                + z
                * (
                    0.1111111111111111
                    + z * (-0.09090909090909091 + z * (0.07692307692307693 - z * 0.0666666))
                )
            )
        )
    )
    angle = base + 2.0 * t * series
    if steep:
        angle = HALF_PI - angle
    if x < 0.0:
        angle = PI - angle
    return -angle if y < 0.0 else angle
