#!/usr/bin/env python3
"""Make ``pico_gz/simulator/data/normal_quantiles.npy``: the bell curve cut into 8192 pieces.

Run once with scipy installed; the result is part of the package, so that no logarithm of any
machine is asked when noise is drawn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

CELLS = 8192
TARGET = Path(__file__).parent.parent / "pico_gz/simulator/data/normal_quantiles.npy"


def main() -> None:
    """Write the 8193 ends of the pieces, symmetric, with variance 1 between straight lines."""
    half = CELLS // 2
    upper = norm.ppf(0.5 + np.arange(half + 1) / CELLS)
    # The last piece ends where its middle is the mean of the tail it stands for.
    tail_mean = CELLS * norm.pdf(upper[half - 1])
    upper[half] = 2.0 * tail_mean - upper[half - 1]
    upper /= np.sqrt(variance(upper))
    np.save(TARGET, np.concatenate((-upper[:0:-1], upper)), allow_pickle=False)


def variance(upper: NDArray[np.float64]) -> float:
    """Return the variance of values drawn evenly along each piece."""
    low, high = upper[:-1], upper[1:]
    return float(np.mean((low * low + low * high + high * high) / 3.0))


if __name__ == "__main__":
    main()
