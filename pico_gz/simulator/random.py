"""Counter-based random numbers and the normal quantile table.

``scripts/make_normal_table.py`` made it: 8193 values that cut the curve into 8192 pieces of
equal probability. A draw picks a piece and a place along its straight line. The result has
mean 0, variance 1 and stays within 4.2 sigma.

The key is (seed, vehicle, stream). So a vehicle draws the same numbers alone and in a fleet,
drawing ahead in blocks changes nothing, and a snapshot needs no more than a counter. The mixer
is SplitMix64's. The functions for one draw are the reference; ``NormalStream`` gives the same
bits in bulk, with NumPy, which is imported only there: the native core draws by itself.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from pico_gz.core.npy_table import read_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The upper 13 bits of a draw choose the piece, the other 51 the place along it.
CELL_BITS = 13
PLACE_BITS = 64 - CELL_BITS
PLACE_MASK = (1 << PLACE_BITS) - 1
PLACE_SCALE = 2.0**-PLACE_BITS


@cache
def normal_lists() -> tuple[list[float], list[float]]:
    """Return where each piece starts and how far it goes."""
    _, ends = read_table("pico_gz.simulator", "data/normal_quantiles.npy")
    starts = ends.tolist()
    return starts[:-1], [end - start for start, end in pairwise(starts)]


@cache
def normal_arrays() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the same as arrays, for many draws at once."""
    import numpy as np

    starts, widths = normal_lists()
    return np.array(starts), np.array(widths)


_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB

# Samples made ahead at once: enough to hide NumPy's cost per call, few enough for memory.
_BLOCK_ROWS = 256


def stream_key(seed: int, vehicle_id: int, stream: str) -> int:
    """Return the 64-bit key of one vehicle's named stream; of the seed, 64 bits count."""
    name = 0xCBF29CE484222325
    for byte in stream.encode():  # FNV-1a
        name = ((name ^ byte) * 0x100000001B3) & _MASK
    key = _mix((seed + _GOLDEN) & _MASK)
    key = _mix((key ^ vehicle_id) + _GOLDEN & _MASK)
    return _mix((key ^ name) + _GOLDEN & _MASK)


def bits(key: int, index: int) -> int:
    """Return draw number ``index`` (from 0) as 64 random bits."""
    return _mix((key + (index + 1) * _GOLDEN) & _MASK)


def uniform(key: int, index: int) -> float:
    """Return draw number ``index``, evenly spread over 0 <= x < 1."""
    return (bits(key, index) >> 11) * 2.0**-53


def normal(key: int, index: int) -> float:
    """Return draw number ``index`` from the bell curve of mean 0 and sigma 1."""
    drawn = bits(key, index)
    cell = drawn >> PLACE_BITS
    starts, widths = normal_lists()
    return starts[cell] + widths[cell] * ((drawn & PLACE_MASK) * PLACE_SCALE)


def bits_array(key: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return ``count`` draws from index ``first`` on."""
    import numpy as np

    drawn = np.arange(count, dtype=np.uint64) * np.uint64(_GOLDEN)
    drawn += np.uint64((key + (first + 1) * _GOLDEN) & _MASK)
    shifted = drawn >> np.uint64(30)
    drawn ^= shifted
    drawn *= np.uint64(_MIX_1)
    np.right_shift(drawn, np.uint64(27), out=shifted)
    drawn ^= shifted
    drawn *= np.uint64(_MIX_2)
    np.right_shift(drawn, np.uint64(31), out=shifted)
    drawn ^= shifted
    return drawn


def normal_array(key: int, first: int, count: int) -> NDArray[np.float64]:
    """Return ``count`` normal draws from index ``first`` on."""
    import numpy as np

    drawn = bits_array(key, first, count)
    cells = (drawn >> np.uint64(PLACE_BITS)).astype(np.intp)
    drawn &= np.uint64(PLACE_MASK)
    place = drawn.astype(np.float64)
    place *= PLACE_SCALE
    starts, widths = normal_arrays()
    place *= widths.take(cells)
    place += starts.take(cells)
    return place


def _mix(value: int) -> int:
    value ^= value >> 30
    value = (value * _MIX_1) & _MASK
    value ^= value >> 27
    value = (value * _MIX_2) & _MASK
    return value ^ (value >> 31)


class NormalStream:
    """One vehicle's stream of normal draws, made ahead in blocks; ``width`` of them per sample."""

    __slots__ = ("_made_until", "_rows", "key", "width")

    def __init__(self, seed: int, vehicle_id: int, stream: str, width: int) -> None:
        self.key = stream_key(seed, vehicle_id, stream)
        self.width = width
        # What is left of the samples up to ``_made_until``, the next one last: nothing is
        # cheaper than ``pop``.
        self._rows: list[list[float]] = []
        self._made_until = 0

    def take(self) -> list[float]:
        """Return the next sample's draws."""
        rows = self._rows or self._refill()
        return rows.pop()

    @property
    def count(self) -> int:
        """How many samples have been taken; may be set, to continue after so many."""
        return self._made_until - len(self._rows)

    @count.setter
    def count(self, count: int) -> None:
        if count != self.count:
            self._rows, self._made_until = [], count

    def _refill(self) -> list[list[float]]:
        # Blocks end at different samples in different streams: those of a large fleet would
        # all be refilled in the same step otherwise, which then takes ten times as long.
        rows = _BLOCK_ROWS - (self._made_until + self.key) % _BLOCK_ROWS
        drawn = normal_array(self.key, self._made_until * self.width, rows * self.width)
        self._rows = drawn.reshape(rows, self.width)[::-1].tolist()
        self._made_until += rows
        return self._rows
