"""The earth's magnetic field at a place and date, from a shipped table.

The table holds the World Magnetic Model 2025 every five degrees (``scripts/
make_magnetic_table.py``), with its yearly change; between its points a cubic runs through the
nearest four in each direction, which is within 0.05 degrees of the model itself away from the
poles. Only exact operations are used, so the field's bits are the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from pico_gz import exact
from pico_gz.errors import ConfigError
from pico_gz.exact import FLOATS

GRID_DEG = 5.0
TABLE_YEAR = 2025
_GAUSS_PER_NT = 1.0e-5
_EARTH_RADIUS_M = 6371200.0
_FIRST_DATE, _LAST_DATE = date(2020, 1, 1), date(2035, 1, 1)


@dataclass(frozen=True, slots=True)
class MagneticField:
    """A magnetic field in NED [gauss]."""

    north_gauss: float
    east_gauss: float
    down_gauss: float

    @property
    def horizontal_gauss(self) -> float:
        """Strength of the part a level compass sees."""
        n, e = self.north_gauss, self.east_gauss
        return float(FLOATS.sqrt(n * n + e * e))

    @property
    def strength_gauss(self) -> float:
        """Total strength."""
        n, e, d = self.north_gauss, self.east_gauss, self.down_gauss
        return float(FLOATS.sqrt(n * n + e * e + d * d))

    @property
    def declination_rad(self) -> float:
        """Angle from true to magnetic north, east positive."""
        return float(exact.atan2(FLOATS, self.east_gauss, self.north_gauss))

    @property
    def inclination_rad(self) -> float:
        """Dip below the horizon."""
        return float(exact.atan2(FLOATS, self.down_gauss, self.horizontal_gauss))


def magnetic_field(lat_deg: float, lon_deg: float, alt_m: float, on: date) -> MagneticField:
    """Return the field at a place and date.

    The model is made for 2025 to 2030; five years on either side are extrapolated.

    Raises:
        ConfigError: the place is not on the globe or the date too far from 2025.
    """
    if not (-90.0 <= lat_deg <= 90.0 and -180.0 <= lon_deg <= 180.0):
        raise ConfigError(f"There is no place {lat_deg}, {lon_deg}.")
    if not _FIRST_DATE <= on <= _LAST_DATE:
        raise ConfigError(
            f"The magnetic field of {on} is not known.",
            hint=f"Choose a date from {_FIRST_DATE} to {_LAST_DATE}.",
        )
    years = (on - date(TABLE_YEAR, 1, 1)).days / 365.25
    rows, row_weights = _neighbours((lat_deg + 90.0) / GRID_DEG)
    columns, column_weights = _neighbours((lon_deg + 180.0) / GRID_DEG)
    # The field of a dipole falls with the cube of the distance.
    shrink = _EARTH_RADIUS_M / (_EARTH_RADIUS_M + alt_m)
    factor = _GAUSS_PER_NT * shrink * shrink * shrink
    table = _table()
    sums = [0.0, 0.0, 0.0]
    for row, row_weight in zip(rows, row_weights, strict=True):
        for column, column_weight in zip(columns, column_weights, strict=True):
            cell = _cell(table, row, column)
            for axis in range(3):
                value = cell[axis] + years * cell[3 + axis]
                sums[axis] += row_weight * column_weight * value
    return MagneticField(*(factor * total for total in sums))


@cache
def _table() -> NDArray[np.float32]:
    """Return the table: latitude, longitude, (N, E, D [nT], change of each per year)."""
    data = resources.files("pico_gz.simulator").joinpath("data/magnetic_field.npy").read_bytes()
    table: NDArray[np.float32] = np.load(BytesIO(data), allow_pickle=False)
    return table


def _cell(table: NDArray[np.float32], row: int, column: int) -> list[float]:
    """Return one grid point; rows past a pole are met half a turn away, looking back."""
    rows, columns = table.shape[:2]
    beyond = row < 0 or row >= rows
    if beyond:
        row = -row if row < 0 else 2 * (rows - 1) - row
        column += columns // 2
    values: list[float] = table[row, column % columns].tolist()
    if beyond:
        values = [-v if i % 3 < 2 else v for i, v in enumerate(values)]
    return values


def _neighbours(position: float) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the four grid lines around a position and Lagrange's weights of each."""
    base = int(FLOATS.floor(position))
    t = position - base
    weights = (
        -t * (t - 1.0) * (t - 2.0) / 6.0,
        (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0,
        -(t + 1.0) * t * (t - 2.0) / 2.0,
        (t + 1.0) * t * (t - 1.0) / 6.0,
    )
    return tuple(range(base - 1, base + 3)), weights
