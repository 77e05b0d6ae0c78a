"""Fences: distances beyond circles and polygons, to stay in or out of."""

import pytest

from pico_gz.core.ground_control import MissionItem
from pico_gz.vehicle.autopilot.mission import Fence

HOME = (0.0, 0.0)
BOTH = 6
SQUARE = [(-10, -10), (10, -10), (10, 10), (-10, 10)]


def local(lat_e7, lon_e7):
    """Items of these tests carry metres."""
    return float(lat_e7), float(lon_e7)


def fence(*items):
    built = Fence()
    built.build(
        [
            MissionItem(seq=n, command=command, param1=float(first), lat_e7=lat, lon_e7=lon)
            for n, (command, first, lat, lon) in enumerate(items)
        ],
        local,
    )
    return built


def polygon(command):
    return [(command, len(SQUARE), north, east) for north, east in SQUARE]


@pytest.mark.parametrize(
    ("here", "excess"), [((0, 0), -300), ((300, 0), 0), ((0, -310), 10), ((180, 240), 0)]
)
def test_circle_around_home(here, excess):
    assert fence().excess_m(here, HOME, BOTH, 300.0) == pytest.approx(excess)


@pytest.mark.parametrize(
    ("here", "excess"), [((0, 0), -10), ((9, 0), -1), ((12, 0), 2), ((13, 14), 5), ((0, -11), 1)]
)
def test_polygon_to_stay_in(here, excess):
    built = fence(*polygon(5001))
    assert built.excess_m(here, HOME, 4, 300.0) == pytest.approx(excess)


@pytest.mark.parametrize(("here", "excess"), [((0, 0), 10), ((9, 0), 1), ((12, 0), -2)])
def test_polygon_to_stay_out_of(here, excess):
    built = fence(*polygon(5002))
    assert built.excess_m(here, HOME, 4, 300.0) == pytest.approx(excess)


def test_circles_to_stay_in_and_out_of():
    built = fence((5003, 20, 0, 0), (5004, 5, 10, 0))
    assert built.excess_m((0.0, 0.0), HOME, 4, 1.0) == pytest.approx(-5)
    assert built.excess_m((8.0, 0.0), HOME, 4, 1.0) == pytest.approx(3)
    assert built.excess_m((0.0, 22.0), HOME, 4, 1.0) == pytest.approx(2)


def test_types_can_be_switched_off():
    built = fence(*polygon(5001))
    assert built.excess_m((100.0, 0.0), HOME, 0, 1.0) < 0
    assert built.excess_m((100.0, 0.0), HOME, 2, 300.0) < 0


def test_polygon_after_a_circle_and_a_return_point():
    built = fence((5000, 0, 1, 1), (5003, 50, 0, 0), *polygon(5001), (5004, 1, 5, 0))
    assert built.excess_m((12.0, 0.0), HOME, 4, 300.0) == pytest.approx(2)
    assert built.excess_m((5.0, 0.5), HOME, 4, 300.0) == pytest.approx(0.5)


def test_a_breach_begins_once():
    built = fence()
    assert not built.note(-1.0)
    assert built.note(1.0)
    assert not built.note(2.0)
    assert (built.breached, built.breach_count, built.outside_m) == (True, 1, 2.0)
    built.note(-1.0)
    assert built.note(0.5)
    assert built.breach_count == 2
