"""From throttle and steering to what each motor gets; pure functions."""

from __future__ import annotations

from math import sqrt


def mix_skid(throttle: float, steering: float, steering_share: float) -> tuple[float, float]:
    """Return (left, right) in -1..1 for a skid-steered rover.

    When both together ask for more than a side has, they give way to each other:
    ``steering_share`` 0.5 scales both alike, so the curve stays the same; 1 keeps the
    steering and 0 keeps the throttle.
    """
    asked = abs(throttle) + abs(steering)
    if asked > 1.0:
        fair = 1.0 / asked
        if steering_share >= 0.5:
            steering *= fair + (1.0 - fair) * (2.0 * steering_share - 1.0)
            throttle = _rest(throttle, steering)
        else:
            throttle *= fair + (1.0 - fair) * (1.0 - 2.0 * steering_share)
            steering = _rest(steering, throttle)
    return throttle + steering, throttle - steering


def shape_throttle(throttle: float, min_percent: float, max_percent: float, expo: float) -> float:
    """Apply thrust curve, dead zone and ceiling to a motor command in -1..1.

    ``expo`` > 0 lifts the middle of the curve; below ``min_percent`` a motor does not turn, so
    any command starts there.
    """
    size = abs(throttle)
    if size < 1e-3:
        return 0.0
    if expo > 0.0:
        size = (expo - 1.0 + sqrt((1.0 - expo) * (1.0 - expo) + 4.0 * expo * size)) / (2.0 * expo)
    elif expo < 0.0:
        size = size * (1.0 + expo) - expo * size * size
    if min_percent:
        low = 0.01 * min_percent
        size = low + (1.0 - low) * size
    top = 0.01 * max_percent
    if size > top:
        size = top
    return -size if throttle < 0.0 else size


def _rest(value: float, taken: float) -> float:
    left = 1.0 - abs(taken)
    if left < 0.0:
        left = 0.0
    return -left if value < 0.0 else left
