"""The drive model contract, command shaping, wheel speed and grip.

The law is ``dv/dt = clip((target - v) / lag, -limit, +limit) + push``, solved exactly over a
step (a ramp, then an exponential), so that neither speed nor distance depends on the step.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

from pico_gz.core.portable_math import exp
from pico_gz.core.rover_spec import MAX_BATTERY_RATIO, RoverSpec
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.core.vehicle_config import DriveKind

# Step lengths whose constants are kept; a free-running clock makes ever new ones.
KEPT_STEPS: Final = 64


class Travel:
    """What the wheels did in one step.

    Attributes:
        memory: the model's own state after the step.
        speed_mean_mps: forward speed over ground, mean of the step; its integral is exact.
        yaw_mean_radps: yaw rate, mean of the step.
        speed_mps: forward speed at the end of the step.
        yaw_radps: yaw rate at the end of the step.
        turn_left_rad: how far the left wheels turned, before slip; also ``turn_right_rad``.
        load_left: motor load 0..1, also ``load_right``.
        throttle_abs: mean magnitude of the commands, 0..1.
    """

    __slots__ = (
        "load_left", "load_right", "memory", "speed_mean_mps", "speed_mps", "throttle_abs",
        "turn_left_rad", "turn_right_rad", "yaw_mean_radps", "yaw_radps",
    )  # fmt: skip

    def __init__(self) -> None:
        self.memory: tuple[float, ...] = ()
        self.speed_mean_mps = self.yaw_mean_radps = self.speed_mps = self.yaw_radps = 0.0
        self.turn_left_rad = self.turn_right_rad = 0.0
        self.load_left = self.load_right = self.throttle_abs = 0.0


class DriveModel(Protocol):
    """A way of driving, built once per rover from its ``RoverSpec``.

    Formulas use ``+ - * /``, ``sqrt`` and ``pico_gz.core.portable_math`` alone, so that runs
    have the same bits on every machine.
    """

    def __init__(self, spec: RoverSpec) -> None:
        """Take the description of the rover it will drive."""

    def prepare(self, dt_us: int) -> None:
        """Get ready for steps of another length; comes before the first ``advance``."""

    def advance(
        self,
        memory: tuple[float, ...],
        yaw_radps: float,
        commands: tuple[float, float],
        battery_ratio: float,
        push_mps2: float | None,
    ) -> Travel:
        """Advance one step; may be called several times for one step, and forgets each call.

        Args:
            memory: its own state before the step.
            yaw_radps: yaw rate before the step.
            commands: each in -1..1: (left, right) or (throttle, steering).
            battery_ratio: battery voltage over nominal.
            push_mps2: what gravity and wind add along the body's x axis; ``None``: nothing.

        Returns:
            What the wheels did; it may be the same object at every call.
        """

    def blocked(self, memory: tuple[float, ...]) -> tuple[float, ...]:
        """The memory of a vehicle whose forward motion an obstacle has just stopped."""

    def moving(self, speed_mps: float) -> tuple[float, ...]:
        """The memory of a vehicle that goes straight on at ``speed_mps``."""


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


def within_grip(yaw_radps: float, speed_mps: float, most_mps2: float) -> float:
    """Scale the yaw rate so that |speed * yaw rate| stays within the grip."""
    asked = abs(yaw_radps * speed_mps)
    return yaw_radps * (most_mps2 / asked) if asked > most_mps2 else yaw_radps


class Shaping:
    """Deadband, then expo; the sign is kept and full command stays full."""

    __slots__ = ("cubic", "deadband", "linear", "stretch")

    def __init__(self, spec: RoverSpec) -> None:
        self.deadband = spec.deadband
        self.stretch = 1.0 / (1.0 - spec.deadband)
        self.cubic = spec.expo
        self.linear = 1.0 - spec.expo

    def apply(self, command: float) -> float:
        """Return the share of full speed that a command in -1..1 asks for."""
        size = abs(command)
        if self.deadband > 0.0:
            size = (size - self.deadband) * self.stretch
            # Rounding must not lift full command above full speed.
            if size <= 0.0:
                size = 0.0
            elif size > 1.0:
                size = 1.0
        if self.cubic > 0.0:
            size = size * self.linear + self.cubic * (size * size * size)
        return -size if command < 0.0 else size


# Slower than this, an unpowered rover stands [m/s].
_STANDSTILL_MPS: Final = 1e-9
# Infinity would turn into "not a number" when multiplied by a lag of 0.
_NO_LIMIT_MPS2: Final = 1e30


class Lag:
    """A first-order lag over one step: what is left of a difference, and what a push adds.

    Attributes:
        tau_s: time constant, 0 (at once) to infinity (never).
        left_end: share of a difference left at the end of the step.
        left_mean: the same, mean of the step.
        push_end: speed that a push of 1 m/s^2 gives by the end of the step.
        push_mean: the same, mean of the step.
    """

    __slots__ = ("left_end", "left_mean", "push_end", "push_mean", "tau_s")

    def __init__(self, tau_s: float, dt_s: float) -> None:
        self.tau_s = tau_s
        self.left_end = self.left_mean = self.push_end = self.push_mean = 0.0
        if math.isinf(tau_s):
            self.left_end = self.left_mean = 1.0
            self.push_end, self.push_mean = dt_s, 0.5 * dt_s
        elif tau_s > 0.0:
            self.left_end = exp(-dt_s / tau_s)
            self.push_end = tau_s * (1.0 - self.left_end)
            self.left_mean = self.push_end / dt_s
            self.push_mean = tau_s * (1.0 - self.left_mean)


class SpeedLaw:
    """The law of ``spec`` for one step length."""

    __slots__ = (
        "accel", "brake", "coast", "drive", "dt_s", "gentle_mps", "hold", "limited",
        "resistance", "stands", "unlimited_mps",
    )  # fmt: skip

    def __init__(self, spec: RoverSpec, dt_us: int) -> None:
        self.dt_s = dt_us / US_PER_S
        coast_s = spec.lag_s if spec.coast_lag_s is None else spec.coast_lag_s
        self.drive = Lag(spec.lag_s, self.dt_s)
        self.coast = Lag(coast_s, self.dt_s)
        self.accel = spec.accel_limit_mps2 or _NO_LIMIT_MPS2
        self.brake = spec.brake_limit_mps2 or _NO_LIMIT_MPS2
        self.resistance = spec.rolling_resistance * GRAVITY_MPS2
        self.hold = spec.hold_mps2 + self.resistance
        weakest = min(self.accel, self.brake)
        self.limited = weakest < _NO_LIMIT_MPS2
        # Speed differences below this never ask too much of the motors.
        self.gentle_mps = weakest * min(spec.lag_s, coast_s)
        self.unlimited_mps = self.gentle_mps if self.limited else math.inf
        self.stands = self.resistance > 0.0 or (spec.hold_mps2 > 0.0 and coast_s > 0.0)

    def advance(self, speed: float, target: float, push: float | None) -> tuple[float, float]:
        """Return the speed at the end of the step and its mean; ``target`` 0 is unpowered."""
        difference = target - speed
        if push is None:
            # Nearly every step on level ground is one of these two.
            if target == 0.0 and speed == 0.0 and self.stands:
                return 0.0, 0.0
            if target != 0.0 and -self.unlimited_mps <= difference <= self.unlimited_mps:
                drive = self.drive
                return target - difference * drive.left_end, target - difference * drive.left_mean
        lag = self.coast if target == 0.0 else self.drive
        end = target - difference * lag.left_end
        mean = target - difference * lag.left_mean
        if push is not None:
            end, mean = end + push * lag.push_end, mean + push * lag.push_mean
        if self.limited and abs(difference) > self.gentle_mps:
            end, mean = self._limited(speed, target, lag.tau_s, push, end, mean)
        # Driven on level ground in calm air, nothing can stand still against its motors.
        if self.stands and (target == 0.0 or push is not None):
            end, mean = self._standing(speed, target, push, end, mean)
        return end, mean

    def _limited(
        self, speed: float, target: float, tau_s: float, push: float | None, end: float, mean: float
    ) -> tuple[float, float]:
        """Replace what asks more of the motors than they have by a ramp."""
        difference = target - speed
        limit = self.brake if difference * speed < 0.0 else self.accel
        excess = abs(difference) - limit * tau_s
        if excess <= 0.0:
            return end, mean
        rate = -limit if difference < 0.0 else limit
        closing = limit
        if push is None:
            push = 0.0
        else:
            closing = limit + (-push if difference < 0.0 else push)
            rate = rate + push
        if excess >= closing * self.dt_s:
            change = rate * self.dt_s
            return speed + change, speed + 0.5 * change
        # It begins on the ramp and ends on the exponential.
        ramp_s = excess / closing
        rest_s = self.dt_s - ramp_s
        change = rate * ramp_s
        turned = speed + change
        left = 0.0 if tau_s == 0.0 else exp(-rest_s / tau_s)
        fade_s = tau_s * (1.0 - left)
        end = target - (target - turned) * left + push * fade_s
        distance = (speed + 0.5 * change) * ramp_s + target * rest_s - (target - turned) * fade_s
        distance = distance + push * tau_s * (rest_s - fade_s)
        return end, distance / self.dt_s

    def _standing(
        self, speed: float, target: float, push: float | None, end: float, mean: float
    ) -> tuple[float, float]:
        """Let resistance slow an unpowered rover, and let it stand once it has stopped."""
        idle = target == 0.0
        drag = self.resistance if idle else 0.0
        if speed < 0.0:
            drag = -drag
        end = end - drag * self.coast.push_end
        mean = mean - drag * self.coast.push_mean
        # Stopped: it turned round in this step, though nothing but a slope drives it there.
        ahead = speed if idle else target
        stopped = (end * ahead <= 0.0 and speed * ahead >= 0.0) or (
            idle and abs(end) < _STANDSTILL_MPS
        )
        if not stopped or (push is not None and abs(push) > self.hold):
            return end, mean
        fall = speed - end
        share = 0.0 if fall == 0.0 else speed / fall
        return 0.0, 0.5 * speed * share
