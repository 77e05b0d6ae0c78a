"""The path law on its own: aim, pivot, speed, corners, arrival."""

import math

import pytest

from pico_gz.core.vehicle_config import DriveKind
from pico_gz.vehicle.autopilot.estimator import Estimator
from pico_gz.vehicle.autopilot.navigation import Navigator
from pico_gz.vehicle.autopilot.parameters import ParamStore, preset_params


def make(preset="pico_trail_freenove", **params):
    values = ParamStore({**preset_params(preset), **params}).values
    drive = DriveKind.SKID if preset != "pico_trail_ackermann" else DriveKind.ACKERMANN
    return Navigator(values, drive), Estimator(values)


def place(estimator, north, east, yaw_deg, speed=0.7):
    position = estimator.position
    position.north_m, position.east_m, position.speed_mps = north, east, speed
    estimator.heading.yaw_rad = yaw = math.radians(yaw_deg)
    estimator.sin_yaw, estimator.cos_yaw = math.sin(yaw), math.cos(yaw)


def wanted(navigator, estimator, north, east, yaw_deg, speed=0.7):
    place(estimator, north, east, yaw_deg, speed)
    navigator.update(estimator, 0, 0.7)
    return navigator.speed_mps, navigator.turn_rate_radps


def test_on_the_leg_it_goes_straight_at_full_speed():
    navigator, estimator = make()
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    assert wanted(navigator, estimator, 5.0, 0.0, 0.0) == pytest.approx((0.7, 0.0))
    assert navigator.distance_m == pytest.approx(15.0)


@pytest.mark.parametrize(("east", "sign"), [(0.5, -1), (-0.5, 1)])
def test_beside_the_leg_it_turns_back(east, sign):
    navigator, estimator = make()
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    _speed, rate = wanted(navigator, estimator, 5.0, east, 0.0)
    assert navigator.cross_track_m == pytest.approx(east)
    assert rate * sign > 0.0
    # Pure pursuit: curvature is twice the offset over the distance of the aim squared.
    assert abs(rate) == pytest.approx(0.7 * 2 * 0.5 / (1.0 + 0.25))


def test_pivot_begins_beyond_the_angle_and_ends_near_zero():
    navigator, estimator = make()
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    assert wanted(navigator, estimator, 0.0, 0.0, -55.0)[0] > 0.0
    speed, rate = wanted(navigator, estimator, 0.0, 0.0, -65.0)
    assert speed == 0.0
    assert rate == pytest.approx(math.radians(60.0))
    assert wanted(navigator, estimator, 0.0, 0.0, -20.0)[0] == 0.0
    assert wanted(navigator, estimator, 0.0, 0.0, -4.0)[0] > 0.0


def test_pivot_delay():
    navigator, estimator = make(WP_PIVOT_DELAY=1.0)
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    wanted(navigator, estimator, 0.0, 0.0, 90.0)
    wanted(navigator, estimator, 0.0, 0.0, 1.0)
    assert wanted(navigator, estimator, 0.0, 0.0, 1.0) == (0.0, 0.0)
    navigator.update(estimator, 1_100_000, 0.7)
    assert navigator.speed_mps > 0.0


def test_a_car_never_pivots_and_keeps_its_radius():
    navigator, estimator = make("pico_trail_ackermann")
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    speed, rate = wanted(navigator, estimator, 0.0, 0.0, 180.0, speed=0.2)
    assert speed > 0.0
    assert abs(rate) / speed <= 1.0 / 0.3 + 1e-9


def test_it_slows_down_before_the_end():
    navigator, estimator = make()
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    speeds = [wanted(navigator, estimator, north, 0.0, 0.0)[0] for north in (15.0, 19.7, 19.85)]
    assert speeds[0] == pytest.approx(0.7)
    assert speeds[0] > speeds[1] > speeds[2] > 0.0


def test_reached_by_radius_and_by_plane():
    navigator, estimator = make()
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    wanted(navigator, estimator, 19.0, 0.0, 0.0)
    assert not navigator.reached
    wanted(navigator, estimator, 19.9, 0.0, 0.0)
    assert navigator.reached
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    wanted(navigator, estimator, 20.1, 1.5, 0.0)
    assert navigator.reached


def test_a_leg_of_no_length_is_reached_at_once():
    navigator, estimator = make()
    navigator.set_leg((3.0, 3.0), (3.0, 3.0))
    wanted(navigator, estimator, 3.0, 3.0, 0.0)
    assert navigator.reached


def test_a_skid_rover_stops_at_a_sharp_corner_and_rounds_a_flat_one():
    navigator, _ = make()
    navigator.set_leg((0.0, 0.0), (20.0, 0.0), (20.0, 20.0))
    assert navigator.stop
    navigator.set_leg((0.0, 0.0), (20.0, 0.0), (40.0, 10.0))
    assert not navigator.stop
    assert navigator.switch_m <= 2.0


def test_a_car_turns_in_within_the_waypoint_radius():
    navigator, _ = make("pico_trail_ackermann")
    navigator.set_leg((0.0, 0.0), (20.0, 0.0), (20.0, 20.0))
    assert not navigator.stop
    assert 0.15 < navigator.switch_m <= 2.0


def test_corner_speed_obeys_the_turn_acceleration():
    navigator, _ = make(WP_SPEED=50.0, ATC_STR_RAT_MAX=0.0, WP_PIVOT_ANGLE=180)
    navigator.set_leg((0.0, 0.0), (200.0, 0.0), (200.0, 200.0))
    assert navigator.corner_mps == pytest.approx(math.sqrt(0.6 * 9.80665 * 2.0))


def test_speed_in_a_curve_obeys_the_turn_acceleration():
    navigator, estimator = make(ATC_TURN_MAX_G=0.1, WP_PIVOT_ANGLE=0)
    navigator.set_leg((0.0, 0.0), (200.0, 0.0))
    place(estimator, 5.0, 3.0, 0.0, 5.0)
    navigator.update(estimator, 0, 5.0)
    assert navigator.speed_mps * abs(navigator.turn_rate_radps) <= 0.1 * 9.80665 * 5.0
    assert navigator.speed_mps < 5.0


def test_reverse_drives_the_stern_along_the_leg():
    navigator, estimator = make()
    navigator.reversed = True
    navigator.set_leg((0.0, 0.0), (20.0, 0.0))
    speed, rate = wanted(navigator, estimator, 5.0, 0.0, 180.0)
    assert speed == pytest.approx(-0.7)
    assert rate == pytest.approx(0.0, abs=1e-9)
    # East of the leg the course must swing to the left, so the bow does too.
    assert wanted(navigator, estimator, 5.0, 0.5, 180.0)[1] < 0.0
