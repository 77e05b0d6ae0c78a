"""Obstacles and vehicles as discs, for contacts and rangefinder rays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pico_gz.simulator.obstacles import Obstacle, Outline, outline
from pico_gz.simulator.ops import SCALAR, Column, Ops

# A ray that runs along a side is taken to run beside it.
_PARALLEL = 1e-12


_FAR_M = 1e12


class Scene:
    """Obstacles that never move and vehicles that do, for rangefinders and contacts.

    Args:
        obstacles: in the order of the fleet file.
        vehicles_visible: whether rangefinders see other vehicles.
    """

    def __init__(
        self, obstacles: Sequence[Obstacle] = (), *, vehicles_visible: bool = True
    ) -> None:
        self.obstacles = tuple(obstacles)
        self.outlines: tuple[Outline, ...] = tuple(map(outline, obstacles))
        self.names = tuple(
            f"{type(obstacle).__name__.lower()}_{number}"
            for number, obstacle in enumerate(obstacles, start=1)
        )
        self._vehicles_visible = vehicles_visible
        self._discs: list[tuple[int, float, float, float]] = []
        self._arrays: tuple[NDArray[np.float64], ...] = ()

    def place(self, vehicles: Sequence[tuple[int, float, float, float]]) -> None:
        """Say where the vehicles are now: (id, north, east, radius) of each."""
        if self._vehicles_visible:
            self._discs = list(vehicles)
            self._arrays = ()

    @property
    def vehicles_visible(self) -> bool:
        """Whether ``place`` matters."""
        return self._vehicles_visible

    def cast(
        self,
        ops: Ops,
        north_m: Column,
        east_m: Column,
        dir_n: Column,
        dir_e: Column,
        max_m: float,
        skip_vehicle: Column,
    ) -> Column:
        """Distance along a ray to the nearest surface, ``max_m`` when there is none nearer.

        Args:
            ops: operations on floats or arrays; all columns are of that kind.
            north_m: where the ray begins.
            east_m: where the ray begins.
            dir_n: its direction, north part of a unit vector.
            dir_e: its direction, east part.
            max_m: how far to look.
            skip_vehicle: id of the vehicle that looks.
        """
        nearest: Column = north_m * 0.0 + max_m
        for shape in self.outlines:
            if shape.half_a_m > 0.0:
                hit = _ray_to_box(ops, shape, north_m, east_m, dir_n, dir_e)
            else:
                to_n, to_e = shape.north_m - north_m, shape.east_m - east_m
                hit = _ray_to_disc(ops, to_n, to_e, dir_n, dir_e, shape.round_m)
            nearest = ops.minimum(hit, nearest)
        if ops is SCALAR:
            for vehicle_id, north, east, radius in self._discs:
                if vehicle_id != skip_vehicle:
                    hit = _ray_to_disc(ops, north - north_m, east - east_m, dir_n, dir_e, radius)
                    nearest = ops.minimum(hit, nearest)
            return nearest
        return self._cast_to_vehicles(ops, north_m, east_m, dir_n, dir_e, skip_vehicle, nearest)

    def _cast_to_vehicles(
        self,
        ops: Ops,
        north_m: Column,
        east_m: Column,
        dir_n: Column,
        dir_e: Column,
        skip_vehicle: Column,
        nearest: Column,
    ) -> Column:
        """All rays against all vehicles at once."""
        if not self._discs:
            return nearest
        if not self._arrays:
            self._arrays = tuple(np.array(self._discs, dtype=np.float64).T)
        ids, north, east, radius = self._arrays
        hit = _ray_to_disc(
            ops,
            north[np.newaxis, :] - north_m[:, np.newaxis],
            east[np.newaxis, :] - east_m[:, np.newaxis],
            np.asarray(dir_n)[:, np.newaxis],
            np.asarray(dir_e)[:, np.newaxis],
            radius[np.newaxis, :],
        )
        own = ids[np.newaxis, :] == np.asarray(skip_vehicle)[:, np.newaxis]
        return ops.minimum(np.where(own, _FAR_M, hit).min(axis=1), nearest)


def _ray_to_disc(
    ops: Ops, to_n: Column, to_e: Column, dir_n: Column, dir_e: Column, radius_m: Column
) -> Column:
    """Distance to a disc whose middle lies at (``to_n``, ``to_e``) from the ray's beginning."""
    along = to_n * dir_n + to_e * dir_e
    outside = (to_n * to_n + to_e * to_e) - radius_m * radius_m
    under_root = along * along - outside
    hits = (under_root >= 0.0) & (along > 0.0)
    distance = along - ops.sqrt(ops.where(hits, under_root, 0.0))
    return ops.where(outside <= 0.0, 0.0, ops.where(hits, distance, _FAR_M))


def _ray_to_box(
    ops: Ops, box: Outline, north_m: Column, east_m: Column, dir_n: Column, dir_e: Column
) -> Column:
    """Distance to a turned rectangle: the ray is inside where it is between both pairs of sides."""
    north, east = north_m - box.north_m, east_m - box.east_m
    enter_a, leave_a = _between(
        ops,
        north * box.cos + east * box.sin,
        dir_n * box.cos + dir_e * box.sin,
        box.half_a_m,
    )
    enter_b, leave_b = _between(
        ops,
        east * box.cos - north * box.sin,
        dir_e * box.cos - dir_n * box.sin,
        box.half_b_m,
    )
    enter = ops.maximum(ops.maximum(enter_a, enter_b), 0.0)
    leave = ops.minimum(leave_a, leave_b)
    return ops.where(enter <= leave, enter, _FAR_M)


def _between(ops: Ops, start: Column, direction: Column, half_m: float) -> tuple[Column, Column]:
    """Where a ray enters and leaves the strip ``-half..half`` of one axis."""
    parallel = ops.absolute(direction) < _PARALLEL
    slope = ops.where(parallel, 1.0, direction)
    one, other = (-half_m - start) / slope, (half_m - start) / slope
    inside = ops.absolute(start) <= half_m
    enter = ops.where(parallel, ops.where(inside, -_FAR_M, _FAR_M), ops.minimum(one, other))
    leave = ops.where(parallel, ops.where(inside, _FAR_M, -_FAR_M), ops.maximum(one, other))
    return enter, leave
