"""The table on board agrees with the World Magnetic Model where rovers drive."""

import math

import pytest
from pygeomag import GeoMag

from pico_gz.vehicle.autopilot.heading import declination_rad

PLACES = {
    "Tokyo": (35.68, 139.77),
    "Canberra": (-35.36, 149.17),
    "Zurich": (47.40, 8.55),
    "Provo": (40.25, -111.65),
    "Quito": (-0.2, -78.5),
    "date line": (10.0, 179.9),
}


@pytest.mark.parametrize(("lat", "lon"), PLACES.values(), ids=PLACES)
def test_declination(lat, lon):
    model = GeoMag(coefficients_file="wmm/WMM_2025.COF")
    expected = model.calculate(glat=lat, glon=lon, alt=0, time=2026.0).d
    assert math.degrees(declination_rad(lat, lon)) == pytest.approx(expected, abs=2.0)


@pytest.mark.parametrize("place", [(90.0, 0.0), (-90.0, 180.0), (89.9, -180.0), (0.0, 180.0)])
def test_edges_of_the_globe(place):
    assert -math.pi <= declination_rad(*place) <= math.pi
