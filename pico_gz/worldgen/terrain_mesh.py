"""A heightmap as a triangle mesh in the OBJ format, which physics engines take as it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pico_gz.errors import WorldTemplateError
from pico_gz.simulator.terrain import HeightmapTerrain

MESH_NAME = "terrain.obj"
MAX_HEIGHTS = 250_000
# Beyond its edges a heightmap goes on level; so does the mesh, at least for this far.
_BEYOND_M = 200.0


def terrain_mesh(terrain: HeightmapTerrain, half_m: float = 0.0) -> str:
    """The mesh: x east, y north, z up, two triangles per cell, normals upward.

    Args:
        terrain: the heights.
        half_m: how far from the origin it reaches at least, on all sides.

    Raises:
        WorldTemplateError: there are too many heights for a mesh that loads in a second.
    """
    if terrain.heights_m.size > MAX_HEIGHTS:
        raise WorldTemplateError(
            f"A heightmap of {terrain.heights_m.size} heights is too fine for Gazebo.",
            hint=f"At most {MAX_HEIGHTS}: take every second height and double cell_m.",
        )
    heights = np.pad(terrain.heights_m, 1, mode="edge")
    rows, columns = heights.shape
    norths = _axis(terrain.north_m, terrain.cell_m, rows, half_m)
    easts = _axis(terrain.east_m, terrain.cell_m, columns, half_m)
    lines = [
        f"v {east:.6g} {north:.6g} {height:.6g}"
        for north, row in zip(norths.tolist(), heights.tolist(), strict=True)
        for east, height in zip(easts.tolist(), row, strict=True)
    ]
    lines += [f"vn {x:.4g} {y:.4g} {z:.4g}" for x, y, z in _normals(heights, norths, easts)]
    lines += [f"f {a}//{a} {b}//{b} {c}//{c}" for a, b, c in _triangles(rows, columns).tolist()]
    return "\n".join(["o terrain", *lines]) + "\n"


def _axis(start_m: float, cell_m: float, count: int, half_m: float) -> NDArray[np.float64]:
    """Coordinates of the rows or columns, with the far edge on either side."""
    inner = start_m + cell_m * np.arange(count - 2)
    first_m = min(inner[0] - _BEYOND_M, -half_m)
    last_m = max(inner[-1] + _BEYOND_M, half_m)
    return np.concatenate(([first_m], inner, [last_m]))


def _normals(
    heights: NDArray[np.float64], norths: NDArray[np.float64], easts: NDArray[np.float64]
) -> list[tuple[float, float, float]]:
    to_north, to_east = np.gradient(heights, norths, easts)
    normals = np.stack((-to_east, -to_north, np.ones_like(heights)), axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    # Adding zero turns -0 into 0, so that the text is the same everywhere.
    return [tuple(row) for row in (normals.reshape(-1, 3) + 0.0).tolist()]


def _triangles(rows: int, columns: int) -> NDArray[np.int64]:
    """Vertex numbers, from 1, counter-clockwise seen from above."""
    south_west = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel() + 1
    south_east, north_west = south_west + 1, south_west + columns
    north_east = north_west + 1
    lower = np.stack((south_west, south_east, north_east), axis=1)
    upper = np.stack((south_west, north_east, north_west), axis=1)
    return np.concatenate((lower, upper), axis=1).reshape(-1, 3)
