"""The laws of error and the last stage of a sensor."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.simulator.noise import gauss_markov, low_pass_gain, rounded, saturate_and_quantise

VALUES = st.floats(-1e3, 1e3)


def test_gauss_markov_keeps_its_sigma() -> None:
    phi, gain = gauss_markov(0.2, 120.0)
    assert phi == pytest.approx(math.exp(-0.2 / 120.0), rel=1e-15)
    assert phi * phi + gain * gain == pytest.approx(1.0, abs=1e-15)
    # Two steps of dt are one step of two dt.
    assert gauss_markov(0.4, 120.0)[0] == pytest.approx(phi * phi, rel=1e-15)


def test_low_pass_reaches_63_percent_after_one_time_constant() -> None:
    assert low_pass_gain(2.0, 2.0) == pytest.approx(1.0 - math.exp(-1.0), rel=1e-15)


@given(VALUES, st.sampled_from([(100.0, 0.25), (7.0, 0.0), (1e12, 0.1)]))
def test_output_clips_and_quantises(value: float, figures: tuple[float, float]) -> None:
    limit, lsb = figures
    read = saturate_and_quantise(limit, lsb, value)
    assert abs(read) <= limit
    if lsb:
        assert round(read / lsb) * lsb == read
        assert abs(read - max(-limit, min(limit, value))) <= 0.5 * lsb + 1e-9
    else:
        assert read == max(-limit, min(limit, value))


def test_no_negative_zeros() -> None:
    for lsb in (0.0, 0.5):
        assert math.copysign(1.0, saturate_and_quantise(1.0, lsb, -0.0)) == 1.0


@given(VALUES)
def test_rounding_gives_the_nearest_decimal(value: float) -> None:
    read = rounded(value, 1.0e3)
    assert read == round(read, 3)
    assert abs(read - value) <= 0.5e-3 + 1e-12
