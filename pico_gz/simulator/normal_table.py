"""The bell curve as a shipped table of quantiles, so that drawing noise needs no logarithm.

``scripts/make_normal_table.py`` made it: 8193 values that cut the curve into 8192 pieces of
equal probability. A draw picks a piece and a place along its straight line. The result has
mean 0, variance 1 and stays within 4.2 sigma.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from io import BytesIO

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
