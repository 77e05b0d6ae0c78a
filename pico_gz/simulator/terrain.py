"""The ground: its height and slope at any point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pico_gz.core.portable_math import RAD_PER_DEG, sincos
from pico_gz.core.vehicle_config import WORLD_HEIGHT_M
from pico_gz.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Terrain(Protocol):
    """Height and slope of the ground, by operations that IEEE 754 rounds one way."""

    @property
    def level(self) -> bool:
        """Whether it is a horizontal plane at height 0, so that nothing need be computed."""

    def height_m(self, north_m: float, east_m: float) -> float:
        """Height above the origin, up positive."""

    def slope(self, north_m: float, east_m: float) -> tuple[float, float]:
        """Rise per metre towards north and towards east."""


class FlatTerrain:
    """A horizontal plane through the origin."""

    level = True

    def height_m(self, north_m: float, east_m: float) -> float:
        """Zero everywhere."""
        return 0.0

    def slope(self, north_m: float, east_m: float) -> tuple[float, float]:
        """Zero everywhere."""
        return 0.0, 0.0


class RampTerrain:
    """A ramp that rises towards ``direction_deg``.

    With ``length_m`` 0 it is one endless inclined plane through the origin. Otherwise the
    ground is level up to ``start_m`` (counted from the origin along the direction), rises for
    ``length_m`` along the ground plan, and is level again.

    Args:
        slope_deg: steepness, -60..60 degrees.
        direction_deg: where it rises to, clockwise from north.
        start_m: where the rise begins.
        length_m: of the rise, in the ground plan; 0 = endless both ways.

    Raises:
        ConfigError: a figure is impossible.
    """

    level = False

    def __init__(
        self,
        slope_deg: float,
        direction_deg: float = 0.0,
        start_m: float = 0.0,
        length_m: float = 0.0,
    ) -> None:
        if not -60.0 <= slope_deg <= 60.0:
            raise ConfigError(f"A ramp of {slope_deg} degrees: between -60 and 60 is possible.")
        if not (math.isfinite(direction_deg) and math.isfinite(start_m) and 0.0 <= length_m < 1e7):
            raise ConfigError("A ramp needs a finite direction, start and length (0 or more).")
        sine, cosine = sincos(slope_deg * RAD_PER_DEG)
        self.rise = sine / cosine
        self.east, self.north = sincos(direction_deg * RAD_PER_DEG)
        self.slope_deg, self.direction_deg = slope_deg, direction_deg
        self.start_m, self.length_m = start_m, length_m

    def height_m(self, north_m: float, east_m: float) -> float:
        """Rise times the way covered along the direction."""
        along = north_m * self.north + east_m * self.east
        if self.length_m > 0.0:
            along = along - self.start_m
            along = 0.0 if along < 0.0 else self.length_m if along > self.length_m else along
        return along * self.rise

    def slope(self, north_m: float, east_m: float) -> tuple[float, float]:
        """The same everywhere on the ramp, zero before and after it."""
        if self.length_m > 0.0:
            along = north_m * self.north + east_m * self.east - self.start_m
            if not 0.0 <= along < self.length_m:
                return 0.0, 0.0
        return self.rise * self.north, self.rise * self.east


class HeightmapTerrain:
    """Heights on a square grid, bilinear in between, continued level beyond the edges.

    Args:
        heights_m: rows from south to north, each from west to east.
        cell_m: distance of neighbouring heights.
        north_m: where the southern row lies; ``None`` puts the map's middle at the origin.
        east_m: where the western column lies; ``None`` as above.

    Raises:
        ConfigError: fewer than 2 x 2 heights, rows of unequal length, or not finite.
    """

    level = False

    def __init__(
        self,
        heights_m: Sequence[Sequence[float]] | NDArray[np.float64],
        cell_m: float,
        north_m: float | None = None,
        east_m: float | None = None,
    ) -> None:
        import numpy as np  # on use: most worlds are flat

        try:
            heights = np.array(heights_m, dtype=np.float64)
        except ValueError as error:
            raise ConfigError(f"Heightmap: rows must have equal length ({error}).") from error
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise ConfigError("A heightmap is a table of at least 2 x 2 finite heights.")
        if np.abs(heights).max() > WORLD_HEIGHT_M:
            raise ConfigError(
                f"Heightmap: a height of {heights.flat[np.abs(heights).argmax()]:g} m; allowed are "
                f"{WORLD_HEIGHT_M:g} m up or down."
            )
        if not 0.0 < cell_m < 1e6:
            raise ConfigError(f"Heightmap: cell_m = {cell_m} must be above 0.")
        self.heights_m = heights
        self.cell_m = cell_m
        self._rows, self._columns = heights.shape
        self.north_m = -0.5 * cell_m * (self._rows - 1) if north_m is None else north_m
        self.east_m = -0.5 * cell_m * (self._columns - 1) if east_m is None else east_m
        self._lists: list[list[float]] = heights.tolist()

    @staticmethod
    def read(path: str | Path) -> NDArray[np.float64]:
        """Read heights from a ``.csv`` (one row per line, southernmost first) or ``.npy`` file.

        Raises:
            ConfigError: the file cannot be read or holds no table of numbers.
        """
        import numpy as np

        path = Path(path)
        try:
            if path.suffix == ".npy":
                return _real_numbers(np.load(path, allow_pickle=False))
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise ConfigError(f"Heightmap {path}: it is no text of numbers.") from error
        except (EOFError, TypeError, ValueError) as error:
            raise ConfigError(
                f"Heightmap {path}: it is no whole NumPy table of real numbers."
            ) from error
        except OSError as error:
            raise ConfigError(f"Heightmap {path}: {error}") from error
        return np.array(_rows_of(lines, path), dtype=np.float64)

    def height_m(self, north_m: float, east_m: float) -> float:
        """Bilinear between the four heights around."""
        row, north, _ = self._place(north_m, self.north_m, self._rows)
        column, east, _ = self._place(east_m, self.east_m, self._columns)
        south_row, north_row = self._lists[row], self._lists[row + 1]
        sw, nw = south_row[column], north_row[column]
        south_height = sw + (south_row[column + 1] - sw) * east
        north_height = nw + (north_row[column + 1] - nw) * east
        return south_height + (north_height - south_height) * north

    def slope(self, north_m: float, east_m: float) -> tuple[float, float]:
        """Slope of the bilinear patch; zero across an edge of the map."""
        row, north, in_north = self._place(north_m, self.north_m, self._rows)
        column, east, in_east = self._place(east_m, self.east_m, self._columns)
        south_row, north_row = self._lists[row], self._lists[row + 1]
        sw, se, nw, ne = (
            south_row[column],
            south_row[column + 1],
            north_row[column],
            north_row[column + 1],
        )
        to_north = ((nw - sw) + ((ne - se) - (nw - sw)) * east) / self.cell_m
        to_east = ((se - sw) + ((ne - nw) - (se - sw)) * north) / self.cell_m
        return to_north if in_north else 0.0, to_east if in_east else 0.0

    def _place(self, at_m: float, start_m: float, count: int) -> tuple[int, float, bool]:
        """The cell along one axis, the place 0..1 in it, and whether it is on the map."""
        last = float(count - 1)
        asked = (at_m - start_m) / self.cell_m
        held = 0.0 if asked < 0.0 else last if asked > last else asked
        cell = min(math.floor(held), count - 2)
        return cell, held - cell, 0.0 <= asked <= last


def _real_numbers(table: NDArray[Any]) -> NDArray[np.float64]:
    import numpy as np

    if np.iscomplexobj(table):
        raise TypeError("complex heights")
    return np.asarray(table, dtype=np.float64)


def _rows_of(lines: Sequence[str], path: Path) -> list[list[float]]:
    """The heights in lines of text; empty ones and what follows a ``#`` are passed over."""
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            row = [float(word) for word in text.split(",")]
        except ValueError as error:
            raise ConfigError(
                f"Heightmap {path}, line {number}: {error}.", hint="Numbers, and commas between."
            ) from error
        if rows and len(row) != len(rows[0]):
            raise ConfigError(
                f"Heightmap {path}, line {number}: {len(row)} heights, but {len(rows[0])} before.",
                hint="All rows have equally many heights.",
            )
        rows.append(row)
    return rows
