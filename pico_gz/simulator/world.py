"""The world that a fleet drives in: ground, wind, magnetic field.

The table holds the World Magnetic Model 2025 every five degrees (``scripts/
make_magnetic_table.py``), with its yearly change; between its points a cubic runs through the
nearest four in each direction, which is within 0.05 degrees of the model itself away from the
poles. Only exact operations are used, so the field's bits are the same on every machine.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import ClassVar

import msgspec

from pico_gz.core import portable_math
from pico_gz.core.frames import LocalFrame
from pico_gz.core.npy_table import read_table
from pico_gz.core.portable_math import exp
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import US_PER_S
from pico_gz.errors import ConfigError
from pico_gz.simulator.obstacles import Obstacle
from pico_gz.simulator.random import normal, stream_key
from pico_gz.simulator.terrain import FlatTerrain, Terrain

GRID_DEG = 5.0
TABLE_YEAR = 2025
_GAUSS_PER_NT = 1.0e-5
_EARTH_RADIUS_M = 6371200.0
FIRST_DATE, LAST_DATE = date(2020, 1, 1), date(2035, 1, 1)


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
        return math.sqrt(n * n + e * e)

    @property
    def strength_gauss(self) -> float:
        """Total strength."""
        n, e, d = self.north_gauss, self.east_gauss, self.down_gauss
        return math.sqrt(n * n + e * e + d * d)

    @property
    def declination_rad(self) -> float:
        """Angle from true to magnetic north, east positive."""
        return portable_math.atan2(self.east_gauss, self.north_gauss)

    @property
    def inclination_rad(self) -> float:
        """Dip below the horizon."""
        return portable_math.atan2(self.down_gauss, self.horizontal_gauss)


def magnetic_field(lat_deg: float, lon_deg: float, alt_m: float, on: date) -> MagneticField:
    """Return the field at a place and date.

    The model is made for 2025 to 2030; five years on either side are extrapolated.

    Raises:
        ConfigError: the place is not on the globe or the date too far from 2025.
    """
    if not (-90.0 <= lat_deg <= 90.0 and -180.0 <= lon_deg <= 180.0):
        raise ConfigError(f"There is no place {lat_deg}, {lon_deg}.")
    if not FIRST_DATE <= on <= LAST_DATE:
        raise ConfigError(
            f"The magnetic field of {on} is not known.",
            hint=f"Choose a date from {FIRST_DATE} to {LAST_DATE}.",
        )
    years = (on - date(TABLE_YEAR, 1, 1)).days / 365.25
    rows, row_weights = _neighbours((lat_deg + 90.0) / GRID_DEG)
    columns, column_weights = _neighbours((lon_deg + 180.0) / GRID_DEG)
    # The field of a dipole falls with the cube of the distance.
    shrink = _EARTH_RADIUS_M / (_EARTH_RADIUS_M + alt_m)
    factor = _GAUSS_PER_NT * shrink * shrink * shrink
    sums = [0.0, 0.0, 0.0]
    for row, row_weight in zip(rows, row_weights, strict=True):
        for column, column_weight in zip(columns, column_weights, strict=True):
            cell = _cell(row, column)
            for axis in range(3):
                value = cell[axis] + years * cell[3 + axis]
                sums[axis] += row_weight * column_weight * value
    return MagneticField(*(factor * total for total in sums))


@cache
def _table() -> tuple[tuple[int, ...], array[float]]:
    """Return the table: latitude, longitude, (N, E, D [nT], change of each per year)."""
    return read_table("pico_gz.simulator", "data/magnetic_field.npy")


def _cell(row: int, column: int) -> list[float]:
    """Return one grid point; rows past a pole are met half a turn away, looking back."""
    (rows, columns, count), numbers = _table()
    beyond = row < 0 or row >= rows
    if beyond:
        row = -row if row < 0 else 2 * (rows - 1) - row
        column += columns // 2
    start = (row * columns + column % columns) * count
    values = numbers[start : start + count].tolist()
    if beyond:
        values = [-v if i % 3 < 2 else v for i, v in enumerate(values)]
    return values


def _neighbours(position: float) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the four grid lines around a position and Lagrange's weights of each."""
    base = math.floor(position)
    t = position - base
    weights = (
        -t * (t - 1.0) * (t - 2.0) / 6.0,
        (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0,
        -(t + 1.0) * t * (t - 2.0) / 2.0,
        (t + 1.0) * t * (t - 1.0) / 6.0,
    )
    return tuple(range(base - 1, base + 3)), weights


AIR_DENSITY_KGPM3 = 1.225
# Gusts are drawn at these times and interpolated, so they do not depend on the step.
_TICK_US = 100_000
MAX_WIND_MPS = 100.0


class WindConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The wind of a fleet file.

    Attributes:
        north_mps: steady wind blowing towards north, also ``east_mps``.
        gust_mps: standard deviation of the gusts, per axis.
        tau_s: how long a gust lasts.
    """

    north_mps: float = 0.0
    east_mps: float = 0.0
    gust_mps: float = 0.0
    tau_s: float = 5.0

    def __post_init__(self) -> None:
        """Refuse wind that cannot blow."""
        for name in ("north_mps", "east_mps"):
            if not abs(getattr(self, name)) <= MAX_WIND_MPS:
                raise ConfigError(
                    f"Wind: {name} = {getattr(self, name)!r} is outside -{MAX_WIND_MPS:g}.."
                    f"{MAX_WIND_MPS:g}."
                )
        if not 0.0 <= self.gust_mps <= MAX_WIND_MPS:
            raise ConfigError(f"Wind: gust_mps = {self.gust_mps!r} is outside 0..{MAX_WIND_MPS:g}.")
        if not 0.0 < self.tau_s < math.inf:
            raise ConfigError(f"Wind: tau_s = {self.tau_s!r} is not above 0.")


class Wind(Snapshot):
    """Steady wind plus a Gauss-Markov process per axis, keyed by the seed alone.

    Attributes:
        calm: no wind ever blows.
    """

    _state_fields: ClassVar[tuple[str, ...]] = ("_tick", "_before", "_after")

    def __init__(self, config: WindConfig, seed: int) -> None:
        self._steady = float(config.north_mps), float(config.east_mps)
        self._has_gusts = config.gust_mps > 0.0
        self.calm = config.north_mps == config.east_mps == config.gust_mps == 0.0
        self._keep = exp(-_TICK_US / US_PER_S / config.tau_s)
        self._stir = config.gust_mps * math.sqrt(1.0 - self._keep * self._keep)
        self._keys = tuple(stream_key(seed, 0, f"wind_{axis}") for axis in ("north", "east"))
        self._tick = 0
        self._before = [0.0, 0.0]
        self._after = [0.0, 0.0]
        if self._has_gusts:
            self._before = [config.gust_mps * normal(key, 0) for key in self._keys]
            self._after = self._next(1)

    def at(self, now_us: int) -> tuple[float, float]:
        """Wind towards north and east [m/s]; ``now_us`` never goes back."""
        north, east = self._steady
        if not self._has_gusts:
            return north, east
        while now_us >= (self._tick + 1) * _TICK_US:
            self._tick += 1
            self._before, self._after = self._after, self._next(self._tick + 1, self._after)
        share = (now_us - self._tick * _TICK_US) / _TICK_US
        gusts = [
            before + (after - before) * share
            for before, after in zip(self._before, self._after, strict=True)
        ]
        return north + gusts[0], east + gusts[1]

    def _next(self, tick: int, last: list[float] | None = None) -> list[float]:
        last = self._before if last is None else last
        return [
            self._keep * gust + self._stir * normal(key, tick)
            for gust, key in zip(last, self._keys, strict=True)
        ]


DEFAULT_ORIGIN = LocalFrame(35.681236, 139.767125, 40.0)
DEFAULT_DATE = date(2026, 1, 1)


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything around the vehicles.

    Attributes:
        origin: the fleet's geodetic origin.
        date: for the magnetic field; fixed, so that runs repeat.
        terrain: the ground.
        obstacles: what stands on it.
        wind: steady wind and gusts.
        contacts: whether obstacles and vehicles block each other; without it, vehicles do
            not see each other either, so that each one moves as if it were alone.
    """

    origin: LocalFrame = DEFAULT_ORIGIN
    date: date = DEFAULT_DATE
    terrain: Terrain = field(default_factory=FlatTerrain)
    obstacles: tuple[Obstacle, ...] = ()
    wind: WindConfig = field(default_factory=WindConfig)
    contacts: bool = True

    def magnetic(self) -> MagneticField:
        """The magnetic field at the origin."""
        origin = self.origin
        return magnetic_field(origin.lat_deg, origin.lon_deg, origin.alt_m, self.date)
