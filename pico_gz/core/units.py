"""Unit conversions that must be the same everywhere: time and PWM."""

from __future__ import annotations

import math
from typing import Final

US_PER_S: Final = 1_000_000
US_PER_MS: Final = 1_000
GRAVITY_MPS2: Final = 9.80665

PWM_MIN_US: Final = 1000
PWM_NEUTRAL_US: Final = 1500
PWM_MAX_US: Final = 2000
# Outside this window a pulse width is "no output", not a command (faults.md F20).
PWM_VALID_MIN_US: Final = 800
PWM_VALID_MAX_US: Final = 2200


def seconds_from_us(time_us: int) -> float:
    """Convert integer microseconds to float seconds (codecs and displays only)."""
    return time_us / US_PER_S


def us_from_seconds(time_s: float) -> int:
    """Convert float seconds to the nearest whole microsecond."""
    return math.floor(time_s * US_PER_S + 0.5)


def pwm_from_normalized(value: float) -> int:
    """Convert a command in -1..1 to a pulse width [us]; clamps, 0 gives 1500.

    NaN has no direction, so it is neutral.
    """
    if value != value:
        return PWM_NEUTRAL_US
    if value >= 1.0:
        return PWM_MAX_US
    if value <= -1.0:
        return PWM_MIN_US
    return math.floor((value + 1.0) * 500.0 + 1000.5)


def normalized_from_pwm(pwm_us: int) -> float:
    """Convert a pulse width [us] to -1..1.

    0 and everything outside 800..2200 is "no output" and therefore neutral, never full
    reverse; what is left is clamped to 1000..2000.
    """
    if not PWM_VALID_MIN_US <= pwm_us <= PWM_VALID_MAX_US:
        return 0.0
    if pwm_us >= PWM_MAX_US:
        return 1.0
    if pwm_us <= PWM_MIN_US:
        return -1.0
    return (pwm_us - PWM_NEUTRAL_US) / 500.0


def pwm_from_throttle(value: float) -> int:
    """Convert a throttle 0..1 that does not reverse to a pulse width [us]; 0 gives 1000."""
    return pwm_from_normalized(2.0 * value - 1.0) if value > 0.0 else PWM_MIN_US


def throttle_from_pwm(pwm_us: int) -> float:
    """Convert a pulse width [us] to a throttle 0..1; "no output" is closed."""
    if not PWM_VALID_MIN_US <= pwm_us <= PWM_VALID_MAX_US:
        return 0.0
    return 0.5 * (normalized_from_pwm(pwm_us) + 1.0)
