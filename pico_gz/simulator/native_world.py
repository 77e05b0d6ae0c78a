"""The world as the native core reads it.

Ground, obstacles, place on earth, and what differs from step to step, in one structure.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from types import SimpleNamespace

from pico_gz.core.frames import LocalFrame
from pico_gz.simulator.native_layout import OUT, TERRAIN_FLAT, TERRAIN_MAP, TERRAIN_RAMP, WORLD
from pico_gz.simulator.obstacles import Outline
from pico_gz.simulator.random import normal_lists
from pico_gz.simulator.rover import WindVector
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain, Terrain

_WIND, _WIND_AT = struct.Struct("=q2d"), WORLD.offset_of("has_wind")
_STEP, _STEP_AT = struct.Struct("=3q"), WORLD.offset_of("now_us")


def knows_terrain(terrain: Terrain) -> bool:
    """Whether the core knows this kind of ground."""
    return type(terrain) in (FlatTerrain, RampTerrain, HeightmapTerrain)


class CoreWorld:
    """The world of some vehicles, and their memory.

    Attributes:
        stride: bytes of a vehicle.
        outs: what the last step gave, one ``OUT`` per vehicle.
        at: what the functions of the core are called with.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        frame: LocalFrame,
        terrain: Terrain | None = None,
        outlines: Sequence[Outline] = (),
    ) -> None:
        self.stride: int = library.pico_gz_sizes(0)
        self.outs = bytearray(0)
        self._kept: list[array[float]] = []  # what the core points to
        self._values = self._values_of(terrain, frame, outlines)
        self._data = bytearray(WORLD.whole.size)
        self.at = ctypes.c_void_p(_address(self._data))

    def hold(self, count: int, **values: int) -> bytearray:
        """Make the memory of ``count`` vehicles, all zero; ``values`` are fields of the world."""
        buffer = bytearray(self.stride * count)
        self.outs = bytearray(OUT.whole.size * count)
        values.update(rovers=_address(buffer), outs=_address(self.outs), count=count)
        self._values.__dict__.update(values)
        WORLD.pack(self._values, self._data, 0)
        return buffer

    def set_wind(self, wind: WindVector) -> None:
        """Set the wind."""
        _WIND.pack_into(self._data, _WIND_AT, 1, *wind)

    def set_step(self, now_us: int, dt_us: int, *, pause: bool = False) -> None:
        """Set the end and the length of the next step, and whether it stops before it senses."""
        _STEP.pack_into(self._data, _STEP_AT, now_us, dt_us, pause)

    def _keep(self, numbers: array[float]) -> int:
        """Keep some doubles where they are; returns where that is."""
        self._kept.append(numbers)
        return numbers.buffer_info()[0]

    def _values_of(
        self, terrain: Terrain | None, frame: LocalFrame, outlines: Sequence[Outline]
    ) -> SimpleNamespace:
        starts, widths = normal_lists()
        shapes = [
            number
            for o in outlines
            for number in (o.north_m, o.east_m, o.cos, o.sin, o.half_a_m, o.half_b_m, o.round_m)
        ]
        world = SimpleNamespace(
            contacts=False,
            sees_vehicles=False,
            terrain=TERRAIN_FLAT,
            rise=0.0,
            north=0.0,
            east=0.0,
            start_m=0.0,
            length_m=0.0,
            map_north_m=0.0,
            map_east_m=0.0,
            cell_m=1.0,
            rows=0,
            columns=0,
            heights=0,
            outlines=self._keep(array("d", shapes)),
            outline_count=len(outlines),
            sin_lat=frame.sin_lat,
            cos_lat=frame.cos_lat,
            sin_lon=frame.sin_lon,
            cos_lon=frame.cos_lon,
            origin_ecef_m=frame.origin_ecef_m,
            starts=self._keep(array("d", starts)),
            widths=self._keep(array("d", widths)),
            rovers=0,
            count=0,
            candidates=0,
            outs=0,
            has_wind=False,
            wind=(0.0, 0.0),
            now_us=0,
            dt_us=0,
            pause=False,
        )
        if isinstance(terrain, RampTerrain):
            world.terrain, world.rise = TERRAIN_RAMP, terrain.rise
            world.north, world.east = terrain.north, terrain.east
            world.start_m, world.length_m = terrain.start_m, terrain.length_m
        elif isinstance(terrain, HeightmapTerrain):
            heights = terrain.heights_m
            world.terrain, world.cell_m = TERRAIN_MAP, terrain.cell_m
            world.map_north_m, world.map_east_m = terrain.north_m, terrain.east_m
            world.rows, world.columns = heights.shape
            world.heights = self._keep(array("d", heights.ravel().tolist()))
        return world


def _address(buffer: bytearray) -> int:
    """Where a buffer lies; it stays there as long as its length does."""
    return ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))
