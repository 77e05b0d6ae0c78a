"""The error laws of sensors: noise, drift, delay, quantisation, sampling times.

White noise of density N has sigma N / sqrt(dt) per sample. A random walk adds K sqrt(dt) n.
A Gauss-Markov error decays with its time constant and is fed so that its sigma stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, sqrt
from typing import Any, ClassVar

from pico_gz.core import portable_math
from pico_gz.core.units import US_PER_S
from pico_gz.errors import ConfigError
from pico_gz.simulator.random import NormalStream


def gauss_markov(interval_s: float, tau_s: float) -> tuple[float, float]:
    """Return (phi, gain) of x = phi x + gain sigma n, which keeps sigma for ever."""
    phi = portable_math.exp(-interval_s / tau_s)
    return phi, sqrt(1.0 - phi * phi)


def low_pass_gain(interval_s: float, tau_s: float) -> float:
    """Return k of x += k (target - x) for a first-order lag."""
    return 1.0 - portable_math.exp(-interval_s / tau_s)


def saturate_and_quantise(limit: float, lsb: float, value: float) -> float:
    """Saturate and quantise one value; a resolution of 0 is continuous.

    Zeros lose their sign, so that it does not matter whether a term that is zero was added or
    skipped on the way.
    """
    if value > limit:
        value = limit
    elif value < -limit:
        value = -limit
    return floor(value / lsb + 0.5) * lsb if lsb else value + 0.0


def rounded(value: float, per_unit: float) -> float:
    """Round to a whole number of ``1 / per_unit``: the float nearest that decimal number."""
    return floor(value * per_unit + 0.5) / per_unit


class Sensor:
    """One sensor of one vehicle, sampled on multiples of its period, ``lead_us`` before each.

    The times of samples follow from simulation time alone. A subclass lists the attributes
    that change while it runs in ``state_fields`` and its random streams in ``stream_fields``.

    Attributes:
        period_us: between samples, 0 = every step.
        next_us: when the next sample is due.
    """

    __slots__ = ("_step_us", "lead_us", "next_us", "period_us")

    state_fields: ClassVar[tuple[str, ...]] = ()
    stream_fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, period_us: int, lead_us: int = 0) -> None:
        self.period_us = period_us
        self.lead_us = lead_us
        self.next_us = 0
        self._step_us = 0

    def align(self, last_us: int) -> None:
        """Prepare for the first sample after ``last_us``."""
        period, lead = self.period_us, self.lead_us
        self.next_us = ((last_us + lead) // period + 1) * period - lead if period else 0

    def _tick(self, now_us: int, dt_us: int) -> None:
        """Note that a sample is taken now."""
        period = self.period_us
        if period:
            self.next_us = next_us = self.next_us + period
            if next_us <= now_us:
                Sensor.align(self, now_us)
        if dt_us != self._step_us:
            self._step_us = dt_us
            self._set_interval((period if period > dt_us else dt_us) / US_PER_S)

    def _set_interval(self, interval_s: float) -> None:
        """Take the time between samples as it really is, given the length of a step."""

    def save(self) -> dict[str, Any]:
        """Return the state as plain values."""
        state: dict[str, Any] = {name: _copied(getattr(self, name)) for name in self.state_fields}
        for name in self.stream_fields:
            stream: NormalStream = getattr(self, name)
            state[name] = stream.count
        return state

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave.

        Raises:
            ConfigError: the snapshot comes from another version or kind of vehicle.
        """
        try:
            for name in self.state_fields:
                setattr(self, name, _copied(state[name]))
            for name in self.stream_fields:
                stream: NormalStream = getattr(self, name)
                stream.count = int(state[name])
        except KeyError as missing:
            raise ConfigError(f"Snapshot of {type(self).__name__} lacks {missing}.") from None


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value
