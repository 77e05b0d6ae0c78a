"""The actuator chain and the two ways of steering."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.simulator.drive_model import Shaping, SpeedLaw
from tests.unit.simulator.lane_rig import ackermann, ideal, lone_lane, position, run, yaw_rad

CHECK = settings(max_examples=100, deadline=None, derandomize=True)


def settle(spec, target, *, start=0.0, push=None, steps=1, dt_us=10_000):
    """Let one side run; returns (speed, distance)."""
    law = SpeedLaw(spec, dt_us)
    speed, distance = start, 0.0
    for _ in range(steps):
        speed, mean = law.advance(speed, target, push)
        distance += mean * dt_us * 1e-6
    return speed, distance


# --- lag and limits ---------------------------------------------------------------------------


def test_the_lag_reaches_63_percent_after_its_time_constant():
    spec = ideal(lag_s=0.2)
    assert settle(spec, 1.0, steps=20)[0] == pytest.approx(1.0 - math.exp(-1.0), abs=1e-9)
    assert settle(spec, 1.0, steps=60)[0] == pytest.approx(1.0 - math.exp(-3.0), abs=1e-9)


@pytest.mark.parametrize("dt_us", [1_000, 10_000, 100_000, 1_000_000])
def test_the_distance_under_lag_is_exact_at_any_step(dt_us):
    _, distance = settle(ideal(lag_s=0.3), 0.8, steps=2_000_000 // dt_us, dt_us=dt_us)
    assert distance == pytest.approx(0.8 * (2.0 - 0.3 * (1.0 - math.exp(-2.0 / 0.3))), abs=1e-9)


@pytest.mark.parametrize("dt_us", [1_000, 7_000, 10_000, 70_000])
def test_a_ramp_then_the_lag(dt_us):
    # 1 m/s through a lag of 0.1 s at 2 m/s^2: a ramp for 0.4 s, then the exponential.
    speed, distance = settle(
        ideal(lag_s=0.1, accel_limit_mps2=2.0), 1.0, steps=700_000 // dt_us, dt_us=dt_us
    )
    after = 0.7 - 0.4
    assert speed == pytest.approx(1.0 - 0.2 * math.exp(-after / 0.1), abs=1e-9)
    expected = 0.5 * 2.0 * 0.4**2 + after - 0.2 * 0.1 * (1.0 - math.exp(-after / 0.1))
    assert distance == pytest.approx(expected, abs=1e-9)


def test_limits_without_lag():
    spec = ideal(accel_limit_mps2=2.0, brake_limit_mps2=4.0)
    assert settle(spec, 1.0, steps=25)[0] == pytest.approx(0.5, abs=1e-12)
    assert settle(spec, 1.0, steps=80) == pytest.approx((1.0, 0.25 + 0.3), abs=1e-12)
    assert settle(spec, 0.2, start=1.0, steps=10)[0] == pytest.approx(0.6, abs=1e-12)


def test_only_one_limit():
    spec = ideal(brake_limit_mps2=4.0)
    assert settle(spec, 1.0)[0] == pytest.approx(1.0, abs=1e-12)
    assert settle(spec, 0.2, start=1.0, steps=10)[0] == pytest.approx(0.6, abs=1e-12)


def test_coasting_has_its_own_lag():
    spec = ideal(lag_s=0.1, coast_lag_s=0.5, hold_mps2=0.0)
    assert settle(spec, 0.0, start=1.0, steps=50)[0] == pytest.approx(math.exp(-1.0), abs=1e-9)
    assert settle(spec, 0.1, start=1.0, steps=10)[0] == pytest.approx(0.1 + 0.9 * math.exp(-1.0))


def test_rolling_resistance_stops_an_unpowered_rover():
    spec = ideal(lag_s=0.1, coast_lag_s=math.inf, rolling_resistance=0.05)
    decel = 0.05 * 9.80665
    speed, distance = settle(spec, 0.0, start=1.0, steps=500)
    assert speed == 0.0
    assert distance == pytest.approx(1.0 / (2.0 * decel), abs=1e-4)
    assert settle(spec, 0.0, start=-1.0, steps=500) == (0.0, -distance)


def test_driven_speed_is_the_commanded_one_in_spite_of_resistance():
    spec = rover_spec("pico_trail_freenove")
    assert settle(spec, 0.7, steps=500)[0] == pytest.approx(0.7, abs=1e-12)


@pytest.mark.parametrize("push", [-1.7, 1.7])
def test_a_parked_rover_holds_on_a_slope(push):
    assert settle(rover_spec("pico_trail_freenove"), 0.0, push=push, steps=100) == (0.0, 0.0)


def test_too_steep_a_slope_lets_it_roll():
    speed, _ = settle(rover_spec("pico_trail_freenove"), 0.0, push=-5.0, steps=100)
    assert speed < -0.5


def test_a_weak_motor_stalls_and_does_not_roll_back():
    # 0.1 m/s through a lag of 0.1 s gives 1 m/s^2, gravity takes 1.7: it stands.
    assert settle(rover_spec("pico_trail_freenove"), 0.1, push=-1.7, steps=100) == (0.0, 0.0)


def test_a_motor_at_its_limit_loses_against_gravity():
    spec = ideal(lag_s=0.1, accel_limit_mps2=2.0, brake_limit_mps2=2.0, hold_mps2=0.0)
    assert settle(spec, 1.0, push=-3.0, steps=100)[0] == pytest.approx(-1.0, abs=1e-9)


def test_a_slope_costs_speed():
    spec = ideal(lag_s=0.1, hold_mps2=0.0)
    assert settle(spec, 0.8, push=-1.0, steps=500)[0] == pytest.approx(0.7, abs=1e-12)


@CHECK
@given(
    st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.1, 5.0), st.floats(-1.0, 1.0),
    st.integers(1, 200),
)  # fmt: skip
def test_two_half_steps_make_one(start, target, limit, share, dt_ms):
    push = share * limit  # a motor that can hold its own
    spec = ideal(lag_s=0.1, accel_limit_mps2=limit, brake_limit_mps2=limit, hold_mps2=0.0)
    fine = settle(spec, target, start=start, push=push, steps=2, dt_us=dt_ms * 1000)
    coarse = settle(spec, target, start=start, push=push, steps=1, dt_us=dt_ms * 2000)
    assert fine == pytest.approx(coarse, abs=1e-12)


# --- shaping ----------------------------------------------------------------------------------


def test_the_deadband_swallows_and_stretches():
    shaping = Shaping(ideal(deadband=0.2))
    given_and_wanted = {0.0: 0.0, 0.1: 0.0, -0.2: 0.0, 0.6: 0.5, -0.6: -0.5, 1.0: 1.0, -1.0: -1.0}
    for command, share in given_and_wanted.items():
        assert shaping.apply(command) == pytest.approx(share, abs=1e-15)


def test_expo_softens_the_middle_and_keeps_the_end():
    shaping = Shaping(ideal(expo=0.5))
    assert shaping.apply(0.5) == pytest.approx(0.5 * 0.5 + 0.5 * 0.125)
    assert shaping.apply(-1.0) == -1.0


@CHECK
@given(st.floats(-1.0, 1.0), st.floats(0.0, 0.9), st.floats(0.0, 1.0))
def test_no_command_asks_for_more_than_everything(command, deadband, expo):
    share = Shaping(ideal(deadband=deadband, expo=expo)).apply(command)
    assert -1.0 <= share <= 1.0
    assert share * command >= 0.0


# --- skid steer -------------------------------------------------------------------------------


def test_twice_the_track_factor_is_half_the_turn():
    once = run(lone_lane(ideal(track_factor=1.5)), (0.5, 0.2), steps=1)
    twice = run(lone_lane(ideal(track_factor=3.0)), (0.5, 0.2), steps=1)
    assert once.motion.rate_z_radps == 2.0 * twice.motion.rate_z_radps


def test_slip_loses_ground_but_not_wheel_turns():
    lane = run(lone_lane(ideal(slip=0.1)), (1.0, 1.0), steps=100)
    assert lane.pose.north_m == pytest.approx(0.9, abs=1e-12)
    assert lane.pose.wheel_left_rad * lane.spec.wheel_radius_m == pytest.approx(1.0, abs=1e-12)


def test_the_battery_scales_the_speed():
    lane = lone_lane(ideal(battery_scaling=True))
    lane.battery_ratio = 0.8
    assert run(lane, (1.0, 1.0), steps=100).pose.north_m == pytest.approx(0.8, abs=1e-12)


def test_the_turn_limit_keeps_the_speed():
    lane = run(lone_lane(ideal(max_turn_rate=1.0)), (1.0, 0.0), steps=1)
    assert lane.motion.rate_z_radps == pytest.approx(1.0, abs=1e-12)
    assert lane.pose.speed_mps == pytest.approx(0.5, abs=1e-12)


def test_grip_bounds_the_sideways_force():
    lane = run(lone_lane(ideal(max_speed=3.0, grip_mu=0.5)), (1.0, 0.5), steps=5)
    sideways = lane.motion.rate_z_radps * lane.pose.speed_mps
    assert sideways == pytest.approx(0.5 * 9.80665, abs=1e-9)
    spinning = run(lone_lane(ideal(max_speed=3.0, grip_mu=0.5)), (1.0, -1.0), steps=5)
    assert spinning.motion.rate_z_radps == pytest.approx(2 * 3.0 / 0.15)


def test_yaw_follows_with_its_own_lag():
    lane = run(lone_lane(ideal(yaw_lag_s=0.05)), (0.075, -0.075), steps=5)
    assert lane.pose.yaw_radps == pytest.approx(1.0 - math.exp(-1.0), abs=1e-9)
    assert yaw_rad(lane) == pytest.approx(0.05 - 0.05 * (1.0 - math.exp(-1.0)), abs=1e-9)


def test_motor_load_is_what_is_missing_to_the_target():
    lane = run(lone_lane(ideal(lag_s=0.1)), (1.0, 0.5), steps=1)
    left = math.exp(-0.1)
    assert lane.motion.load_left == pytest.approx(left, abs=1e-12)
    assert lane.motion.load_right == pytest.approx(0.5 * left, abs=1e-12)
    assert lane.motion.throttle_abs == pytest.approx(0.75)


def test_ardupilot_skid_obeys_its_own_laws():
    spec = rover_spec("ardupilot_skid")
    lane = run(lone_lane(spec), (0.5, 0.3), steps=200, dt_us=5_000)
    assert lane.motion.rate_z_radps == pytest.approx(math.radians(0.2 * 140.0), abs=1e-12)
    assert lane.pose.speed_mps == pytest.approx(1.6 * (1.0 - math.exp(-14.0 / 4.0)), abs=1e-9)
    spin = run(lone_lane(spec), (1.0, -1.0), steps=1)
    assert math.degrees(spin.motion.rate_z_radps) == pytest.approx(280.0)


# --- Ackermann --------------------------------------------------------------------------------


@pytest.mark.parametrize("steering", [1.0, 0.4, -0.7])
@pytest.mark.parametrize("throttle", [1.0, -0.5])
def test_the_rear_axle_runs_a_circle(steering, throttle):
    spec = ackermann(max_steer_deg=30.0)
    lane = run(lone_lane(spec), (throttle, steering), steps=157)
    radius = 0.3 / math.tan(math.radians(30.0 * steering))
    assert math.hypot(lane.pose.north_m, lane.pose.east_m - radius) == pytest.approx(
        abs(radius), abs=1e-9
    )
    turned = throttle * 1.57 / radius
    assert math.remainder(yaw_rad(lane) - turned, 2 * math.pi) == pytest.approx(0.0, abs=1e-9)


def test_the_servo_takes_its_time():
    spec = ackermann(max_steer_deg=30.0, steer_rate_degps=100.0)
    lane = run(lone_lane(spec), (0.0, 1.0), steps=15)
    assert math.degrees(lane.pose.memory[1]) == pytest.approx(15.0, abs=1e-9)
    run(lane, (0.0, 1.0), steps=20)
    assert math.degrees(lane.pose.memory[1]) == pytest.approx(30.0, abs=1e-12)


def test_understeer_widens_the_circle():
    plain = run(lone_lane(ackermann()), (1.0, 1.0), steps=1)
    soft = run(lone_lane(ackermann(understeer_s2pm=0.3)), (1.0, 1.0), steps=1)
    assert plain.motion.rate_z_radps == pytest.approx(2.0 * soft.motion.rate_z_radps)


def test_the_outer_wheel_turns_further():
    lane = run(lone_lane(ackermann()), (1.0, 1.0), steps=100)
    gap = (lane.pose.wheel_left_rad - lane.pose.wheel_right_rad) * lane.spec.wheel_radius_m
    turned = math.tan(math.radians(30.0)) / 0.3
    assert gap == pytest.approx(turned * lane.spec.track_m, abs=1e-9)


def test_ardupilot_car_turns_by_its_turning_circle():
    lane = lone_lane(rover_spec("ardupilot_car"), speed_mps=2.0)
    run(lane, (0.1, 0.5), steps=1)
    circle = 1.8 * math.sin(math.radians(35.0)) / math.sin(math.radians(17.5))
    assert lane.motion.rate_z_radps == pytest.approx(2.0 * 2.0 / circle, abs=1e-9)
    fast = run(lone_lane(rover_spec("ardupilot_car"), speed_mps=20.0), (1.0, 1.0), steps=1)
    assert fast.motion.rate_z_radps == pytest.approx(2 * math.pi)
    late = run(lone_lane(rover_spec("ardupilot_car")), (0.5, 0.0), steps=200)
    assert late.pose.speed_mps == pytest.approx(10.0 * (1.0 - math.exp(-1.0)), abs=1e-9)


def test_a_car_does_not_turn_on_the_spot():
    lane = run(lone_lane(ackermann()), (0.0, 1.0), steps=100)
    assert (position(lane), yaw_rad(lane)) == ((0.0, 0.0), 0.0)


def test_drive_kind_decides_what_commands_mean():
    assert rover_spec("pico_trail_ackermann").drive is DriveKind.ACKERMANN
    lane = run(lone_lane(rover_spec("pico_trail_ackermann")), (0.5, 0.0), steps=100)
    assert lane.pose.north_m > 0.2
    assert lane.pose.east_m == 0.0
