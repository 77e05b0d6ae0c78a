"""Motion against closed forms, on level ground."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pico_gz.core.rover_spec import rover_spec
from tests.unit.simulator.lane_rig import (
    ideal,
    lone_lane,
    pose_values,
    position,
    run,
    specific_force,
    yaw_rad,
)

TRACK = 0.15
COMMANDS = st.floats(-1.0, 1.0).map(lambda value: round(value, 3))
CHECK = settings(max_examples=60, deadline=None, derandomize=True)


def arc_commands(speed: float, yaw: float) -> tuple[float, float]:
    """(left, right) of the ideal rover for a speed and yaw rate."""
    return speed + 0.5 * yaw * TRACK, speed - 0.5 * yaw * TRACK


@pytest.mark.parametrize("heading_deg", [0.0, 30.0, 90.0, 211.7])
def test_an_hour_straight_on(heading_deg):
    lane = run(lone_lane(ideal(), (0, 0, heading_deg)), (0.9, 0.9), steps=36_000, dt_us=100_000)
    way, heading = 0.9 * 3600.0, math.radians(heading_deg)
    assert position(lane) == pytest.approx(
        (way * math.cos(heading), way * math.sin(heading)), abs=1e-9
    )


def test_small_steps_lose_nothing():
    # Plain summing misses by far more than this after 40 000 steps away from the origin.
    lane = run(lone_lane(ideal(), (1000.0, 0.0, 0.0)), (0.1, 0.1), steps=40_000, dt_us=1_000)
    assert lane.pose.north_m == pytest.approx(1004.0, abs=1e-12)


def test_spin_in_place():
    lane = run(lone_lane(ideal(), (3.0, -2.0, 0.0)), (0.075, -0.075), steps=300)
    assert yaw_rad(lane) == pytest.approx(3.0, abs=1e-12)
    assert position(lane) == pytest.approx((3.0, -2.0), abs=1e-12)


ARC_PARTS = [0.25, 0.5, 0.75, 1.0, 10.25]


def closed_form(part: float) -> tuple[float, float]:
    """End of a right-hand circle of radius 1 m, from the origin heading north."""
    return math.sin(2 * math.pi * part), 1.0 - math.cos(2 * math.pi * part)


@pytest.mark.parametrize("part", ARC_PARTS)
@pytest.mark.parametrize("steps", [16, 157, 628])
def test_arcs_end_where_they_should(part, steps):
    # One metre per second and one radian per second, in steps that fit the arc.
    dt_us = round(2 * math.pi * part / steps * 1e6)
    yaw = 2 * math.pi * part / (steps * dt_us * 1e-6)
    left, right = arc_commands(yaw * 0.9, yaw * 0.9)
    lane = run(lone_lane(ideal(max_speed=1.0 / 0.9)), (left, right), steps=steps, dt_us=dt_us)
    assert position(lane) == pytest.approx(closed_form(part), abs=1e-9)


@pytest.mark.parametrize("part", [0.25, 0.5])
def test_euler_fails_the_same_arcs(part):
    """The tolerance of the arc test is tight enough to catch the usual integrator."""
    steps = round(2 * math.pi * part / 0.01)
    north = east = heading = 0.0
    dt = 2 * math.pi * part / steps
    for _ in range(steps):
        north += dt * math.cos(heading)
        east += dt * math.sin(heading)
        heading += dt
    end = closed_form(part)
    assert math.hypot(north - end[0], east - end[1]) > 5e-3


@pytest.mark.parametrize("lag_s", [0.0, 0.2])
def test_the_step_length_does_not_matter(lag_s):
    ends = []
    for dt_ms in (1, 5, 20, 100):
        lane = lone_lane(ideal(lag_s=lag_s), (1.0, 2.0, 40.0))
        run(lane, (0.9, 0.6), steps=4000 // dt_ms, dt_us=dt_ms * 1000)
        ends.append((*position(lane), yaw_rad(lane)))
    for end in ends[1:]:
        assert end == pytest.approx(ends[0], abs=1e-9)


@CHECK
@given(COMMANDS, COMMANDS, st.sampled_from([0.0, 0.1]), st.integers(1, 50))
def test_two_steps_make_one_of_double_length(left, right, lag_s, dt_ms):
    spec = ideal(lag_s=lag_s, coast_lag_s=lag_s, hold_mps2=0.0)
    fine = run(lone_lane(spec), (left, right), steps=2, dt_us=dt_ms * 1000)
    coarse = run(lone_lane(spec), (left, right), steps=1, dt_us=2 * dt_ms * 1000)
    assert pose_values(fine) == pytest.approx(pose_values(coarse), abs=1e-12)


@CHECK
@given(COMMANDS, COMMANDS, st.integers(1, 200))
def test_going_back_the_same_way(left, right, steps):
    lane = run(lone_lane(ideal(), (1.0, 2.0, 77.0)), (left, right), steps=steps)
    run(lane, (-left, -right), steps=steps)
    assert position(lane) == pytest.approx((1.0, 2.0), abs=1e-9)
    assert yaw_rad(lane) == pytest.approx(math.radians(77.0), abs=1e-9)


@CHECK
@given(st.lists(st.tuples(COMMANDS, COMMANDS), min_size=1, max_size=20))
def test_the_mirror_image_has_the_same_bits(program):
    spec = rover_spec("pico_trail_freenove")
    one, other = lone_lane(spec), lone_lane(spec)
    for left, right in program:
        run(one, (left, right), steps=7)
        run(other, (right, left), steps=7)
    a, b = one.pose, other.pose
    assert (a.north_m, a.east_m, a.cos_yaw, a.sin_yaw) == (
        b.north_m, -b.east_m, b.cos_yaw, -b.sin_yaw,
    )  # fmt: skip
    assert (a.yaw_radps, a.wheel_left_rad) == (-b.yaw_radps, b.wheel_right_rad)


@CHECK
@given(st.floats(-180.0, 180.0), st.lists(st.tuples(COMMANDS, COMMANDS), min_size=1, max_size=20))
def test_a_turned_start_turns_the_path(angle_deg, program):
    spec = rover_spec("pico_trail_freenove")
    plain, turned = lone_lane(spec), lone_lane(spec, (0.0, 0.0, angle_deg))
    for command in program:
        run(plain, command, steps=10)
        run(turned, command, steps=10)
    c, s = math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))
    n, e = position(plain)
    assert position(turned) == pytest.approx((n * c - e * s, n * s + e * c), abs=1e-9)


def test_left_faster_turns_right():
    lane = run(lone_lane(ideal()), (0.6, 0.4), steps=100)
    assert yaw_rad(lane) > 0.0
    assert lane.pose.east_m > 0.0


@pytest.mark.parametrize(
    ("speed", "yaw"), [(0.8, 1.5), (-0.5, 1.5), (0.5, -1.0), (-0.5, -1.0), (0.7, 0.0)]
)
def test_steady_motion_feels_as_it_should(speed, yaw):
    lane = run(lone_lane(ideal(), (0, 0, 123.0)), arc_commands(speed, yaw), steps=3)
    assert lane.motion.rate_z_radps == pytest.approx(yaw, abs=1e-12)
    assert specific_force(lane) == pytest.approx((0.0, speed * yaw, -9.80665), abs=1e-12)


def test_speeding_up_feels_as_it_should():
    lane = run(lone_lane(ideal(accel_limit_mps2=2.0), (0, 0, 200.0)), (1.0, 1.0), steps=10)
    assert specific_force(lane) == pytest.approx((2.0, 0.0, -9.80665), abs=1e-12)


def test_the_reference_point_swings_about_the_centre_of_rotation():
    lane = run(lone_lane(ideal(icr_offset_m=0.05)), (0.075, -0.075), steps=200)
    # It circles round a point 5 cm ahead of where it began.
    assert math.hypot(lane.pose.north_m - 0.05, lane.pose.east_m) == pytest.approx(0.05, abs=1e-12)
    assert lane.motion.vel_e_mps == pytest.approx(-0.05 * math.cos(2.0), abs=1e-12)
    force = specific_force(lane)
    assert force == pytest.approx((0.05, 0.0, -9.80665), abs=1e-12)


def strapdown(lane, program):
    """Integrate a perfect IMU: gyro to heading, specific force at mid heading to position."""
    heading, vn, ve, n, e = 0.0, 0.0, 0.0, 0.0, 0.0
    dt = 0.01
    for command in program:
        run(lane, command, steps=1)
        turn = lane.motion.rate_z_radps * dt
        fx, fy, _ = specific_force(lane)
        c, s = math.cos(heading + 0.5 * turn), math.sin(heading + 0.5 * turn)
        vn1, ve1 = vn + (fx * c - fy * s) * dt, ve + (fx * s + fy * c) * dt
        n, e = n + 0.5 * (vn + vn1) * dt, e + 0.5 * (ve + ve1) * dt
        vn, ve, heading = vn1, ve1, heading + turn
    return heading, n, e


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_inertial_navigator_finds_the_same_way(seed):

    draw = random.Random(seed)
    program: list[tuple[float, float]] = []
    while len(program) < 6000:
        speed, turn = draw.uniform(-0.8, 0.8), draw.uniform(-0.15, 0.15)
        program += [(speed + turn, speed - turn)] * draw.randrange(20, 200)
    lane = lone_lane(rover_spec("pico_trail_freenove"))
    heading, north, east = strapdown(lane, program[:6000])
    assert math.hypot(north - lane.pose.north_m, east - lane.pose.east_m) < 1e-3
    off = math.remainder(heading - yaw_rad(lane), 2 * math.pi)
    assert abs(off) < 1e-9


def test_wheels_turn_as_far_as_the_rover_goes():
    lane = run(lone_lane(ideal()), (0.6, 0.4), steps=1000)
    radius = lane.spec.wheel_radius_m
    assert lane.pose.wheel_left_rad * radius == pytest.approx(6.0, abs=1e-9)
    assert lane.pose.wheel_right_rad * radius == pytest.approx(4.0, abs=1e-9)
    turned = (lane.pose.wheel_left_rad - lane.pose.wheel_right_rad) * radius / TRACK
    assert math.remainder(turned - yaw_rad(lane), 2 * math.pi) == pytest.approx(0.0, abs=1e-9)


def test_wheels_and_yaw_agree_under_the_turn_limit():
    lane = run(lone_lane(rover_spec("ideal")), (1.0, -1.0), steps=100)
    assert lane.motion.rate_z_radps == pytest.approx(2.0, abs=1e-12)
    turned = (lane.pose.wheel_left_rad - lane.pose.wheel_right_rad) * lane.spec.wheel_radius_m
    assert turned / TRACK == pytest.approx(2.0, abs=1e-12)
