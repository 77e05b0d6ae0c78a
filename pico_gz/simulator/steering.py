"""Skid and Ackermann steering."""

from __future__ import annotations

from typing import Final

from pico_gz.core.portable_math import RAD_PER_DEG, sincos, sincos_small
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.subclassable import mypyc_attr
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.simulator.drive_model import (
    KEPT_STEPS,
    Lag,
    Shaping,
    SpeedLaw,
    Travel,
    grip_matters,
    within_grip,
)


class _Constants:
    """What depends on the length of a step."""

    __slots__ = ("law", "roll", "steer_step_rad", "yaw")

    def __init__(self, spec: RoverSpec, dt_us: int) -> None:
        dt_s = dt_us / US_PER_S
        self.law = SpeedLaw(spec, dt_us)
        self.yaw = Lag(spec.yaw_lag_s, dt_s)
        self.roll = dt_s / spec.wheel_radius_m  # wheel turn per side speed
        self.steer_step_rad = spec.steer_rate_degps * RAD_PER_DEG * dt_s


@mypyc_attr(allow_interpreted_subclasses=True)
class _WheelDrive:
    """What both ways of steering share."""

    def __init__(self, spec: RoverSpec) -> None:
        self.spec = spec
        self.shaping = Shaping(spec)
        self.full_mps = spec.max_speed
        self.battery_scaling = spec.battery_scaling
        self.unload = 1.0 / spec.max_speed
        self.grip_mps2 = spec.grip_mu * GRAVITY_MPS2 if grip_matters(spec) else 0.0
        self._steps: dict[int, _Constants] = {}
        self.constants = _Constants(spec, 1)
        self._travel = Travel()

    def prepare(self, dt_us: int) -> None:
        """Work out lags and reaches, or find them again."""
        if dt_us not in self._steps:
            if len(self._steps) >= KEPT_STEPS:
                self._steps.clear()
            self._steps[dt_us] = _Constants(self.spec, dt_us)
        self.constants = self._steps[dt_us]


@mypyc_attr(allow_interpreted_subclasses=True)
class SkidDrive(_WheelDrive):
    """Speed is the mean of both sides, yaw rate their difference over the effective track.

    Its memory is the speed of (left, right) at the wheels [m/s].
    """

    def __init__(self, spec: RoverSpec) -> None:
        super().__init__(spec)
        track_m = spec.effective_track_m
        self.forward = 0.5 * (1.0 - spec.slip)
        self.turn = (1.0 - spec.slip) / track_m
        self.difference_mps = spec.max_turn_rate * track_m
        self.skid_turn_radps = spec.skid_turn_radps
        self.lags = spec.yaw_lag_s > 0.0
        self.yaw_clamp_radps = spec.yaw_clamp_radps

    def advance(
        self,
        memory: tuple[float, ...],
        yaw_radps: float,
        commands: tuple[float, float],
        battery_ratio: float,
        push_mps2: float | None,
    ) -> Travel:
        """Advance one step."""
        constants, travel = self.constants, self._travel
        first, second = commands
        left_before, right_before = memory
        full = self.full_mps
        if self.battery_scaling:
            full = full * battery_ratio
        left_target = self.shaping.apply(first) * full
        right_target = self.shaping.apply(second) * full
        most = self.difference_mps
        if most > 0.0:
            # Bring the sides nearer to each other where they ask for too fast a turn.
            difference = left_target - right_target
            if abs(difference) > most:
                half = 0.5 * (-most if difference < 0.0 else most)
                middle = 0.5 * (left_target + right_target)
                left_target, right_target = middle + half, middle - half
        left, left_mean = constants.law.advance(left_before, left_target, push_mps2)
        right, right_mean = constants.law.advance(right_before, right_target, push_mps2)
        travel.memory = (left, right)
        travel.speed_mean_mps = (left_mean + right_mean) * self.forward
        travel.speed_mps = (left + right) * self.forward
        self._steer(yaw_radps, first - second, left_mean - right_mean, left - right)
        travel.turn_left_rad = left_mean * constants.roll
        travel.turn_right_rad = right_mean * constants.roll
        load = abs(left_target - left) * self.unload
        travel.load_left = 1.0 if load > 1.0 else load
        load = abs(right_target - right) * self.unload
        travel.load_right = 1.0 if load > 1.0 else load
        travel.throttle_abs = 0.5 * (abs(first) + abs(second))
        return travel

    def _steer(self, before: float, asked: float, difference_mean: float, end: float) -> None:
        """Set the yaw rates; ``end`` is the difference of the sides at the end of the step."""
        if self.skid_turn_radps > 0.0:
            mean = end = asked * self.skid_turn_radps
        else:
            mean = difference_mean * self.turn
            end = end * self.turn
        if self.lags:
            behind = mean - before
            end = mean - behind * self.constants.yaw.left_end
            mean = mean - behind * self.constants.yaw.left_mean
        most = self.yaw_clamp_radps
        if most > 0.0:
            end = -most if end < -most else most if end > most else end
            mean = -most if mean < -most else most if mean > most else mean
        travel = self._travel
        if self.grip_mps2 > 0.0:
            mean = within_grip(mean, travel.speed_mean_mps, self.grip_mps2)
            end = within_grip(end, travel.speed_mps, self.grip_mps2)
        travel.yaw_mean_radps, travel.yaw_radps = mean, end

    def blocked(self, memory: tuple[float, ...]) -> tuple[float, ...]:
        """Stop the common part of both sides; it may still spin."""
        half = 0.5 * (memory[0] - memory[1])
        return (half, -half)

    def moving(self, speed_mps: float) -> tuple[float, ...]:
        """Both sides alike, fast enough to make up for slip."""
        side = 0.5 * speed_mps / self.forward
        return (side, side)


