"""Speed and turn-rate controllers, mixing and servo outputs."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, sqrt
from typing import TYPE_CHECKING, Final

from pico_gz.core.portable_math import RAD_PER_DEG, TWO_PI
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.vehicle.autopilot.parameters import ParamStore

if TYPE_CHECKING:
    from pico_gz.vehicle.platform.platform import SitlPlatform
    from pico_gz.vehicle.platform.pwm import SitlPwm


_MIN_STEER_SPEED_MPS: Final = 0.2


def clamp(value: float, limit: float) -> float:
    """Bring a value into -limit..limit."""
    if value > limit:
        return limit
    return -limit if value < -limit else value


def step_towards(value: float, target: float, step: float) -> float:
    """Move towards a target by at most ``step``."""
    if target > value + step:
        return value + step
    return value - step if target < value - step else target


class Pid(Snapshot):
    """Proportional, integral and derivative on a low-passed error; gains by parameter names."""

    _state_fields = ("error", "integral")
    __slots__ = (*_state_fields, "_d", "_filter_radps", "_i", "_imax", "_p", "_prefix")

    def __init__(self, params: Mapping[str, float], prefix: str) -> None:
        self._prefix = prefix
        self.take_params(params)
        self.error = 0.0
        self.integral = 0.0

    def take_params(self, params: Mapping[str, float]) -> None:
        """Use these parameters from now on."""
        prefix = self._prefix
        self._p, self._i, self._d = (params[f"{prefix}_{gain}"] for gain in "PID")
        self._imax = params[f"{prefix}_IMAX"]
        self._filter_radps = TWO_PI * params[f"{prefix}_FLTE"]

    def reset(self) -> None:
        """Clear the last error and the integral."""
        self.error = self.integral = 0.0

    def update(self, error: float, dt_s: float, saturated: bool) -> float:
        """Return the output; while saturated the integral may only shrink."""
        before = self.error
        w_dt = self._filter_radps * dt_s
        self.error = filtered = before + (error - before) * (w_dt / (1.0 + w_dt) if w_dt else 1.0)
        grown = self.integral + self._i * filtered * dt_s
        if not saturated or abs(grown) < abs(self.integral):
            self.integral = clamp(grown, self._imax)
        output = self._p * filtered + self.integral
        return output + self._d * (filtered - before) / dt_s if self._d else output


class SpeedController(Snapshot):
    """Desired speed to throttle.

    Attributes:
        target_mps: desired speed after the acceleration limit.
        error_mps: target minus speed.
        saturated: the last output hit a limit; set by who mixes the outputs.
        decel_mps2: how hard it may slow down.
        stop_mps: slower than this is standing.
    """

    _state_fields = ("error_mps", "pid", "saturated", "target_mps")
    __slots__ = (
        *_state_fields, "_accel_mps2", "_brakes", "_cruise_mps", "_cruise_percent", "decel_mps2",
        "stop_mps",
    )  # fmt: skip

    def __init__(self, params: Mapping[str, float]) -> None:
        self.pid = Pid(params, "ATC_SPEED")
        self.take_params(params)
        self.target_mps = 0.0
        self.error_mps = 0.0
        self.saturated = False

    def take_params(self, params: Mapping[str, float]) -> None:
        """Use these parameters from now on."""
        self.pid.take_params(params)
        self._accel_mps2 = params["ATC_ACCEL_MAX"] or 10.0
        self.decel_mps2 = params["ATC_DECEL_MAX"] or self._accel_mps2
        self.stop_mps = params["ATC_STOP_SPEED"]
        self._cruise_mps = params["CRUISE_SPEED"]
        self._cruise_percent = params["CRUISE_THROTTLE"]
        self._brakes = bool(params["ATC_BRAKE"])

    def reset(self, speed_mps: float = 0.0) -> None:
        """Start again from the speed that the rover has."""
        self.pid.reset()
        self.target_mps = speed_mps
        self.error_mps = 0.0

    def update(self, desired_mps: float, speed_mps: float, dt_s: float) -> float:
        """Return the throttle, -1..1."""
        target = self.target_mps
        faster = abs(desired_mps) > abs(target) and desired_mps * target >= 0.0
        limit = self._accel_mps2 if faster else self.decel_mps2
        self.target_mps = target = step_towards(target, desired_mps, limit * dt_s)
        self.error_mps = error = target - speed_mps
        stopping = desired_mps == 0.0 and target == 0.0
        if stopping and abs(speed_mps) < self.stop_mps:
            self.pid.reset()
            return 0.0
        cruise = self._cruise_mps
        forward = target * self._cruise_percent * 0.01 / cruise if cruise > 0.0 else 0.0
        throttle = forward + self.pid.update(error, dt_s, self.saturated)
        if not self._brakes and throttle * target < 0.0:
            throttle = 0.0
        return clamp(throttle, 1.0)


class TurnController(Snapshot):
    """Desired turn rate to steering, -1..1.

    A skid-steered rover turns in proportion to the steering. A car turns with its speed, so
    there the steering is the curvature times its smallest turning radius.

    Attributes:
        rate_limit_radps: the fastest turn that is asked for.
    """

    _state_fields = ("pid", "saturated", "target_radps")
    __slots__ = (
        *_state_fields, "_feed_forward", "_step_radps2", "_turn_radius_m",
        "rate_limit_radps", "skid",
    )  # fmt: skip

    def __init__(self, params: Mapping[str, float], drive: DriveKind) -> None:
        self.skid = drive is DriveKind.SKID
        self.pid = Pid(params, "ATC_STR_RAT")
        self.take_params(params)
        self.target_radps = 0.0
        self.saturated = False

    def take_params(self, params: Mapping[str, float]) -> None:
        """Use these parameters from now on."""
        self.pid.take_params(params)
        self.rate_limit_radps = (params["ATC_STR_RAT_MAX"] or 360.0) * RAD_PER_DEG
        self._step_radps2 = (params["ATC_STR_ACC_MAX"] or 1e6) * RAD_PER_DEG
        self._feed_forward = params["ATC_STR_RAT_FF"]
        self._turn_radius_m = params["TURN_RADIUS"]

    def reset(self) -> None:
        """Start again."""
        self.pid.reset()
        self.target_radps = 0.0

    def update(
        self, desired_radps: float, rate_radps: float, speed_mps: float, dt_s: float
    ) -> float:
        """Return the steering; ``speed_mps`` is the speed it drives or is about to drive."""
        step = self._step_radps2 * dt_s
        desired = clamp(desired_radps, self.rate_limit_radps)
        self.target_radps = target = step_towards(self.target_radps, desired, step)
        if self.skid:
            feedback = self.pid.update(target - rate_radps, dt_s, self.saturated)
            steering = self._feed_forward * target + feedback
        else:
            steering = self._car_steering(target, rate_radps, speed_mps, dt_s)
        limited = clamp(steering, 1.0)
        self.saturated = limited != steering
        return limited

    def _car_steering(
        self, target: float, rate_radps: float, speed_mps: float, dt_s: float
    ) -> float:
        speed = speed_mps
        if -_MIN_STEER_SPEED_MPS < speed < _MIN_STEER_SPEED_MPS:
            speed = -_MIN_STEER_SPEED_MPS if speed < 0.0 else _MIN_STEER_SPEED_MPS
            # Nearly standing, the turn rate says nothing about the steering.
            rate_radps = target
        gain = self._feed_forward or 0.2
        feedback = self.pid.update(target - rate_radps, dt_s, self.saturated) / gain
        return self._turn_radius_m * (target + feedback) / speed


def mix_skid(throttle: float, steering: float, steering_share: float) -> tuple[float, float]:
    """Return (left, right) in -1..1 for a skid-steered rover.

    When both together ask for more than a side has, they give way to each other:
    ``steering_share`` 0.5 scales both alike, so the curve stays the same; 1 keeps the
    steering and 0 keeps the throttle.
    """
    asked = abs(throttle) + abs(steering)
    if asked > 1.0:
        fair = 1.0 / asked
        if steering_share >= 0.5:
            steering *= fair + (1.0 - fair) * (2.0 * steering_share - 1.0)
            throttle = _rest(throttle, steering)
        else:
            throttle *= fair + (1.0 - fair) * (1.0 - 2.0 * steering_share)
            steering = _rest(steering, throttle)
    return throttle + steering, throttle - steering


def shape_throttle(throttle: float, min_percent: float, max_percent: float, expo: float) -> float:
    """Apply thrust curve, dead zone and ceiling to a motor command in -1..1.

    ``expo`` > 0 lifts the middle of the curve; below ``min_percent`` a motor does not turn, so
    any command starts there.
    """
    size = abs(throttle)
    if size < 1e-3:
        return 0.0
    if expo > 0.0:
        size = (expo - 1.0 + sqrt((1.0 - expo) * (1.0 - expo) + 4.0 * expo * size)) / (2.0 * expo)
    elif expo < 0.0:
        size = size * (1.0 + expo) - expo * size * size
    if min_percent:
        low = 0.01 * min_percent
        size = low + (1.0 - low) * size
    top = 0.01 * max_percent
    if size > top:
        size = top
    return -size if throttle < 0.0 else size


def _rest(value: float, taken: float) -> float:
    left = 1.0 - abs(taken)
    if left < 0.0:
        left = 0.0
    return -left if value < 0.0 else left


THROTTLE_LEFT, THROTTLE_RIGHT, STEERING, THROTTLE = 73, 74, 26, 70
_CHANNELS_WITH_PARAMETERS = range(1, 9)


class _Servo:
    """A claimed channel that turns -1..1 into its pulses."""

    __slots__ = ("_down_us", "_middle_us", "_sign", "_up_us", "pwm")

    def __init__(self, pwm: SitlPwm, params: Mapping[str, float]) -> None:
        self.pwm = pwm
        self.take_params(params)

    def take_params(self, params: Mapping[str, float]) -> None:
        self._sign, self._middle_us, self._up_us, self._down_us = 1.0, 1500.0, 500.0, 500.0
        if self.pwm.channel in _CHANNELS_WITH_PARAMETERS:
            name = f"SERVO{self.pwm.channel}"
            self._sign = -1.0 if params[f"{name}_REVERSED"] else 1.0
            self._middle_us = middle = params[f"{name}_TRIM"]
            self._up_us = params[f"{name}_MAX"] - middle
            self._down_us = middle - params[f"{name}_MIN"]

    def write(self, value: float) -> None:
        value *= self._sign
        span = self._up_us if value >= 0.0 else self._down_us
        # Always written: what the channel gives now may come from a snapshot.
        self.pwm.set_pulse_us(floor(self._middle_us + value * span + 0.5))


class ServoOutputs(Snapshot):
    """Claims two channels of the platform and drives them.

    Attributes:
        throttle: what was last asked for, -1..1, after the slew limit; also ``steering``.
        limited: throttle and steering did not both fit.
    """

    _state_fields = ("limited", "steering", "throttle")
    __slots__ = (
        *_state_fields, "_expo", "_first", "_high_percent", "_low_percent", "_params", "_second",
        "_silent_disarmed", "_skid", "_slew_per_s", "_steering_share",
    )  # fmt: skip

    def __init__(self, params: ParamStore, drive: DriveKind) -> None:
        self._params = params
        self._skid = drive is DriveKind.SKID
        self._first: _Servo | None = None
        self._second: _Servo | None = None
        self.take_params(params.values)
        self.throttle = 0.0
        self.steering = 0.0
        self.limited = False

    def take_params(self, params: Mapping[str, float]) -> None:
        """Use these parameters from now on."""
        self._slew_per_s = params["MOT_SLEWRATE"] * 0.01
        self._low_percent, self._high_percent = params["MOT_THR_MIN"], params["MOT_THR_MAX"]
        self._expo = params["MOT_THST_EXPO"]
        self._steering_share = params["MOT_STR_THR_MIX"]
        self._silent_disarmed = bool(params["MOT_SAFE_DISARM"])
        if self._first is not None and self._second is not None:
            self._first.take_params(params)
            self._second.take_params(params)

    def claim(self, platform: SitlPlatform) -> None:
        """Claim the channels that SERVOn_FUNCTION names, else those of the board's wiring."""
        channels = platform.channels
        if self._skid:
            first = self._channel_of(THROTTLE_LEFT, channels.left)
            second = self._channel_of(THROTTLE_RIGHT, channels.right)
        else:
            first = self._channel_of(THROTTLE, channels.throttle)
            second = self._channel_of(STEERING, channels.steering)
        self._first, self._second = (
            _Servo(platform.create_pwm(number, owner="the rover autopilot"), self._params.values)
            for number in (first, second)
        )

    def _channel_of(self, function: int, wired: int) -> int:
        for number in _CHANNELS_WITH_PARAMETERS:
            if self._params.values[f"SERVO{number}_FUNCTION"] == function:
                return number
        if wired in _CHANNELS_WITH_PARAMETERS:
            self._params.note(f"SERVO{wired}_FUNCTION", function)
        return wired

    def neutral(self) -> None:
        """Stop every motor, whatever else is wanted."""
        self.throttle = self.steering = 0.0
        self.limited = False
        self._write(0.0, 0.0)
        if self._silent_disarmed and self._first is not None and self._second is not None:
            # No pulses to the motors at all; a steering servo stays centred.
            self._first.pwm.set_pulse_us(0)
            if self._skid:
                self._second.pwm.set_pulse_us(0)

    def test(self, first: float, second: float) -> None:
        """Turn the motors of the two channels, -1..1, without mixing or limits."""
        self._write(first, second)

    def drive(self, throttle: float, steering: float, dt_s: float) -> None:
        """Drive with throttle and steering in -1..1, right positive."""
        slew = self._slew_per_s * dt_s
        if slew > 0.0:
            throttle = step_towards(self.throttle, throttle, slew)
        self.throttle, self.steering = throttle, steering
        low, high, expo = self._low_percent, self._high_percent, self._expo
        if self._skid:
            left, right = mix_skid(throttle, steering, self._steering_share)
            self.limited = abs(throttle) + abs(steering) > 1.0
            self._write(
                shape_throttle(left, low, high, expo), shape_throttle(right, low, high, expo)
            )
        else:
            self.limited = abs(throttle) >= 1.0
            self._write(shape_throttle(throttle, low, high, expo), steering)

    def _write(self, first: float, second: float) -> None:
        if self._first is not None and self._second is not None:
            self._first.write(first)
            self._second.write(second)
