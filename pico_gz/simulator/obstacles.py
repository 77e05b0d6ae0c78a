"""Obstacles of a fleet file and their outlines."""

from __future__ import annotations

import math

import msgspec

from pico_gz.core.portable_math import RAD_PER_DEG, sincos
from pico_gz.errors import ConfigError


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
        sine, cosine = sincos(obstacle.yaw_deg * RAD_PER_DEG)
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
