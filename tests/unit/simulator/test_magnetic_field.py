"""The shipped table against the model it was made from, and the figures of the fact sheet."""

from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygeomag import GeoMag

from pico_gz.errors import ConfigError
from pico_gz.simulator.world import magnetic_field

WMM = GeoMag(coefficients_file="wmm/WMM_2025.COF")
NEW_YEAR = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("lat", "lon", "declination", "inclination", "gauss", "horizontal"),
    [
        (35.68, 139.77, -7.74, 49.1, 0.468, 0.307),
        (-35.36, 149.17, 12.8, -65.8, 0.580, 0.238),
        (47.40, 8.55, 3.2, 63.1, 0.482, 0.218),
        (40.25, -111.65, 10.7, 65.3, 0.509, 0.212),
        (-0.2, -78.5, -4.4, 19.9, 0.285, 0.268),
    ],
)
def test_known_places(lat, lon, declination, inclination, gauss, horizontal) -> None:
    # These figures come from a coarse table of another model, hence the width.
    field = magnetic_field(lat, lon, 0.0, NEW_YEAR)
    assert math.degrees(field.declination_rad) == pytest.approx(declination, abs=0.6)
    assert math.degrees(field.inclination_rad) == pytest.approx(inclination, abs=0.6)
    assert field.strength_gauss == pytest.approx(gauss, abs=0.005)
    assert field.horizontal_gauss == pytest.approx(horizontal, abs=0.005)


@given(
    st.floats(-60.0, 70.0), st.floats(-180.0, 180.0), st.dates(date(2025, 1, 1), date(2029, 12, 31))
)
def test_table_follows_the_world_magnetic_model(lat: float, lon: float, on: date) -> None:
    field = magnetic_field(lat, lon, 100.0, on)
    year = on.year + (on.timetuple().tm_yday - 1) / 365.25
    true = WMM.calculate(lat, lon, 0.1, year)
    told = (field.north_gauss, field.east_gauss, field.down_gauss)
    assert math.dist(told, (true.x * 1e-5, true.y * 1e-5, true.z * 1e-5)) < 1e-4
    turn = math.degrees(field.declination_rad) - true.d
    assert abs((turn + 180.0) % 360.0 - 180.0) < 0.05


def test_date_line_and_poles_are_seamless() -> None:
    assert magnetic_field(10.0, 180.0, 0.0, NEW_YEAR) == magnetic_field(10.0, -180.0, 0.0, NEW_YEAR)
    near = magnetic_field(89.999, 30.0, 0.0, NEW_YEAR)
    far = magnetic_field(89.999, -150.0, 0.0, NEW_YEAR)
    assert near.north_gauss == pytest.approx(-far.north_gauss, abs=1e-3)
    assert near.down_gauss == pytest.approx(far.down_gauss, abs=1e-3)


@pytest.mark.parametrize(
    ("lat", "lon", "on"),
    [(91.0, 0.0, NEW_YEAR), (0.0, 181.0, NEW_YEAR), (0.0, 0.0, date(1999, 1, 1))],
)
def test_refuses(lat: float, lon: float, on: date) -> None:
    with pytest.raises(ConfigError):
        magnetic_field(lat, lon, 0.0, on)
