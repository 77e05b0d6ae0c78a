"""Ackermann steering: driven rear wheels, steered front wheels; reference is the rear axle."""

from __future__ import annotations

import msgspec

from pico_gz.exact import FLOATS, RAD_PER_DEG, sincos, sincos_small
from pico_gz.rover import RoverSpec
from pico_gz.simulator.drive.base import Rows, Travel, rows
from pico_gz.simulator.drive.grip import grip_matters, within_grip
from pico_gz.simulator.drive.shaping import Shaping
from pico_gz.simulator.drive.speed import SpeedLaw
from pico_gz.simulator.ops import Column, Ops
from pico_gz.units import GRAVITY_MPS2, US_PER_S

# Up to here the short series of sine and cosine are exact [rad].
_SMALL_RAD = 0.78


class _Constants(msgspec.Struct, gc=False):
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

    def constants(self, dt_us: int) -> _Constants:
        """The lag of the motor and the reach of the servo for this step length."""
        dt_s = dt_us / US_PER_S
        return _Constants(
            SpeedLaw(self._spec, dt_us),
            dt_s,
            self._spec.steer_rate_degps * RAD_PER_DEG * dt_s,
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
        self, ops: Ops, constants: _Constants, before: Column, steering: Column
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
