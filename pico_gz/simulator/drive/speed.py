"""The speed of one wheel or side: first-order lag, motor limits, slope and standstill.

The law is ``dv/dt = clip((target - v) / lag, -limit, +limit) + push``, solved exactly over a
step (a ramp, then an exponential), so that neither speed nor distance depends on the step.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from pico_gz.exact import FLOATS, exp
from pico_gz.rover import RoverSpec
from pico_gz.simulator.ops import SCALAR, Column, Ops
from pico_gz.units import GRAVITY_MPS2, US_PER_S

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
