"""The laws of error and the last stage of a sensor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.simulator.noise import (
    column,
    gauss_markov,
    low_pass_gain,
    output_stage,
    rounding_stage,
)
from pico_gz.simulator.ops import ARRAY, SCALAR

VALUES = st.floats(-1e3, 1e3)


def test_gauss_markov_keeps_its_sigma() -> None:
    phi, gain = gauss_markov(0.2, 120.0)
    assert phi == pytest.approx(math.exp(-0.2 / 120.0), rel=1e-15)
    assert phi * phi + gain * gain == pytest.approx(1.0, abs=1e-15)
    # Two steps of dt are one step of two dt.
    assert gauss_markov(0.4, 120.0)[0] == pytest.approx(phi * phi, rel=1e-15)


def test_low_pass_reaches_63_percent_after_one_time_constant() -> None:
    assert low_pass_gain(2.0, 2.0) == pytest.approx(1.0 - math.exp(-1.0), rel=1e-15)


@given(st.lists(VALUES, min_size=3, max_size=3))
def test_output_clips_and_quantises_alike_for_floats_and_arrays(values: list[float]) -> None:
    limits, lsbs = [100.0, 7.0, 1e12], [0.25, 0.0, 0.1]
    together = output_stage(ARRAY, limits, lsbs)(np.array(values)).tolist()
    for value, limit, lsb, told in zip(values, limits, lsbs, together, strict=True):
        assert output_stage(SCALAR, [limit], [lsb])(value) == told
        assert abs(told) <= limit
        if lsb:
            assert round(told / lsb) * lsb == told
            assert abs(told - max(-limit, min(limit, value))) <= 0.5 * lsb + 1e-9
        else:
            assert told == max(-limit, min(limit, value))


def test_no_negative_zeros() -> None:
    for lsb in (0.0, 0.5):
        assert math.copysign(1.0, output_stage(SCALAR, [1.0], [lsb])(-0.0)) == 1.0
        told = output_stage(ARRAY, [1.0], [lsb])(np.array([-0.0]))
        assert not np.signbit(told).any()
    assert math.copysign(1.0, rounding_stage(SCALAR, [False])(-0.0, 10.0)) == 1.0


@given(VALUES)
def test_rounding_gives_the_nearest_decimal(value: float) -> None:
    told = rounding_stage(SCALAR, [True])(value, 1.0e3)
    assert told == round(told, 3)
    assert abs(told - value) <= 0.5e-3 + 1e-12
    rounds = [True, False]
    group = rounding_stage(ARRAY, rounds)(np.array([value, value]), 1.0e3)
    assert group.tolist() == [told, value]


def test_column() -> None:
    assert column(SCALAR, [3]) == 3.0
    assert column(ARRAY, [1, 2]).tolist() == [1.0, 2.0]
