"""Counter-based random numbers and the normal quantile table.

``scripts/make_normal_table.py`` made it: 8193 values that cut the curve into 8192 pieces of
equal probability. A draw picks a piece and a place along its straight line. The result has
mean 0, variance 1 and stays within 4.2 sigma.

The key is (seed, vehicle, stream). So a vehicle draws the same numbers alone and in a fleet,
drawing ahead in blocks changes nothing, and a snapshot needs no more than a counter. The mixer
is SplitMix64's. The functions for one draw are the reference; ``NormalBlock`` gives the same
bits in bulk.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The upper 13 bits of a draw choose the piece, the other 51 the place along it.
CELL_BITS = 13
PLACE_BITS = 64 - CELL_BITS
PLACE_MASK = (1 << PLACE_BITS) - 1
PLACE_SCALE = 2.0**-PLACE_BITS

Table = NDArray[np.float64]


@cache
def normal_arrays() -> tuple[Table, Table]:
    """Return where each piece starts and how far it goes."""
    data = resources.files("pico_gz.simulator").joinpath("data/normal_quantiles.npy").read_bytes()
    ends: Table = np.load(BytesIO(data), allow_pickle=False)
    return ends[:-1].copy(), ends[1:] - ends[:-1]


@cache
def normal_lists() -> tuple[list[float], list[float]]:
    """Return the same as lists, for single draws."""
    starts, widths = normal_arrays()
    return starts.tolist(), widths.tolist()


_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB

# Draws made ahead at once: large enough to hide NumPy's cost per call, small enough for a cache.
_BLOCK_DRAWS = 24_576
_BLOCK_ROWS = 1_024

Keys = NDArray[np.uint64]


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


def bits_array(keys: Keys, first: NDArray[np.int64], count: int) -> NDArray[np.uint64]:
    """Return ``count`` draws of each key from its index ``first`` on, shape (count, keys)."""
    golden = np.uint64(_GOLDEN)
    start = keys + (first.astype(np.uint64) + np.uint64(1)) * golden
    drawn = (np.arange(count, dtype=np.uint64) * golden)[:, np.newaxis] + start
    shifted = drawn >> np.uint64(30)
    drawn ^= shifted
    drawn *= np.uint64(_MIX_1)
    np.right_shift(drawn, np.uint64(27), out=shifted)
    drawn ^= shifted
    drawn *= np.uint64(_MIX_2)
    np.right_shift(drawn, np.uint64(31), out=shifted)
    drawn ^= shifted
    return drawn


def normal_array(keys: Keys, first: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return ``count`` normal draws of each key from ``first`` on, shape (count, keys)."""
    drawn = bits_array(keys, first, count)
    cells = (drawn >> np.uint64(PLACE_BITS)).astype(np.intp)
    drawn &= np.uint64(PLACE_MASK)
    place = drawn.astype(np.float64)
    place *= PLACE_SCALE
    starts, widths = normal_arrays()
    place *= widths.take(cells)
    place += starts.take(cells)
    return place


def uniform_array(keys: Keys, first: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return ``count`` uniform draws of each key from ``first`` on, shape (count, keys)."""
    drawn = bits_array(keys, first, count)
    drawn >>= np.uint64(11)
    return drawn.astype(np.float64) * 2.0**-53


def _mix(value: int) -> int:
    value ^= value >> 30
    value = (value * _MIX_1) & _MASK
    value ^= value >> 27
    value = (value * _MIX_2) & _MASK
    return value ^ (value >> 31)


class NormalBlock:
    """One stream of normal draws for a group of vehicles, made ahead in blocks.

    Every sample takes ``width`` draws. A lone vehicle (``scalar``) gets each sample as a list
    of floats, a group as an array of shape (width, vehicles). ``UniformBlock`` is the same for
    even draws.
    """

    __slots__ = ("_counts", "_keys", "_made", "_rows", "_rows_ahead", "_scalar", "_width")

    _draw = staticmethod(normal_array)

    def __init__(
        self, seed: int, vehicle_ids: Sequence[int], stream: str, width: int, *, scalar: bool
    ) -> None:
        keys = [stream_key(seed, vehicle_id, stream) for vehicle_id in vehicle_ids]
        self._keys = np.array(keys, dtype=np.uint64)
        self._counts = np.zeros(len(keys), dtype=np.int64)
        self._width = width
        self._scalar = scalar
        ahead = _BLOCK_DRAWS // (width * max(1, len(keys)))
        self._rows_ahead = min(_BLOCK_ROWS, max(4, ahead))
        # What is left of the last ``_made`` samples, the next one last: it runs for every sensor
        # in every step, and nothing is cheaper than ``pop``.
        self._rows: list[Any] = []
        self._made = 0

    def take(self) -> Any:
        """Return the next sample's draws."""
        rows = self._rows or self._refill()
        return rows.pop()

    def count(self, vehicle: int) -> int:
        """Return how many samples the vehicle at this place has taken."""
        return int(self._counts[vehicle]) + self._made - len(self._rows)

    def set_count(self, vehicle: int, count: int) -> None:
        """Continue the vehicle at this place after ``count`` samples."""
        self._counts += self._made - len(self._rows)
        self._counts[vehicle] = count
        self._rows, self._made = [], 0

    def _refill(self) -> list[Any]:
        self._counts += self._made - len(self._rows)
        drawn = self._draw(self._keys, self._counts * self._width, self._rows_ahead * self._width)
        rows = drawn.reshape(self._rows_ahead, self._width, len(self._keys))
        self._rows = rows[::-1, :, 0].tolist() if self._scalar else list(rows[::-1])
        self._made = len(self._rows)
        return self._rows


class UniformBlock(NormalBlock):
    """One stream of draws from 0 <= x < 1 for a group of vehicles, made ahead in blocks."""

    __slots__ = ()

    _draw = staticmethod(uniform_array)
