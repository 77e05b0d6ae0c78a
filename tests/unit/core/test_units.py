import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.core.units import normalized_from_pwm, pwm_from_normalized, us_from_seconds


@pytest.mark.parametrize(
    ("value", "pwm_us"),
    [(0.0, 1500), (1.0, 2000), (-1.0, 1000), (2.0, 2000), (-9.0, 1000), (0.2, 1600),
     (0.0009, 1500), (0.001, 1501), (math.nan, 1500), (math.inf, 2000)],
)  # fmt: skip
def test_pwm_rule(value, pwm_us):
    assert pwm_from_normalized(value) == pwm_us


@pytest.mark.parametrize("pwm_us", [0, 1, 799, 2201, 65535])
def test_no_output_is_neutral_never_full_reverse(pwm_us):
    assert normalized_from_pwm(pwm_us) == 0.0


@pytest.mark.parametrize(("pwm_us", "value"), [(800, -1.0), (900, -1.0), (2200, 1.0), (1500, 0.0)])
def test_odd_pulses_are_clamped(pwm_us, value):
    assert normalized_from_pwm(pwm_us) == value


@given(st.integers(1000, 2000))
def test_pwm_round_trip(pwm_us):
    assert pwm_from_normalized(normalized_from_pwm(pwm_us)) == pwm_us


def test_seconds_to_microseconds_rounds_to_nearest():
    assert us_from_seconds(0.1 + 0.2) == 300_000
