"""Skid and Ackermann steering."""

from __future__ import annotations

import msgspec

from pico_gz.core.portable_math import FLOATS, RAD_PER_DEG, sincos, sincos_small
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.simulator.drive_model import (
    Lag,
    Rows,
    Shaping,
    SpeedLaw,
    Travel,
    grip_matters,
    make_lag,
    rows,
    within_grip,
)
from pico_gz.simulator.ops import SCALAR, Column, Ops


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


# Up to here the short series of sine and cosine are exact [rad].
_SMALL_RAD = 0.78


class _AckermannConstants(msgspec.Struct, gc=False):
    speed: SpeedLaw
    dt_s: float
    steer_step_rad: float
    roll: float


class AckermannDrive:
    """``w = v tan(delta) / (L + K v^2)``, with a steering servo of limited rate."""

    memory_size = 2

    def __init__(self, spec: RoverSpec) -> None:
        self._spec = spec
        self._shaping = Shaping(spec)
        self._max_steer_rad = spec.max_steer_deg * RAD_PER_DEG
        self._small = self._max_steer_rad <= _SMALL_RAD
        self._forward = 1.0 - spec.slip
        self._half_track_m = 0.5 * spec.track_m
        self._unload = 1.0 / spec.max_speed
        self._grip_mps2 = spec.grip_mu * GRAVITY_MPS2 if grip_matters(spec) else 0.0
        sine, _ = sincos(FLOATS, self._max_steer_rad)
        self._sine_base_m = 0.5 * spec.turn_circle_m * sine
        limits = [rate for rate in (spec.yaw_clamp_radps, spec.max_turn_rate) if rate > 0.0]
        self._most_radps = min(limits, default=0.0)

    def constants(self, dt_us: int) -> _AckermannConstants:
        """The lag of the motor and the reach of the servo for this step length."""
        dt_s = dt_us / US_PER_S
        return _AckermannConstants(
            SpeedLaw(self._spec, dt_us),
            dt_s,
            self._spec.steer_rate_degps * RAD_PER_DEG * dt_s,
            dt_s / self._spec.wheel_radius_m,
        )

    def advance(
        self,
        ops: Ops,
        constants: _AckermannConstants,
        memory: Rows,
        yaw_radps: Column,
        commands: Rows,
        battery_ratio: Column,
        push_mps2: Column | None,
    ) -> Travel:
        """Advance one step; memory is (wheel speed [m/s], steering angle [rad])."""
        wheel_before, steer_before = memory
        throttle, steering = commands
        full = self._spec.max_speed
        if self._spec.battery_scaling:
            full = full * battery_ratio
        target = self._shaping.apply(ops, throttle) * full
        wheel, wheel_mean = constants.speed.advance(ops, wheel_before, target, push_mps2)
        steer, steer_mean = self._steer(ops, constants, steer_before, steering)
        speed = wheel * self._forward
        speed_mean = wheel_mean * self._forward
        yaw = self._yaw(ops, speed, steer)
        yaw_mean = self._yaw(ops, speed_mean, steer_mean)
        # The outer wheel runs ahead of the inner one: a right turn speeds the left wheel up.
        spread = yaw_mean * self._half_track_m
        load = ops.minimum(ops.absolute(target - wheel) * self._unload, 1.0)
        return Travel(
            rows(ops, wheel, steer),
            speed_mean,
            yaw_mean,
            speed,
            yaw,
            (wheel_mean + spread) * constants.roll,
            (wheel_mean - spread) * constants.roll,
            load,
            load,
            ops.absolute(throttle),
        )

    def _steer(
        self, ops: Ops, constants: _AckermannConstants, before: Column, steering: Column
    ) -> tuple[Column, Column]:
        """Move the servo at its rate; returns its angle at the end and the mean."""
        target = steering * self._max_steer_rad
        reach = constants.steer_step_rad
        if reach == 0.0:
            return target, target
        gap = target - before
        far = ops.absolute(gap) > reach
        move = ops.where(far, ops.where(gap < 0.0, -reach, reach), gap)
        end = ops.where(far, before + move, target)
        # It moves for |move|/reach of the step and then waits at the target.
        share = ops.absolute(move) / reach
        return end, end - 0.5 * move * share

    def _yaw(self, ops: Ops, speed: Column, steer: Column) -> Column:
        sine, cosine = sincos_small(steer) if self._small else sincos(ops, steer)
        if self._spec.turn_circle_m > 0.0:
            yaw = speed * sine / self._sine_base_m
        elif self._spec.understeer_s2pm > 0.0:
            base = self._spec.wheel_base + self._spec.understeer_s2pm * (speed * speed)
            yaw = speed * (sine / cosine) / base
        else:
            yaw = speed * (sine / cosine) / self._spec.wheel_base
        if self._most_radps > 0.0:
            yaw = ops.clip(yaw, -self._most_radps, self._most_radps)
        if self._grip_mps2 > 0.0:
            yaw = within_grip(ops, yaw, speed, self._grip_mps2)
        return yaw

    def blocked(self, memory: tuple[float, ...]) -> tuple[float, ...]:
        """Stop the wheels; the steering stays where it is."""
        return (0.0, memory[1])

    def moving(self, speed_mps: float) -> tuple[float, ...]:
        """Wheels straight, fast enough to make up for slip."""
        return (speed_mps / self._forward, 0.0)
