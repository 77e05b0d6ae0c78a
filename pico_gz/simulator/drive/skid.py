"""Differential and skid steer: two sides, each with its own motors."""

from __future__ import annotations

import msgspec

from pico_gz.rover import RoverSpec
from pico_gz.simulator.drive.base import Rows, Travel, rows
from pico_gz.simulator.drive.grip import grip_matters, within_grip
from pico_gz.simulator.drive.shaping import Shaping
from pico_gz.simulator.drive.speed import Lag, SpeedLaw, make_lag
from pico_gz.simulator.ops import SCALAR, Column, Ops
from pico_gz.units import GRAVITY_MPS2, US_PER_S


class _Constants(msgspec.Struct, gc=False):
    speed: SpeedLaw
    yaw: Lag
    roll: float  # wheel turn per side speed: dt / wheel radius


class SkidDrive:
    """Speed is the mean of both sides, yaw rate their difference over the effective track."""

    memory_size = 2

    def __init__(self, spec: RoverSpec) -> None:
        self._spec = spec
        self._shaping = Shaping(spec)
        track_m = spec.effective_track_m
        self._forward = 0.5 * (1.0 - spec.slip)
        self._turn = (1.0 - spec.slip) / track_m
        self._difference_mps = spec.max_turn_rate * track_m
        self._skid_turn_radps = spec.skid_turn_radps
        self._lags = spec.yaw_lag_s > 0.0
        self._yaw_clamp_radps = spec.yaw_clamp_radps
        self._full_mps = spec.max_speed
        self._battery_scaling = spec.battery_scaling
        self._unload = 1.0 / spec.max_speed
        self._grip_mps2 = spec.grip_mu * GRAVITY_MPS2 if grip_matters(spec) else 0.0

    def constants(self, dt_us: int) -> _Constants:
        """Lags of sides and yaw for this step length."""
        dt_s = dt_us / US_PER_S
        return _Constants(
            SpeedLaw(self._spec, dt_us),
            make_lag(self._spec.yaw_lag_s, dt_s),
            dt_s / self._spec.wheel_radius_m,
        )

    def advance(
        self,
        ops: Ops,
        constants: _Constants,
        memory: Rows,
        yaw_radps: Column,
        commands: Rows,
        battery_ratio: Column,
        push_mps2: Column | None,
    ) -> Travel:
        """Advance one step; memory is the speed of (left, right) at the wheels [m/s]."""
        targets = self._targets(ops, commands, battery_ratio)
        law = constants.speed
        if ops is SCALAR:
            (left_before, right_before), (left_target, right_target) = memory, targets
            left, left_mean = law.advance(ops, left_before, left_target, push_mps2)
            right, right_mean = law.advance(ops, right_before, right_target, push_mps2)
            ends: Rows = (left, right)
            load_left = abs(left_target - left) * self._unload
            load_right = abs(right_target - right) * self._unload
            if load_left > 1.0:
                load_left = 1.0
            if load_right > 1.0:
                load_right = 1.0
        else:
            # Both sides in one array: half the calls for the same numbers.
            ends, means = law.advance(ops, memory, targets, push_mps2)
            (left, right), (left_mean, right_mean) = ends, means
            load_left, load_right = self._load(ops, targets, ends)
        speed_mean = (left_mean + right_mean) * self._forward
        speed = (left + right) * self._forward
        yaw_mean, yaw = self._yaw(
            ops, constants, yaw_radps, commands, left_mean - right_mean, left - right
        )
        if self._grip_mps2 > 0.0:
            yaw_mean = within_grip(ops, yaw_mean, speed_mean, self._grip_mps2)
            yaw = within_grip(ops, yaw, speed, self._grip_mps2)
        roll = constants.roll
        first, second = commands
        return Travel(
            ends,
            speed_mean,
            yaw_mean,
            speed,
            yaw,
            left_mean * roll,
            right_mean * roll,
            load_left,
            load_right,
            0.5 * (abs(first) + abs(second)),
        )

    def _targets(self, ops: Ops, commands: Rows, battery_ratio: Column) -> Rows:
        full = self._full_mps
        if self._battery_scaling:
            full = full * battery_ratio
        if ops is SCALAR:
            shape = self._shaping.of_one
            first, second = commands
            targets: Rows = (shape(first) * full, shape(second) * full)
        else:
            targets = self._shaping.apply(ops, commands) * full
        if self._difference_mps > 0.0:
            targets = self._turn_limited(ops, targets)
        return targets

    def _turn_limited(self, ops: Ops, targets: Rows) -> Rows:
        """Bring the sides nearer to each other where they ask for too fast a turn."""
        left, right = targets
        difference = left - right
        most = self._difference_mps
        over = abs(difference) > most
        if not ops.any(over):
            return targets
        half = 0.5 * ops.where(difference < 0.0, -most, most)
        middle = 0.5 * (left + right)
        limited_left = ops.where(over, middle + half, left)
        limited_right = ops.where(over, middle - half, right)
        return rows(ops, limited_left, limited_right)

    def _yaw(
        self,
        ops: Ops,
        constants: _Constants,
        before: Column,
        commands: Rows,
        difference_mean: Column,
        difference: Column,
    ) -> tuple[Column, Column]:
        if self._skid_turn_radps > 0.0:
            mean = (commands[0] - commands[1]) * self._skid_turn_radps
            end = mean
        else:
            mean = difference_mean * self._turn
            end = difference * self._turn
        if self._lags:
            behind = mean - before
            end = mean - behind * constants.yaw.left_end
            mean = mean - behind * constants.yaw.left_mean
        most = self._yaw_clamp_radps
        if most > 0.0:
            end, mean = ops.clip(end, -most, most), ops.clip(mean, -most, most)
        return mean, end

    def _load(self, ops: Ops, targets: Rows, speeds: Rows) -> Rows:
        return ops.minimum(ops.absolute(targets - speeds) * self._unload, 1.0)

    def blocked(self, memory: tuple[float, ...]) -> tuple[float, ...]:
        """Stop the common part of both sides; it may still spin."""
        half = 0.5 * (memory[0] - memory[1])
        return (half, -half)

    def moving(self, speed_mps: float) -> tuple[float, ...]:
        """Both sides alike, fast enough to make up for slip."""
        side = 0.5 * speed_mps / self._forward
        return (side, side)
