"""Where magnetic north lies, by the coarse table that an autopilot carries on board."""

from __future__ import annotations

from math import floor

from pico_gz.autopilot.angles import RAD_PER_DEG
from pico_gz.autopilot.declination_table import DECLINATION_DEG

_GRID_DEG = 10.0
_LAST_ROW = len(DECLINATION_DEG) - 1
_COLUMNS = len(DECLINATION_DEG[0])


def declination_rad(lat_deg: float, lon_deg: float) -> float:
    """Return the magnetic declination at a place, east positive; within 2 deg below 60 deg."""
    row = (lat_deg + 90.0) / _GRID_DEG
    column = (lon_deg + 180.0) / _GRID_DEG
    row_index = min(floor(row), _LAST_ROW - 1)
    south = _along_row(row_index, column)
    north = _along_row(row_index + 1, column)
    return RAD_PER_DEG * _between(south, north, row - row_index)


def _along_row(row: int, column: float) -> float:
    left = floor(column)
    values = DECLINATION_DEG[row]
    return _between(values[left % _COLUMNS], values[(left + 1) % _COLUMNS], column - left)


def _between(first_deg: float, second_deg: float, share: float) -> float:
    # Near the poles neighbours may lie on both sides of 180 degrees.
    step = second_deg - first_deg
    step -= 360.0 * floor(step / 360.0 + 0.5)
    return first_deg + share * step
