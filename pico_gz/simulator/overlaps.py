"""Which vehicles would stand inside each other or inside an obstacle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.portable_math import DEG_PER_RAD
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import Pose
from pico_gz.simulator.obstacles import Obstacle, outline

# Vehicles that just touch are not refused for the last bit of a coordinate.
_TOUCH_M = 1e-9


class Footprint(NamedTuple):
    """The disc that a vehicle collides with: its name, centre and radius."""

    name: str
    north_m: float
    east_m: float
    radius_m: float


def pose_of(truth: VehicleTruth) -> Pose:
    """Where a vehicle stands, as a pose."""
    yaw_deg = yaw_from_quat(truth.quat_wxyz) * DEG_PER_RAD
    return Pose(north_m=truth.north_m, east_m=truth.east_m, yaw_deg=yaw_deg)


def footprint(name: str, pose: Pose, spec: RoverSpec) -> Footprint:
    """The disc of a rover that stands at ``pose``."""
    yaw_rad = math.radians(pose.yaw_deg)
    return Footprint(
        name,
        pose.north_m + spec.center_ahead_m * math.cos(yaw_rad),
        pose.east_m + spec.center_ahead_m * math.sin(yaw_rad),
        spec.radius_m,
    )


def obstacle_names(obstacles: Sequence[Obstacle]) -> list[str]:
    """The names of obstacles in the order of the fleet file, as contacts report them."""
    return [f"{type(one).__name__.lower()}_{n}" for n, one in enumerate(obstacles, start=1)]


def find_overlaps(
    vehicles: Sequence[Footprint], obstacles: Sequence[Obstacle] = ()
) -> list[tuple[str, str]]:
    """The names of all pairs that overlap: two vehicles, or a vehicle and an obstacle."""
    pairs = [
        (one.name, other.name) for one, other in combinations(vehicles, 2) if _gap_m(one, other) < 0
    ]
    return pairs + [(one.name, name) for one in vehicles for name in _blocking(one, obstacles)]


def overlaps_of(
    vehicle: Footprint, others: Iterable[Footprint], obstacles: Sequence[Obstacle] = ()
) -> list[str]:
    """The names of the other vehicles and obstacles that a vehicle would stand inside of."""
    beside = [
        other.name for other in others if other.name != vehicle.name and _gap_m(vehicle, other) < 0
    ]
    return beside + _blocking(vehicle, obstacles)


def _gap_m(one: Footprint, other: Footprint) -> float:
    apart_m = math.hypot(other.north_m - one.north_m, other.east_m - one.east_m)
    return apart_m - one.radius_m - other.radius_m + _TOUCH_M


def _blocking(vehicle: Footprint, obstacles: Sequence[Obstacle]) -> list[str]:
    return [
        name
        for name, obstacle in zip(obstacle_names(obstacles), obstacles, strict=True)
        if outline(obstacle).clearance_m(vehicle.north_m, vehicle.east_m)
        < vehicle.radius_m - _TOUCH_M
    ]
