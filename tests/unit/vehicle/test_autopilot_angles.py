"""Angles agree with the C library to well below a microradian."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.vehicle.autopilot.angles import atan2, sincos, wrap_360, wrap_pi

ANGLES = st.floats(-1000.0, 1000.0)
NUMBERS = st.floats(-1e6, 1e6)


@given(ANGLES)
def test_sincos(angle):
    sine, cosine = sincos(angle)
    assert sine == pytest.approx(math.sin(angle), abs=1e-12)
    assert cosine == pytest.approx(math.cos(angle), abs=1e-12)


@given(NUMBERS, NUMBERS)
def test_atan2(y, x):
    if x == 0.0 and y == 0.0:
        assert atan2(y, x) == 0.0
    else:
        assert wrap_pi(atan2(y, x) - math.atan2(y, x)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("y", "x", "degrees"),
    [(0, 1, 0), (1, 0, 90), (0, -1, 180), (-1, 0, -90), (1, 1, 45), (-1, -1, -135)],
)
def test_atan2_quadrants(y, x, degrees):
    assert math.degrees(atan2(float(y), float(x))) == pytest.approx(degrees)


@given(ANGLES)
def test_wrap_pi_keeps_the_direction(angle):
    wrapped = wrap_pi(angle)
    assert -math.pi <= wrapped <= math.pi
    assert math.cos(wrapped - angle) == pytest.approx(1.0)


@pytest.mark.parametrize(("angle", "wrapped"), [(0, 0), (-90, 270), (360, 0), (725, 5)])
def test_wrap_360(angle, wrapped):
    assert wrap_360(float(angle)) == pytest.approx(wrapped)
