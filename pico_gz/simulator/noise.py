"""The error laws of sensors: noise, drift, delay, quantisation, sampling times.

White noise of density N has sigma N / sqrt(dt) per sample. A random walk adds K sqrt(dt) n.
A Gauss-Markov error decays with its time constant and is fed so that its sigma stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import floor
from typing import Any, ClassVar

import numpy as np

from pico_gz.core import portable_math
from pico_gz.core.portable_math import FLOATS
from pico_gz.core.units import US_PER_S
from pico_gz.errors import ConfigError
from pico_gz.simulator.ops import SCALAR, Column, Ops
from pico_gz.simulator.random import NormalBlock


def column(ops: Ops, values: Sequence[float]) -> Column:
    """Return one value per vehicle as a column: the float itself for a lone vehicle."""
    return float(values[0]) if ops is SCALAR else np.array(values, dtype=np.float64)


def any_of(values: Sequence[float]) -> bool:
    """Return whether any value is not zero; what is zero for all need not be computed."""
    return any(value != 0.0 for value in values)


def gauss_markov(interval_s: float, tau_s: float) -> tuple[float, float]:
    """Return (phi, gain) of x = phi x + gain sigma n, which keeps sigma for ever."""
    phi = float(portable_math.exp(FLOATS, -interval_s / tau_s))
    return phi, float(FLOATS.sqrt(1.0 - phi * phi))


def low_pass_gain(interval_s: float, tau_s: float) -> float:
    """Return k of x += k (target - x) for a first-order lag."""
    return 1.0 - float(portable_math.exp(FLOATS, -interval_s / tau_s))


def output_stage(
    ops: Ops, limits: Sequence[float], lsbs: Sequence[float]
) -> Callable[[Column], Column]:
    """Return the last stage of a sensor: saturation, then quantisation, then no negative zeros.

    A resolution of 0 is continuous. Dropping the sign of zeros makes it irrelevant whether a
    term that is zero was added or skipped on the way, so shortcuts do not change bits.
    """
    if ops is SCALAR:
        return partial(saturate_and_quantise, limits[0], lsbs[0])
    limit = np.array(limits)
    stepped = np.array(lsbs) > 0.0
    step = np.where(stepped, lsbs, 1.0)
    some, every = bool(stepped.any()), bool(stepped.all())

    def tell_group(value: Column) -> Column:
        value = np.maximum(np.minimum(value, limit), -limit)
        if some:
            rounded = np.floor(value / step + 0.5) * step
            value = rounded if every else np.where(stepped, rounded, value)
        return value + 0.0

    return tell_group


def saturate_and_quantise(limit: float, lsb: float, value: float) -> float:
    """Saturate and quantise one value; a resolution of 0 is continuous."""
    if value > limit:
        value = limit
    elif value < -limit:
        value = -limit
    return floor(value / lsb + 0.5) * lsb if lsb else value + 0.0


def rounding_stage(ops: Ops, rounds: Sequence[bool]) -> Callable[[Column, float], Column]:
    """Return a function that rounds to a whole number of ``1 / per_unit`` where it is asked to.

    The result is the float nearest that decimal number, without negative zeros.
    """
    if ops is SCALAR:
        if rounds[0]:
            return lambda value, per_unit: floor(value * per_unit + 0.5) / per_unit
        return lambda value, _: value + 0.0
    chosen = np.array(rounds)

    def round_group(value: Column, per_unit: float) -> Column:
        rounded = np.floor(value * per_unit + 0.5) / per_unit
        return np.where(chosen, rounded, value) + 0.0

    return round_group


class SampleClock:
    """When samples are due: on multiples of a period, some ``lead_us`` before each.

    A class of its own, and never subclassed, because it runs for every sensor in every step:
    the interpreter is twice as fast on code that always sees the same class.

    Attributes:
        period_us: between samples, 0 = every step.
        next_us: when the next sample is due.
        interval_s: the time between samples as it really is, given the length of a step.
    """

    __slots__ = ("_lead_us", "_step_us", "interval_s", "next_us", "period_us")

    def __init__(self, period_us: int, lead_us: int = 0) -> None:
        self.period_us = period_us
        self._lead_us = lead_us
        self._step_us = 0
        self.interval_s = 0.0
        self.next_us = 0

    def align(self, last_us: int) -> None:
        """Find the first sample after ``last_us``."""
        period, lead = self.period_us, self._lead_us
        self.next_us = ((last_us + lead) // period + 1) * period - lead if period else 0

    def tick(self, now_us: int, dt_us: int) -> bool:
        """Note that a sample is taken now; return whether ``interval_s`` has changed."""
        period = self.period_us
        if period:
            self.next_us = next_us = self.next_us + period
            if next_us <= now_us:
                self.align(now_us)
        if dt_us == self._step_us:
            return False
        self._step_us = dt_us
        self.interval_s = (period if period > dt_us else dt_us) / US_PER_S
        return True


class Sensor:
    """A sensor of a group of vehicles, sampled on multiples of its period.

    The times of samples follow from simulation time alone, so vehicles may join and leave a
    group without shifting them. A subclass lists the columns that change while it runs in
    ``_columns`` and its random streams in ``_streams``.
    """

    _columns: ClassVar[tuple[str, ...]] = ()
    _streams: ClassVar[tuple[str, ...]] = ()

    def __init__(self, ops: Ops, period_us: int, lead_us: int = 0) -> None:
        self._ops = ops
        self._scalar = ops is SCALAR
        self.clock = SampleClock(period_us, lead_us)

    def align(self, last_us: int) -> None:
        """Prepare for the first sample after ``last_us``."""
        self.clock.align(last_us)

    def save(self, place: int) -> dict[str, Any]:
        """Return the state of the vehicle at this place in the group, as plain values."""
        state: dict[str, Any] = {}
        for name in self._columns:
            state[name.lstrip("_")] = _read(getattr(self, name), place)
        for name in self._streams:
            block: NormalBlock = getattr(self, name)
            state[name.lstrip("_")] = block.count(place)
        return state

    def load(self, place: int, state: Mapping[str, Any]) -> None:
        """Set the state of the vehicle at this place.

        Raises:
            ConfigError: the snapshot comes from another version or kind of vehicle.
        """
        try:
            for name in self._columns:
                value = state[name.lstrip("_")]
                setattr(self, name, _written(getattr(self, name), place, value))
            for name in self._streams:
                block: NormalBlock = getattr(self, name)
                block.set_count(place, int(state[name.lstrip("_")]))
        except KeyError as missing:
            raise ConfigError(f"Snapshot of {type(self).__name__} lacks {missing}.") from None


def _read(value: Any, place: int) -> Any:
    """Return one vehicle's part of a column, or of a stack or list of columns."""
    if isinstance(value, np.ndarray):
        return value[..., place].tolist()
    return [_read(item, place) for item in value] if isinstance(value, list) else value


def _written(value: Any, place: int, new: Any) -> Any:
    """Return the column, stack or list with one vehicle's part replaced."""
    if isinstance(value, np.ndarray):
        changed = value.copy()
        changed[..., place] = new
        return changed
    if isinstance(value, list):
        return [_written(old, place, item) for old, item in zip(value, new, strict=True)]
    return new
