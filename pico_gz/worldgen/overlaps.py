"""Rovers that would start inside each other or inside an obstacle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from pico_gz.config import FleetConfig, VehiclePlan
from pico_gz.simulator.obstacles import Outline, outline
from pico_gz.worldgen.props import obstacle_name

_MOST_TOLD = 5
_CORNERS = ((1, 1), (1, -1), (-1, -1), (-1, 1))


def overlap_warnings(fleet: FleetConfig, plans: Sequence[VehiclePlan]) -> tuple[str, ...]:
    """A sentence that names the pairs that stand in each other; nothing when all have room."""
    pairs = list(_overlaps(fleet, plans))
    if not pairs:
        return ()
    told = ", ".join(f"{one} and {other}" for one, other in pairs[:_MOST_TOLD])
    more = f" and {len(pairs) - _MOST_TOLD} more pairs" if len(pairs) > _MOST_TOLD else ""
    return (
        f"These would start inside each other, and Gazebo throws them apart: {told}{more}."
        " Change spacing_m of [layout], or the places.",
    )


def _overlaps(fleet: FleetConfig, plans: Sequence[VehiclePlan]) -> Iterator[tuple[str, str]]:
    rovers = [(plan.config.label, footprint(plan)) for plan in plans]
    things = [
        (obstacle_name(number), outline(obstacle))
        for number, obstacle in enumerate(fleet.obstacles, start=1)
    ]
    for (name, one), (other_name, other) in combinations(rovers, 2):
        if overlap(one, other):
            yield name, other_name
    for name, one in rovers:
        for other_name, other in things:
            if overlap(one, other):
                yield name, other_name


def footprint(plan: VehiclePlan) -> Outline:
    """The ground that a rover covers where it starts, with its wheels."""
    spec, pose = plan.rover, plan.config.pose
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
