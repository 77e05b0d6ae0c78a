"""Lanes on a test bench: built from a description, driven by constant commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pico_gz.core.rover_spec import RoverSpec, rover_spec
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.simulator.fleet_engine import standing
from pico_gz.simulator.kinematics import POSE_FIELDS
from pico_gz.simulator.models import ModelTable
from pico_gz.simulator.ops import ARRAY, SCALAR
from pico_gz.simulator.rover_group import RoverGroup
from pico_gz.simulator.terrain import FlatTerrain

FREE = {"max_turn_rate": 0.0}


def ideal(**changes: Any) -> RoverSpec:
    """The lag-free rover without a turn limit."""
    return rover_spec("ideal", {**FREE, **changes})


def ackermann(**changes: Any) -> RoverSpec:
    """A lag-free car."""
    return ideal(drive=DriveKind.ACKERMANN, wheel_base=0.3, **changes)


def lone_lane(
    spec: RoverSpec,
    pose: tuple[float, float, float] = (0.0, 0.0, 0.0),
    *,
    terrain: Any = None,
    speed_mps: float = 0.0,
) -> RoverGroup:
    """One vehicle on floats."""
    drive = ModelTable().drive(spec)
    state = standing(drive, *pose, speed_mps)
    return RoverGroup(SCALAR, spec, drive, terrain or FlatTerrain(), [state])


def group_lane(
    spec: RoverSpec, poses: Sequence[tuple[float, float, float]], terrain: Any = None
) -> RoverGroup:
    """Several vehicles on arrays."""
    drive = ModelTable().drive(spec)
    return RoverGroup(
        ARRAY, spec, drive, terrain or FlatTerrain(), [standing(drive, *pose) for pose in poses]
    )


def run(
    lane: RoverGroup, commands: tuple[float, float], *, steps: int, dt_us: int = 10_000
) -> RoverGroup:
    """Drive a lone lane with one command."""
    lane.command(0, *commands)
    for _ in range(steps):
        lane.advance(dt_us, None)
        lane.observe(dt_us, None)
    return lane


def yaw_rad(lane: RoverGroup) -> float:
    """Heading of a lone lane."""
    return math.atan2(lane.pose.sin_yaw, lane.pose.cos_yaw)


def position(lane: RoverGroup) -> tuple[float, float]:
    """Where a lone lane is, with what rounding took away."""
    return lane.pose.north_m, lane.pose.east_m


def pose_values(lane: RoverGroup) -> dict[str, Any]:
    """All pose fields of a lone lane."""
    return {name: getattr(lane.pose, name) for name in POSE_FIELDS}


def specific_force(lane: RoverGroup) -> tuple[float, float, float]:
    """What a perfect accelerometer at the reference point reads, FRD."""
    m, g = lane.motion, 9.80665
    a, b, c = m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2 - g
    return (
        m.r00 * a + m.r10 * b + m.r20 * c,
        m.r01 * a + m.r11 * b + m.r21 * c,
        m.r02 * a + m.r12 * b + m.r22 * c,
    )
