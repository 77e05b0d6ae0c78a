"""Obstacles, and vehicles as discs, for contacts and rangefinders."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from pico_gz.core.portable_math import FLOATS, RAD_PER_DEG, sincos
from pico_gz.errors import ConfigError
from pico_gz.simulator.ops import SCALAR, Column, Ops


class Disc(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="disc"):
    """A round post at (``north_m``, ``east_m``)."""

    north_m: float
    east_m: float
    radius_m: float
    height_m: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what has no size."""
        _check(self, positive=(self.radius_m, self.height_m))


class Wall(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="wall"):
    """A straight wall from (``north_m``, ``east_m``) to (``north2_m``, ``east2_m``)."""

    north_m: float
    east_m: float
    north2_m: float
    east2_m: float
    thickness_m: float = 0.1
    height_m: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what has no size."""
        length = math.hypot(self.north2_m - self.north_m, self.east2_m - self.east_m)
        _check(self, positive=(self.thickness_m, self.height_m, length))


class Box(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="box"):
    """A box with its middle at (``north_m``, ``east_m``), turned clockwise by ``yaw_deg``."""

    north_m: float
    east_m: float
    size_n_m: float
    size_e_m: float
    yaw_deg: float = 0.0
    height_m: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what has no size."""
        _check(self, positive=(self.size_n_m, self.size_e_m, self.height_m))


Obstacle = Disc | Wall | Box


class Outline(msgspec.Struct, frozen=True):
    """A rounded rectangle in the ground plan, which every obstacle is.

    Attributes:
        north_m: and ``east_m``: its middle.
        cos: and ``sin``: direction of its first side.
        half_a_m: half of its first side; ``half_b_m`` of its second.
        round_m: how far it is grown beyond that; a disc is a point, grown.
    """

    north_m: float
    east_m: float
    cos: float = 1.0
    sin: float = 0.0
    half_a_m: float = 0.0
    half_b_m: float = 0.0
    round_m: float = 0.0

    def clearance_m(self, north_m: float, east_m: float) -> float:
        """Distance of a point from the outline, negative inside; exact operations."""
        north, east = north_m - self.north_m, east_m - self.east_m
        a = abs(north * self.cos + east * self.sin) - self.half_a_m
        b = abs(east * self.cos - north * self.sin) - self.half_b_m
        if a <= 0.0 and b <= 0.0:
            return max(a, b) - self.round_m
        a, b = max(a, 0.0), max(b, 0.0)
        return math.sqrt(a * a + b * b) - self.round_m


def outline(obstacle: Obstacle) -> Outline:
    """Work out the outline of an obstacle."""
    if isinstance(obstacle, Disc):
        return Outline(obstacle.north_m, obstacle.east_m, round_m=obstacle.radius_m)
    if isinstance(obstacle, Box):
        sine, cosine = sincos(FLOATS, obstacle.yaw_deg * RAD_PER_DEG)
        return Outline(
            obstacle.north_m,
            obstacle.east_m,
            cosine,
            sine,
            0.5 * obstacle.size_n_m,
            0.5 * obstacle.size_e_m,
        )
    north, east = obstacle.north2_m - obstacle.north_m, obstacle.east2_m - obstacle.east_m
    length = math.sqrt(north * north + east * east)
    return Outline(
        obstacle.north_m + 0.5 * north,
        obstacle.east_m + 0.5 * east,
        north / length,
        east / length,
        0.5 * length,
        0.5 * obstacle.thickness_m,
    )


def _check(obstacle: Obstacle, positive: tuple[float, ...]) -> None:
    numbers = [getattr(obstacle, name) for name in obstacle.__struct_fields__]
    if not all(map(math.isfinite, numbers)) or min(positive) <= 0.0:
        raise ConfigError(f"An obstacle needs finite numbers and sizes above 0: {obstacle!r}")


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
