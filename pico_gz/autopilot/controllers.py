"""Speed and turn-rate controllers: feed-forward plus PID, with ArduRover's parameters."""

from __future__ import annotations

from collections.abc import Mapping

from pico_gz.autopilot.angles import RAD_PER_DEG, TWO_PI
from pico_gz.messages import DriveKind
from pico_gz.state import Stateful

_MIN_STEER_SPEED_MPS = 0.2


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


class Pid(Stateful):
    """Proportional, integral and derivative on a low-passed error; gains by parameter names."""

    __slots__ = ("_d", "_filter_hz", "_i", "_imax", "_p", "error", "integral", "params")
    _state_fields = ("error", "integral")

    def __init__(self, params: Mapping[str, float], prefix: str) -> None:
        self.params = params
        self._p, self._i, self._d = f"{prefix}_P", f"{prefix}_I", f"{prefix}_D"
        self._imax, self._filter_hz = f"{prefix}_IMAX", f"{prefix}_FLTE"
        self.error = 0.0
        self.integral = 0.0

    def reset(self) -> None:
        """Forget the past."""
        self.error = self.integral = 0.0

    def update(self, error: float, dt_s: float, saturated: bool) -> float:
        """Return the output; while saturated the integral may only shrink."""
        params = self.params
        before = self.error
        w_dt = TWO_PI * params[self._filter_hz] * dt_s
        self.error = filtered = before + (error - before) * (w_dt / (1.0 + w_dt) if w_dt else 1.0)
        grown = self.integral + params[self._i] * filtered * dt_s
        if not saturated or abs(grown) < abs(self.integral):
            self.integral = clamp(grown, params[self._imax])
        output = params[self._p] * filtered + self.integral
        d = params[self._d]
        return output + d * (filtered - before) / dt_s if d else output


class SpeedController(Stateful):
    """Desired speed to throttle.

    Attributes:
        target_mps: desired speed after the acceleration limit.
        error_mps: target minus speed.
        saturated: the last output hit a limit; set by who mixes the outputs.
    """

    __slots__ = ("error_mps", "params", "pid", "saturated", "target_mps")
    _state_fields = ("error_mps", "pid", "saturated", "target_mps")

    def __init__(self, params: Mapping[str, float]) -> None:
        self.params = params
        self.pid = Pid(params, "ATC_SPEED")
        self.target_mps = 0.0
        self.error_mps = 0.0
        self.saturated = False

    def reset(self, speed_mps: float = 0.0) -> None:
        """Start anew from the speed that the rover has."""
        self.pid.reset()
        self.target_mps = speed_mps
        self.error_mps = 0.0

    def decel_mps2(self) -> float:
        """How hard it may slow down."""
        return self.params["ATC_DECEL_MAX"] or self.params["ATC_ACCEL_MAX"] or 10.0

    def update(self, desired_mps: float, speed_mps: float, dt_s: float) -> float:
        """Return the throttle, -1..1."""
        params = self.params
        target = self.target_mps
        faster = abs(desired_mps) > abs(target) and desired_mps * target >= 0.0
        limit = (params["ATC_ACCEL_MAX"] or 10.0) if faster else self.decel_mps2()
        self.target_mps = target = step_towards(target, desired_mps, limit * dt_s)
        self.error_mps = error = target - speed_mps
        stopping = desired_mps == 0.0 and target == 0.0
        if stopping and abs(speed_mps) < params["ATC_STOP_SPEED"]:
            self.pid.reset()
            return 0.0
        cruise = params["CRUISE_SPEED"]
        forward = target * params["CRUISE_THROTTLE"] * 0.01 / cruise if cruise > 0.0 else 0.0
        throttle = forward + self.pid.update(error, dt_s, self.saturated)
        if not params["ATC_BRAKE"] and throttle * target < 0.0:
            throttle = 0.0
        return clamp(throttle, 1.0)


class TurnController(Stateful):
    """Desired turn rate to steering, -1..1.

    A skid-steered rover turns in proportion to the steering. A car turns with its speed, so
    there the steering is the curvature times its smallest turning radius.
    """

    __slots__ = ("params", "pid", "saturated", "skid", "target_radps")
    _state_fields = ("pid", "saturated", "target_radps")

    def __init__(self, params: Mapping[str, float], drive: DriveKind) -> None:
        self.params = params
        self.skid = drive is DriveKind.SKID
        self.pid = Pid(params, "ATC_STR_RAT")
        self.target_radps = 0.0
        self.saturated = False

    def reset(self) -> None:
        """Start anew."""
        self.pid.reset()
        self.target_radps = 0.0

    def rate_limit_radps(self) -> float:
        """The fastest turn it asks for."""
        return (self.params["ATC_STR_RAT_MAX"] or 360.0) * RAD_PER_DEG

    def update(
        self, desired_radps: float, rate_radps: float, speed_mps: float, dt_s: float
    ) -> float:
        """Return the steering; ``speed_mps`` is the speed it drives or is about to drive."""
        params = self.params
        step = (params["ATC_STR_ACC_MAX"] or 1e6) * RAD_PER_DEG * dt_s
        desired = clamp(desired_radps, self.rate_limit_radps())
        self.target_radps = target = step_towards(self.target_radps, desired, step)
        if self.skid:
            feedback = self.pid.update(target - rate_radps, dt_s, self.saturated)
            steering = params["ATC_STR_RAT_FF"] * target + feedback
        else:
            steering = self._car_steering(target, rate_radps, speed_mps, dt_s)
        limited = clamp(steering, 1.0)
        self.saturated = limited != steering
        return limited

    def _car_steering(
        self, target: float, rate_radps: float, speed_mps: float, dt_s: float
    ) -> float:
        params = self.params
        speed = speed_mps
        if -_MIN_STEER_SPEED_MPS < speed < _MIN_STEER_SPEED_MPS:
            speed = -_MIN_STEER_SPEED_MPS if speed < 0.0 else _MIN_STEER_SPEED_MPS
            # Nearly standing, the turn rate says nothing about the steering.
            rate_radps = target
        gain = params["ATC_STR_RAT_FF"] or 0.2
        feedback = self.pid.update(target - rate_radps, dt_s, self.saturated) / gain
        return params["TURN_RADIUS"] * (target + feedback) / speed
