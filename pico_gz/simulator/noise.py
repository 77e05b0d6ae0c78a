"""The laws by which sensors err, for floats and arrays alike.

White noise of density N has sigma N / sqrt(dt) per sample. A random walk adds K sqrt(dt) n.
A Gauss-Markov error decays with its time constant and is fed so that its sigma stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import floor

import numpy as np

from pico_gz import exact
from pico_gz.exact import FLOATS
from pico_gz.simulator.ops import SCALAR, Column, Ops


def column(ops: Ops, values: Sequence[float]) -> Column:
    """Return one value per vehicle as a column: the float itself for a lone vehicle."""
    return float(values[0]) if ops is SCALAR else np.array(values, dtype=np.float64)


def any_of(values: Sequence[float]) -> bool:
    """Return whether any value is not zero; what is zero for all need not be computed."""
    return any(value != 0.0 for value in values)


def gauss_markov(interval_s: float, tau_s: float) -> tuple[float, float]:
    """Return (phi, gain) of x = phi x + gain sigma n, which keeps sigma for ever."""
    phi = float(exact.exp(FLOATS, -interval_s / tau_s))
    return phi, float(FLOATS.sqrt(1.0 - phi * phi))


def low_pass_gain(interval_s: float, tau_s: float) -> float:
    """Return k of x += k (target - x) for a first-order lag."""
    return 1.0 - float(exact.exp(FLOATS, -interval_s / tau_s))


def output_stage(
    ops: Ops, limits: Sequence[float], lsbs: Sequence[float]
) -> Callable[[Column], Column]:
    """Return the last stage of a sensor: saturation, then quantisation, then no negative zeros.

    A resolution of 0 is continuous. Dropping the sign of zeros makes it irrelevant whether a
    term that is zero was added or skipped on the way, so shortcuts do not change bits.
    """
    if ops is SCALAR:
        return partial(tell_one, limits[0], lsbs[0])
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


def tell_one(limit: float, lsb: float, value: float) -> float:
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
