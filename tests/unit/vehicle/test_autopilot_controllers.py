"""Controllers and mixing: limits, signs, no windup, no loss of a curve by saturation."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.core.vehicle_config import DriveKind
from pico_gz.vehicle.autopilot.control import (
    Pid,
    SpeedController,
    TurnController,
    mix_skid,
    shape_throttle,
)
from pico_gz.vehicle.autopilot.parameters import ParamStore

UNIT = st.floats(-1.0, 1.0)


def values(**changes):
    return {**ParamStore().values, **changes}


def test_feed_forward_gives_cruise_throttle_at_cruise_speed():
    speed = SpeedController(values(ATC_ACCEL_MAX=0, ATC_SPEED_P=0, ATC_SPEED_I=0))
    assert speed.update(2.0, 2.0, 1.0) == pytest.approx(0.5)


def test_desired_speed_is_approached_with_the_allowed_acceleration():
    speed = SpeedController(values(ATC_ACCEL_MAX=1.0, ATC_DECEL_MAX=2.0))
    for _ in range(50):
        speed.update(2.0, 0.0, 0.02)
    assert speed.target_mps == pytest.approx(1.0)
    for _ in range(10):
        speed.update(0.0, 1.0, 0.02)
    assert speed.target_mps == pytest.approx(0.6)


def test_standing_means_no_throttle():
    speed = SpeedController(values())
    speed.pid.integral = 0.4
    assert speed.update(0.0, 0.05, 0.02) == 0.0
    assert speed.pid.integral == 0.0


def test_without_brake_the_throttle_never_turns_round():
    speed = SpeedController(values(ATC_BRAKE=0))
    speed.target_mps = 1.0
    assert speed.update(1.0, 8.0, 0.02) == 0.0


def test_integral_does_not_wind_up():
    pid = Pid(values(), "ATC_SPEED")
    for _ in range(1000):
        pid.update(10.0, 0.02, saturated=True)
    assert pid.integral == 0.0
    for _ in range(10000):
        pid.update(10.0, 0.02, saturated=False)
    assert pid.integral == 1.0


def test_skid_steers_right_for_a_right_turn():
    turn = TurnController(values(ATC_STR_ACC_MAX=0), DriveKind.SKID)
    assert turn.update(0.5, 0.0, 0.0, 0.02) > 0.0
    turn.reset()
    assert turn.update(-0.5, 0.0, 0.0, 0.02) < 0.0


@pytest.mark.parametrize(("speed", "sign"), [(1.0, 1.0), (-1.0, -1.0)])
def test_car_steers_the_other_way_when_backing(speed, sign):
    turn = TurnController(values(ATC_STR_ACC_MAX=0), DriveKind.ACKERMANN)
    assert sign * turn.update(0.5, 0.0, speed, 0.02) > 0.0


def test_car_steers_for_the_curvature():
    turn = TurnController(
        values(ATC_STR_ACC_MAX=0, ATC_STR_RAT_P=0, ATC_STR_RAT_I=0), DriveKind.ACKERMANN
    )
    # Radius 1.8 m is half the tightest curve of 0.9 m.
    assert turn.update(1.0, 1.0, 1.8, 0.02) == pytest.approx(0.5)


def test_turn_rate_is_limited():
    turn = TurnController(values(ATC_STR_ACC_MAX=0, ATC_STR_RAT_MAX=90), DriveKind.SKID)
    turn.update(10.0, 0.0, 0.0, 0.02)
    assert turn.target_radps == pytest.approx(math.pi / 2)


@given(UNIT, UNIT, st.floats(0.2, 1.0))
def test_mixing_never_saturates(throttle, steering, share):
    left, right = mix_skid(throttle, steering, share)
    assert abs(left) <= 1.0 + 1e-12
    assert abs(right) <= 1.0 + 1e-12


@given(st.floats(0.1, 1.0), st.floats(0.1, 1.0))
def test_fair_mixing_keeps_the_curve(throttle, steering):
    left, right = mix_skid(throttle, steering, 0.5)
    assert (left - right) * throttle == pytest.approx((left + right) * steering)


def test_mixing_signs_and_shares():
    assert mix_skid(0.5, 0.2, 0.5) == pytest.approx((0.7, 0.3))
    left, right = mix_skid(1.0, 0.5, 1.0)
    assert (left - right) / 2 == pytest.approx(0.5)
    assert mix_skid(-1.0, 1.0, 0.5) == pytest.approx((0.0, -1.0))


@given(st.floats(0.01, 1.0), st.floats(-0.9, 0.9))
def test_throttle_shape_is_odd_and_bounded(throttle, expo):
    up = shape_throttle(throttle, 5.0, 80.0, expo)
    assert shape_throttle(-throttle, 5.0, 80.0, expo) == -up
    assert 0.05 <= up <= 0.8


def test_throttle_shape_skips_the_dead_zone():
    assert shape_throttle(0.0, 5.0, 100.0, 0.0) == 0.0
    assert shape_throttle(0.5, 5.0, 100.0, 0.0) == pytest.approx(0.525)
    assert shape_throttle(1.0, 5.0, 100.0, 0.0) == pytest.approx(1.0)
