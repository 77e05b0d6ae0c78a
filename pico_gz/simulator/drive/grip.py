"""The grip limit: the tyres bear only so much sideways acceleration."""

from __future__ import annotations

from pico_gz.messages import DriveKind
from pico_gz.rover import MAX_BATTERY_RATIO, RoverSpec
from pico_gz.simulator.ops import Column, Ops
from pico_gz.units import GRAVITY_MPS2


def grip_matters(spec: RoverSpec) -> bool:
    """Whether any command could ask for more sideways force than the grip gives."""
    if spec.grip_mu == 0.0:
        return False
    fastest = spec.max_speed * (MAX_BATTERY_RATIO if spec.battery_scaling else 1.0)
    worst_mps2 = fastest * spec.top_yaw_radps
    if spec.drive is DriveKind.SKID and spec.skid_turn_radps == 0.0:
        # (left + right)/2 * (left - right)/track is greatest with one side standing.
        worst_mps2 = 0.5 * fastest * fastest / spec.effective_track_m
    return worst_mps2 > spec.grip_mu * GRAVITY_MPS2


def within_grip(ops: Ops, yaw_radps: Column, speed_mps: Column, most_mps2: float) -> Column:
    """Scale the yaw rate so that |speed * yaw rate| stays within the grip."""
    asked = ops.absolute(yaw_radps * speed_mps)
    over = asked > most_mps2
    if not ops.any(over):
        return yaw_radps
    return ops.where(over, yaw_radps * (most_mps2 / ops.where(over, asked, 1.0)), yaw_radps)
