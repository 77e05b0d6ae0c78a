#!/usr/bin/env python3
"""Make ``pico_gz/simulator/data/magnetic_field.npy`` from the World Magnetic Model 2025.

Run once with pygeomag installed; the result is part of the package.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pygeomag import GeoMag

GRID_DEG = 5
YEAR = 2025.0
TARGET = Path(__file__).parent.parent / "pico_gz/simulator/data/magnetic_field.npy"


def main() -> None:
    """Write latitude x longitude x (N, E, D [nT], yearly change of each) as float32."""
    model = GeoMag(coefficients_file="wmm/WMM_2025.COF")
    latitudes = range(-90, 91, GRID_DEG)
    longitudes = range(-180, 180, GRID_DEG)
    table = np.empty((len(latitudes), len(longitudes), 6), dtype=np.float32)
    for i, lat in enumerate(latitudes):
        # The model's north and east lose their meaning exactly at the poles.
        inside = max(-89.9999, min(89.9999, lat))
        for j, lon in enumerate(longitudes):
            now = model.calculate(inside, lon, 0.0, YEAR)
            later = model.calculate(inside, lon, 0.0, YEAR + 1.0)
            field = np.array([now.x, now.y, now.z])
            table[i, j, :3] = field
            table[i, j, 3:] = np.array([later.x, later.y, later.z]) - field
    np.save(TARGET, table, allow_pickle=False)


if __name__ == "__main__":
    main()
