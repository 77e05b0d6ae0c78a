"""Breadcrumbs: spaced, without loops, within the space there is."""

import math

from pico_gz.vehicle.autopilot.parameters import ParamStore
from pico_gz.vehicle.autopilot.smart_rtl import SmartRtlPath


def path(**params):
    made = SmartRtlPath({**ParamStore().values, **params})
    made.begin((0.0, 0.0))
    return made


def walk(made, *corners, step=0.2):
    """Walk straight from corner to corner."""
    north, east = made.points[-1] if made.points else (0.0, 0.0)
    for to_n, to_e in corners:
        length = math.hypot(to_n - north, to_e - east)
        for k in range(1, max(1, round(length / step)) + 1):
            share = k * step / length
            if not made.add((north + share * (to_n - north), east + share * (to_e - east))):
                return False
        north, east = to_n, to_e
    return True


def test_points_are_an_accuracy_apart():
    made = path()
    walk(made, (20.0, 0.0))
    gaps = [b[0] - a[0] for a, b in zip(made.points, made.points[1:], strict=False)]
    assert len(made.points) == 11
    assert all(2.0 <= gap < 2.3 for gap in gaps)


def test_a_loop_is_cut_off():
    made = path()
    walk(made, (10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (0.0, 0.0))
    assert len(made.points) < 4


def test_the_newest_point_comes_first():
    made = path()
    walk(made, (6.1, 0.0))
    assert made.peek() == (made.points[-1][0], made.points[-1][1])
    taken = [made.take() for _ in range(4)]
    assert [round(point[0]) for point in taken] == [6, 4, 2, 0]
    assert made.take() is None
    assert made.peek() is None


def test_straight_parts_are_thinned_when_space_runs_out():
    made = path(SRTL_POINTS=20.0)
    assert walk(made, (200.0, 0.0))
    assert made.active
    assert len(made.points) <= 20
    assert made.points[0] == [0.0, 0.0]


def test_a_winding_path_without_space_switches_off():
    made = path(SRTL_POINTS=10.0)
    corners = [(4.0 * k, 6.0 * (k % 2)) for k in range(1, 30)]
    assert not walk(made, *corners)
    assert not made.active
    assert made.take() is None


def test_off_without_a_position_or_points():
    made = path()
    made.begin(None)
    assert not made.active
    assert made.add((1.0, 1.0))
    assert not path(SRTL_POINTS=0.0).active