# Up to here the short series of sine and cosine are exact [rad].
_SMALL_RAD: Final = 0.78


@mypyc_attr(allow_interpreted_subclasses=True)
class AckermannDrive(_WheelDrive):
    """``w = v tan(delta) / (L + K v^2)``, with a steering servo of limited rate.

    Its memory is (wheel speed [m/s], steering angle [rad]).
    """

    def __init__(self, spec: RoverSpec) -> None:
        super().__init__(spec)
        self.max_steer_rad = spec.max_steer_deg * RAD_PER_DEG
        self.small = self.max_steer_rad <= _SMALL_RAD
        self.forward = 1.0 - spec.slip
        self.half_track_m = 0.5 * spec.track_m
        self.turns_by_circle = spec.turn_circle_m > 0.0
        self.sine_base_m = 0.5 * spec.turn_circle_m * sincos(self.max_steer_rad)[0]
        self.wheel_base_m = spec.wheel_base
        self.understeer_s2pm = spec.understeer_s2pm
        limits = [rate for rate in (spec.yaw_clamp_radps, spec.max_turn_rate) if rate > 0.0]
        self.most_radps = min(limits, default=0.0)

    def advance(
        self,
        memory: tuple[float, ...],
        yaw_radps: float,
        commands: tuple[float, float],
        battery_ratio: float,
        push_mps2: float | None,
    ) -> Travel:
        """Advance one step."""
        constants, travel = self.constants, self._travel
        wheel_before, steer_before = memory
        throttle, steering = commands
        full = self.full_mps
        if self.battery_scaling:
            full = full * battery_ratio
        target = self.shaping.apply(throttle) * full
        wheel, wheel_mean = constants.law.advance(wheel_before, target, push_mps2)
        steer, steer_mean = self._steer(steer_before, steering * self.max_steer_rad)
        travel.memory = (wheel, steer)
        travel.speed_mps = speed = wheel * self.forward
        travel.speed_mean_mps = speed_mean = wheel_mean * self.forward
        travel.yaw_radps = self._yaw(speed, steer)
        travel.yaw_mean_radps = yaw_mean = self._yaw(speed_mean, steer_mean)
        # The outer wheel runs ahead of the inner one: a right turn speeds the left wheel up.
        spread = yaw_mean * self.half_track_m
        travel.turn_left_rad = (wheel_mean + spread) * constants.roll
        travel.turn_right_rad = (wheel_mean - spread) * constants.roll
        load = abs(target - wheel) * self.unload
        travel.load_left = travel.load_right = 1.0 if load >= 1.0 else load
        travel.throttle_abs = abs(throttle)
        return travel

    def _steer(self, before: float, target: float) -> tuple[float, float]:
        """Move the servo at its rate; returns its angle at the end and the mean."""
        reach = self.constants.steer_step_rad
        if reach == 0.0:
            return target, target
        move = target - before
        end = target
        if abs(move) > reach:
            move = -reach if move < 0.0 else reach
            end = before + move
        # It moves for |move|/reach of the step and then waits at the target.
        share = abs(move) / reach
        return end, end - 0.5 * move * share

    def _yaw(self, speed: float, steer: float) -> float:
        sine, cosine = sincos_small(steer) if self.small else sincos(steer)
        if self.turns_by_circle:
            yaw = speed * sine / self.sine_base_m
        else:
            base = self.wheel_base_m
            if self.understeer_s2pm > 0.0:
                base = base + self.understeer_s2pm * (speed * speed)
            yaw = speed * (sine / cosine) / base
        most = self.most_radps
        if most > 0.0:
            yaw = -most if yaw < -most else most if yaw > most else yaw
        if self.grip_mps2 > 0.0:
            yaw = within_grip(yaw, speed, self.grip_mps2)
        return yaw

    def blocked(self, memory: tuple[float, ...]) -> tuple[float, ...]:
        """Stop the wheels; the steering stays where it is."""
        return (0.0, memory[1])

    def moving(self, speed_mps: float) -> tuple[float, ...]:
        """Wheels straight, fast enough to make up for slip."""
        return (speed_mps / self.forward, 0.0)
