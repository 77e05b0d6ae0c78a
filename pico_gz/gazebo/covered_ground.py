"""The ground that bodies cover in Gazebo, and whether they share it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, product

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import Pose
from pico_gz.simulator.obstacles import Outline

_CORNERS = ((1, 1), (1, -1), (-1, -1), (-1, 1))


def covered_ground(pose: Pose, spec: RoverSpec) -> Outline:
    """The ground that a rover covers at ``pose``, with its wheels."""
    yaw_rad = math.radians(pose.yaw_deg)
    cosine, sine = math.cos(yaw_rad), math.sin(yaw_rad)
    return Outline(
        pose.north_m + spec.center_ahead_m * cosine,
        pose.east_m + spec.center_ahead_m * sine,
        cosine,
        sine,
        0.5 * spec.length_m,
        0.5 * max(spec.width_m, spec.track_m + spec.wheel_width_m),
    )


def overlap(one: Outline, other: Outline) -> bool:
    """Whether two outlines share ground; touching is not enough."""
    apart_m = math.hypot(one.north_m - other.north_m, one.east_m - other.east_m)
    if apart_m >= _reach_m(one) + _reach_m(other):
        return False
    grown_m = one.round_m + other.round_m
    gap_m = min(
        min(other.clearance_m(*corner) + other.round_m for corner in _corners(one)),
        min(one.clearance_m(*corner) + one.round_m for corner in _corners(other)),
    )
    # Two rectangles may cross without a corner of one inside the other.
    return gap_m < grown_m or not (_separated(one, other) or _separated(other, one))


def find_overlaps(
    rovers: Mapping[str, Outline], things: Mapping[str, Outline]
) -> list[tuple[str, str]]:
    """The names of all pairs that share ground: two rovers, or a rover and a thing."""
    pairs = [*combinations(rovers, 2), *product(rovers, things)]
    grounds = {**things, **rovers}
    return [(one, other) for one, other in pairs if overlap(grounds[one], grounds[other])]


def _separated(one: Outline, other: Outline) -> bool:
    """Whether a side of ``one``, not grown, has all of ``other`` beyond it."""
    corners = [
        (
            (north_m - one.north_m) * one.cos + (east_m - one.east_m) * one.sin,
            (east_m - one.east_m) * one.cos - (north_m - one.north_m) * one.sin,
        )
        for north_m, east_m in _corners(other)
    ]
    along, across = zip(*corners, strict=True)
    return any(
        min(places) >= half_m or max(places) <= -half_m
        for places, half_m in ((along, one.half_a_m), (across, one.half_b_m))
    )


def _corners(shape: Outline) -> list[tuple[float, float]]:
    """North and east of the corners, not grown."""
    return [
        (
            shape.north_m + a * shape.half_a_m * shape.cos - b * shape.half_b_m * shape.sin,
            shape.east_m + a * shape.half_a_m * shape.sin + b * shape.half_b_m * shape.cos,
        )
        for a, b in _CORNERS
    ]


def _reach_m(shape: Outline) -> float:
    return math.hypot(shape.half_a_m, shape.half_b_m) + shape.round_m
