"""What stands still: obstacles and the shape of the ground, sent once."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from pico_gz.config import FleetConfig
from pico_gz.config.ground import make_terrain
from pico_gz.simulator.obstacles import Obstacle, Wall
from pico_gz.simulator.ops import ARRAY
from pico_gz.simulator.terrain import HeightmapTerrain, Terrain

MAX_SAMPLES = 128
MARGIN_M = 40.0


def obstacles_of(fleet: FleetConfig) -> list[dict[str, Any]]:
    """Every obstacle with its kind and sizes, by the names of the fleet file."""
    plain: list[dict[str, Any]] = msgspec.to_builtins(list(fleet.obstacles))
    return plain


def terrain_of(fleet: FleetConfig) -> dict[str, Any] | None:
    """Heights on a grid, 0..255 between lowest and highest; ``None`` for level ground."""
    terrain = make_terrain(fleet.terrain)
    if terrain.level:
        return None
    south, west, north, east = _extent(fleet, terrain)
    cell_m = max(north - south, east - west) / (MAX_SAMPLES - 1)
    rows = max(2, round((north - south) / cell_m) + 1)
    columns = max(2, round((east - west) / cell_m) + 1)
    norths, easts = np.meshgrid(
        south + cell_m * np.arange(rows), west + cell_m * np.arange(columns), indexing="ij"
    )
    heights = np.asarray(terrain.height_m(ARRAY, norths.ravel(), easts.ravel()), dtype=np.float64)
    low, high = float(heights.min()), float(heights.max())
    scale = 255.0 / (high - low) if high > low else 0.0
    return {
        "south_m": south,
        "west_m": west,
        "cell_m": cell_m,
        "rows": rows,
        "columns": columns,
        "low_m": low,
        "high_m": high,
        # Rows from south to north, each from west to east, one byte per height.
        "heights": base64.b64encode(((heights - low) * scale).astype(np.uint8).tobytes()).decode(),
    }


def _extent(fleet: FleetConfig, terrain: Terrain) -> tuple[float, float, float, float]:
    if isinstance(terrain, HeightmapTerrain):
        rows, columns = terrain.heights_m.shape
        return (
            terrain.north_m,
            terrain.east_m,
            terrain.north_m + (rows - 1) * terrain.cell_m,
            terrain.east_m + (columns - 1) * terrain.cell_m,
        )
    points = [(plan.config.pose.north_m, plan.config.pose.east_m) for plan in fleet.vehicles]
    points += _corners(fleet.obstacles)
    norths, easts = zip(*points, strict=True)
    return (
        min(norths) - MARGIN_M,
        min(easts) - MARGIN_M,
        max(norths) + MARGIN_M,
        max(easts) + MARGIN_M,
    )


def _corners(obstacles: Iterable[Obstacle]) -> list[tuple[float, float]]:
    points = []
    for obstacle in obstacles:
        points.append((obstacle.north_m, obstacle.east_m))
        if isinstance(obstacle, Wall):
            points.append((obstacle.north2_m, obstacle.east2_m))
    return points
