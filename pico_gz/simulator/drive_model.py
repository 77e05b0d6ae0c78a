"""The drive model contract, command shaping, wheel speed and grip.

The law is ``dv/dt = clip((target - v) / lag, -limit, +limit) + push``, solved exactly over a
step (a ramp, then an exponential), so that neither speed nor distance depends on the step.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import msgspec
import numpy as np

from pico_gz.core.portable_math import FLOATS, exp
from pico_gz.core.rover_spec import MAX_BATTERY_RATIO, RoverSpec
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.simulator.ops import SCALAR, Column, Ops

# Rows of one value per vehicle: a tuple of floats, or an array of shape (rows, vehicles).
Rows = Any


def rows(ops: Ops, *columns: Column) -> Rows:
    """Put columns on top of each other."""
    return columns if ops is SCALAR else np.stack(columns)


class Travel(msgspec.Struct, gc=False):
    """What the wheels did in one step.

    Like all small records of a step it is a struct: made and read in half the time that a
    named tuple takes.

    Attributes:
        memory: the model's own state after the step, as many rows as ``memory_size``.
        speed_mean_mps: forward speed over ground, mean of the step; its integral is exact.
        yaw_mean_radps: yaw rate, mean of the step.
        speed_mps: forward speed at the end of the step.
        yaw_radps: yaw rate at the end of the step.
        turn_left_rad: how far the left wheels turned, before slip; also ``turn_right_rad``.
        load_left: motor load 0..1, also ``load_right``.
        throttle_abs: mean magnitude of the commands, 0..1.
    """

    memory: Rows
    speed_mean_mps: Column
    yaw_mean_radps: Column
    speed_mps: Column
    yaw_radps: Column
    turn_left_rad: Column
    turn_right_rad: Column
    load_left: Column
    load_right: Column
    throttle_abs: Column


class DriveModel(Protocol):
    """A way of driving, built once per group of identical rovers from their ``RoverSpec``.

    The formulas are written against ``Ops`` and use nothing but its operations and
    ``+ - * /``, so that one vehicle alone and the same vehicle in a fleet move alike.
    """

    memory_size: int

    def __init__(self, spec: RoverSpec) -> None:
        """Take the description of the rovers it will drive."""

    def constants(self, dt_us: int) -> Any:
        """Whatever depends on the length of a step only; kept by the engine, per length."""

    def advance(
        self,
        ops: Ops,
        constants: Any,
        memory: Rows,
        yaw_radps: Column,
        commands: Rows,
        battery_ratio: Column,
        push_mps2: Column | None,
    ) -> Travel:
        """Advance one step; changes nothing that was passed in.

        Args:
            ops: operations on floats or on arrays.
            constants: what ``constants`` gave for this step length.
            memory: its own state before the step.
            yaw_radps: yaw rate before the step.
            commands: two rows in -1..1: (left, right) or (throttle, steering).
            battery_ratio: battery voltage over nominal.
            push_mps2: what gravity and wind add along the body's x axis; ``None``: nothing.
        """

    def blocked(self, memory: tuple[float, ...]) -> tuple[float, ...]:
        """The memory of one vehicle whose forward motion an obstacle has just stopped."""

    def moving(self, speed_mps: float) -> tuple[float, ...]:
        """The memory of one vehicle that goes straight on at ``speed_mps``."""


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


class Shaping:
    """Deadband, then expo; the sign is kept and full command stays full."""

    def __init__(self, spec: RoverSpec) -> None:
        self._plain = spec.deadband == 0.0 and spec.expo == 0.0
        self._deadband = spec.deadband
        self._stretch = 1.0 / (1.0 - spec.deadband)
        self._cubic = spec.expo
        self._linear = 1.0 - spec.expo

    def apply(self, ops: Ops, command: Column) -> Column:
        """Return the share of full speed that a command in -1..1 asks for."""
        if self._plain:
            return command
        if ops is SCALAR:
            return self.of_one(command)
        size = ops.absolute(command)
        if self._deadband > 0.0:
            size = (size - self._deadband) * self._stretch
            # Rounding must not lift full command above full speed.
            size = ops.where(size > 0.0, ops.where(size > 1.0, 1.0, size), 0.0)
        if self._cubic > 0.0:
            size = size * self._linear + self._cubic * (size * size * size)
        return ops.where(command < 0.0, -size, size)

    def of_one(self, command: float) -> float:
        """The same for one command, without a call per operation."""
        size = abs(command)
        if self._deadband > 0.0:
            size = (size - self._deadband) * self._stretch
            if size <= 0.0:
                size = 0.0
            elif size > 1.0:
                size = 1.0
        if self._cubic > 0.0:
            size = size * self._linear + self._cubic * (size * size * size)
        return -size if command < 0.0 else size


# Slower than this, an unpowered rover stands [m/s].
_STANDSTILL_MPS = 1e-9
# Infinity would turn into "not a number" when multiplied by a lag of 0.
_NO_LIMIT_MPS2 = 1e30


class Lag(msgspec.Struct, gc=False):
    """A first-order lag over one step: what is left of a difference, and what a push adds.

    Attributes:
        tau_s: time constant, 0 (at once) to infinity (never).
        left_end: share of a difference left at the end of the step.
        left_mean: the same, mean of the step.
        push_end: speed that a push of 1 m/s^2 gives by the end of the step.
        push_mean: the same, mean of the step.
    """

    tau_s: float
    left_end: float
    left_mean: float
    push_end: float
    push_mean: float


def make_lag(tau_s: float, dt_s: float) -> Lag:
    """Work out a lag for one step length; exact operations only."""
    if tau_s == 0.0:
        return Lag(0.0, 0.0, 0.0, 0.0, 0.0)
    if math.isinf(tau_s):
        return Lag(tau_s, 1.0, 1.0, dt_s, 0.5 * dt_s)
    left_end = exp(FLOATS, -dt_s / tau_s)
    push_end = tau_s * (1.0 - left_end)
    left_mean = push_end / dt_s
    return Lag(tau_s, left_end, left_mean, push_end, tau_s * (1.0 - left_mean))


class SpeedLaw:
    """The law of ``spec`` for one step length."""

    def __init__(self, spec: RoverSpec, dt_us: int) -> None:
        self.dt_s = dt_us / US_PER_S
        self.drive = make_lag(spec.lag_s, self.dt_s)
        coast_s = spec.lag_s if spec.coast_lag_s is None else spec.coast_lag_s
        self.coast = make_lag(coast_s, self.dt_s)
        self.accel = spec.accel_limit_mps2 or _NO_LIMIT_MPS2
        self.brake = spec.brake_limit_mps2 or _NO_LIMIT_MPS2
        self.resistance = spec.rolling_resistance * GRAVITY_MPS2
        self.hold = spec.hold_mps2 + self.resistance
        self.coasts = self.coast != self.drive
        self.limited = min(self.accel, self.brake) < _NO_LIMIT_MPS2
        # Speed differences below this never ask too much of the motors.
        self.gentle_mps = min(self.accel, self.brake) * min(spec.lag_s, coast_s)
        self.unlimited_mps = self.gentle_mps if self.limited else math.inf
        self.stands = self.resistance > 0.0 or (spec.hold_mps2 > 0.0 and coast_s > 0.0)

    def advance(
        self, ops: Ops, speed: Column, target: Column, push: Column | None
    ) -> tuple[Column, Column]:
        """Return the speed at the end of the step and its mean; ``target`` 0 is unpowered."""
        difference = target - speed
        drive = self.drive
        if ops is SCALAR and push is None:
            # Nearly every step of a lone vehicle is one of these two, at a third of the time.
            if target == 0.0 and speed == 0.0 and self.stands:
                return 0.0, 0.0
            if target != 0.0 and -self.unlimited_mps <= difference <= self.unlimited_mps:
                return target - difference * drive.left_end, target - difference * drive.left_mean
        left_end: Column = drive.left_end
        left_mean: Column = drive.left_mean
        idle = target == 0.0
        some_idle = ops.any(idle)
        if some_idle and self.coasts:
            left_end = ops.where(idle, self.coast.left_end, left_end)
            left_mean = ops.where(idle, self.coast.left_mean, left_mean)
        end = target - difference * left_end
        mean = target - difference * left_mean
        if push is not None:
            end, mean = self._pushed(ops, idle, end, mean, push)
        if self.limited and ops.any(ops.absolute(difference) > self.gentle_mps):
            end, mean = self._limited(ops, speed, target, difference, push, end, mean)
        # Driven on level ground in calm air, nothing can stand still against its motors.
        if self.stands and (some_idle or push is not None):
            end, mean = self._standing(ops, speed, target, push, end, mean)
        return end, mean

    def _pushed(
        self, ops: Ops, idle: Column, end: Column, mean: Column, push: Column
    ) -> tuple[Column, Column]:
        push_end: Column = self.drive.push_end
        push_mean: Column = self.drive.push_mean
        if self.coasts:
            push_end = ops.where(idle, self.coast.push_end, push_end)
            push_mean = ops.where(idle, self.coast.push_mean, push_mean)
        return end + push * push_end, mean + push * push_mean

    def _limited(
        self,
        ops: Ops,
        speed: Column,
        target: Column,
        difference: Column,
        push: Column | None,
        end: Column,
        mean: Column,
    ) -> tuple[Column, Column]:
        """Replace what asks more of the motors than they have by a ramp."""
        limit = self.accel
        if self.brake != self.accel:
            limit = ops.where(difference * speed < 0.0, self.brake, self.accel)
        tau: Column = self.drive.tau_s
        if self.coasts:
            tau = ops.where(target == 0.0, self.coast.tau_s, tau)
        excess = ops.absolute(difference) - limit * tau
        over = excess > 0.0
        if not ops.any(over):
            return end, mean
        rate = ops.where(difference < 0.0, -limit, limit)
        closing = limit
        if push is not None:
            closing = limit + ops.where(difference < 0.0, -push, push)
            rate = rate + push
        through = over & (excess >= closing * self.dt_s)
        change = rate * self.dt_s
        ramp_end = ops.where(through, speed + change, end)
        ramp_mean = ops.where(through, speed + 0.5 * change, mean)
        columns = (speed, target, rate, excess, closing, tau, 0.0 if push is None else push)
        settling = over ^ through
        return _settle(ops, settling, self.dt_s, columns, ramp_end, ramp_mean)

    def _standing(
        self,
        ops: Ops,
        speed: Column,
        target: Column,
        push: Column | None,
        end: Column,
        mean: Column,
    ) -> tuple[Column, Column]:
        """Let resistance slow an unpowered rover, and let it stand once it has stopped."""
        idle = target == 0.0
        drag = ops.where(idle, self.resistance, 0.0)
        drag = ops.where(speed < 0.0, -drag, drag)
        end = end - drag * self.coast.push_end
        mean = mean - drag * self.coast.push_mean
        # Stopped: it turned round in this step, though nothing but a slope drives it there.
        ahead = ops.where(idle, speed, target)
        stopped = (end * ahead <= 0.0) & (speed * ahead >= 0.0)
        stopped = stopped | (idle & (ops.absolute(end) < _STANDSTILL_MPS))
        if push is not None:
            stopped = stopped & (ops.absolute(push) <= self.hold)
        if not ops.any(stopped):
            return end, mean
        fall = speed - end
        share = ops.where(stopped & (fall != 0.0), speed, 0.0) / ops.where(fall == 0.0, 1.0, fall)
        mean = ops.where(stopped, 0.5 * speed * share, mean)
        return ops.where(stopped, 0.0, end), mean


def _settle(
    ops: Ops,
    settling: Column,
    dt_s: float,
    columns: tuple[Column, ...],
    end: Column,
    mean: Column,
) -> tuple[Column, Column]:
    """Solve the steps that begin on the ramp and end on the exponential."""
    if not ops.any(settling):
        return end, mean
    if ops is SCALAR:
        return _settle_one(dt_s, *columns)
    rows = [np.broadcast_to(column, settling.shape) for column in columns]
    for index in zip(*np.nonzero(settling), strict=True):
        one = _settle_one(dt_s, *(float(row[index]) for row in rows))
        end[index], mean[index] = one
    return end, mean


def _settle_one(
    dt_s: float,
    speed: float,
    target: float,
    rate: float,
    excess: float,
    closing: float,
    tau_s: float,
    push: float,
) -> tuple[float, float]:
    ramp_s = excess / closing
    rest_s = dt_s - ramp_s
    change = rate * ramp_s
    turned = speed + change
    left = 0.0 if tau_s == 0.0 else exp(FLOATS, -rest_s / tau_s)
    fade_s = tau_s * (1.0 - left)
    end = target - (target - turned) * left + push * fade_s
    distance = (speed + 0.5 * change) * ramp_s + target * rest_s - (target - turned) * fade_s
    distance = distance + push * tau_s * (rest_s - fade_s)
    return end, distance / dt_s
