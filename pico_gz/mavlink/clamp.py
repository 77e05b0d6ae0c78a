"""Fitting numbers into wire fields: out of range is cut, not-a-number has a stand-in."""

from __future__ import annotations

import math

U8_MAX = 0xFF
U16_MAX = 0xFFFF
U32_MAX = 0xFFFF_FFFF


def whole(value: float, low: int, high: int, *, nan: int = 0) -> int:
    """Round to the nearest integer inside ``low..high``; NaN gives ``nan``."""
    if value != value:
        return nan
    if value <= low:
        return low
    if value >= high:
        return high
    return math.floor(value + 0.5)


def i16(value: float) -> int:
    """Fit into a signed 16-bit field."""
    return whole(value, -32768, 32767)


def u16(value: float, *, nan: int = 0) -> int:
    """Fit into an unsigned 16-bit field."""
    return whole(value, 0, U16_MAX, nan=nan)


def i32(value: float) -> int:
    """Fit into a signed 32-bit field."""
    return whole(value, -(2**31), 2**31 - 1)


def integer_in(value: float, low: int, high: int) -> int | None:
    """Return a received number as an integer, or None unless it is one inside the range."""
    if not low <= value <= high or value != math.floor(value):
        return None
    return int(value)
