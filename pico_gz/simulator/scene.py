"""Obstacles and vehicles as discs, for contacts and rangefinder rays."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from pico_gz.simulator.obstacles import Obstacle, Outline, outline

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
        self._discs: Sequence[tuple[int, float, float, float]] = ()

    def place(self, vehicles: Sequence[tuple[int, float, float, float]]) -> None:
        """Say where the vehicles are now: (id, north, east, radius) of each."""
        if self._vehicles_visible:
            self._discs = vehicles

    @property
    def vehicles_visible(self) -> bool:
        """Whether ``place`` matters."""
        return self._vehicles_visible

    def cast(
        self,
        north_m: float,
        east_m: float,
        dir_n: float,
        dir_e: float,
        max_m: float,
        skip_vehicle: int,
    ) -> float:
        """Distance along a ray to the nearest surface, ``max_m`` when there is none nearer.

        Args:
            north_m: where the ray begins.
            east_m: where the ray begins.
            dir_n: its direction, north part of a unit vector.
            dir_e: its direction, east part.
            max_m: how far to look.
            skip_vehicle: id of the vehicle that looks.
        """
        nearest = max_m
        for shape in self.outlines:
            if shape.half_a_m > 0.0:
                hit = _ray_to_box(shape, north_m, east_m, dir_n, dir_e)
            else:
                to_n, to_e = shape.north_m - north_m, shape.east_m - east_m
                hit = _ray_to_disc(to_n, to_e, dir_n, dir_e, shape.round_m)
            nearest = hit if hit < nearest else nearest
        for vehicle_id, north, east, radius in self._discs:
            if vehicle_id != skip_vehicle:
                hit = _ray_to_disc(north - north_m, east - east_m, dir_n, dir_e, radius)
                nearest = hit if hit < nearest else nearest
        return nearest


def _ray_to_disc(to_n: float, to_e: float, dir_n: float, dir_e: float, radius_m: float) -> float:
    """Distance to a disc whose middle lies at (``to_n``, ``to_e``) from the ray's beginning."""
    along = to_n * dir_n + to_e * dir_e
    outside = (to_n * to_n + to_e * to_e) - radius_m * radius_m
    if outside <= 0.0:
        return 0.0
    under_root = along * along - outside
    return along - sqrt(under_root) if under_root >= 0.0 and along > 0.0 else _FAR_M


def _ray_to_box(box: Outline, north_m: float, east_m: float, dir_n: float, dir_e: float) -> float:
    """Distance to a turned rectangle: the ray is inside where it is between both pairs of sides."""
    north, east = north_m - box.north_m, east_m - box.east_m
    enter_a, leave_a = _between(
        north * box.cos + east * box.sin, dir_n * box.cos + dir_e * box.sin, box.half_a_m
    )
    enter_b, leave_b = _between(
        east * box.cos - north * box.sin, dir_e * box.cos - dir_n * box.sin, box.half_b_m
    )
    enter = enter_a if enter_a > enter_b else enter_b
    enter = enter if enter > 0.0 else 0.0
    leave = leave_a if leave_a < leave_b else leave_b
    return enter if enter <= leave else _FAR_M


def _between(start: float, direction: float, half_m: float) -> tuple[float, float]:
    """Where a ray enters and leaves the strip ``-half..half`` of one axis."""
    if abs(direction) < _PARALLEL:
        return (-_FAR_M, _FAR_M) if abs(start) <= half_m else (_FAR_M, -_FAR_M)
    one, other = (-half_m - start) / direction, (half_m - start) / direction
    return (one, other) if one < other else (other, one)
