"""The ground of a fleet file, as a terrain that simulators and world generators share."""

from __future__ import annotations

from pico_gz.config.world_settings import TerrainKind, TerrainSection
from pico_gz.errors import ConfigError
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain, Terrain


def make_terrain(ground: TerrainSection) -> Terrain:
    """Build the terrain of ``[terrain]``; its file, if any, is already an absolute path."""
    if ground.kind is TerrainKind.RAMP:
        return RampTerrain(
            _given(ground.slope_deg, 10.0),
            _given(ground.direction_deg, 0.0),
            _given(ground.start_m, 0.0),
            _given(ground.length_m, 0.0),
        )
    if ground.kind is TerrainKind.HEIGHTMAP:
        if ground.file is None:
            raise ConfigError("A heightmap needs a file.", hint="[terrain] file = 'heights.csv'")
        heights_m = HeightmapTerrain.read(ground.file)
        cell_m = _given(ground.cell_m, 1.0)
        return HeightmapTerrain(heights_m, cell_m, ground.north_m, ground.east_m)
    return FlatTerrain()


def _given(value: float | None, default: float) -> float:
    return default if value is None else value
