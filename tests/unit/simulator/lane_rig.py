"""Lanes on a test bench: built from a description, driven by constant commands."""

from __future__ import annotations

import math
from typing import Any

from pico_gz.core.rover_spec import RoverSpec, rover_spec
from pico_gz.core.vehicle_config import DriveKind, Pose
from pico_gz.simulator.kinematics import POSE_FIELDS
from pico_gz.simulator.models import ModelTable
from pico_gz.simulator.rover import Rover
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
) -> Rover:
    """One vehicle."""
    rover = Rover(spec, ModelTable().drive(spec), terrain or FlatTerrain(), Pose())
    rover.put(*pose, speed_mps)
    return rover


def run(lane: Rover, commands: tuple[float, float], *, steps: int, dt_us: int = 10_000) -> Rover:
    """Drive a lone lane with one command."""
    lane.commands = commands
    for _ in range(steps):
        lane.advance(dt_us, None)
        lane.observe(None)
    return lane


def yaw_rad(lane: Rover) -> float:
    """Heading of a lone lane."""
    return math.atan2(lane.pose.sin_yaw, lane.pose.cos_yaw)


def position(lane: Rover) -> tuple[float, float]:
    """Where a lone lane is, with what rounding took away."""
    return lane.pose.north_m, lane.pose.east_m


def pose_values(lane: Rover) -> dict[str, Any]:
    """All pose fields of a lone lane."""
    return {name: getattr(lane.pose, name) for name in POSE_FIELDS}


def specific_force(lane: Rover) -> tuple[float, float, float]:
    """What a perfect accelerometer at the reference point reads, FRD."""
    m, g = lane.motion, 9.80665
    a, b, c = m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2 - g
    return (
        m.r00 * a + m.r10 * b + m.r20 * c,
        m.r01 * a + m.r11 * b + m.r21 * c,
        m.r02 * a + m.r12 * b + m.r22 * c,
    )
