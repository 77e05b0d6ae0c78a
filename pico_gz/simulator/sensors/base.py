"""What all sensor models share: when a sample is due, and one vehicle's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pico_gz.errors import ConfigError
from pico_gz.simulator.ops import SCALAR, Ops
from pico_gz.simulator.random import NormalBlock
from pico_gz.units import US_PER_S


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
