"""Sensors that lie in the middle of AUTO: HOLD stands, and the heading finds back."""

import math

import pytest
from driving import SQUARE, Drive, distance, off_path

from pico_gz.core.ground_control import Mode, Result

SKID, CAR = "pico_trail_freenove", "pico_trail_ackermann"
LIES = [
    (unit, kind) for unit in ("gps", "encoder", "accel", "gyro") for kind in ("garbage", "wrong")
]


def failing(unit, kind, *, preset=SKID, seed=1, after_s=6.0):
    """A rover on its square whose sensor has just begun to fail."""
    drive = Drive(preset, "typical", seed)
    drive.start_mission(SQUARE)
    drive.run(after_s)
    drive.texts.clear()
    drive.adapter.set_failure(1, unit, kind)
    return drive


def mode_of(drive):
    return drive.autopilot.status().mode


def assert_stands(drive):
    """Three seconds after HOLD began it neither moves nor turns, nor tries to."""
    drive.run(3.0)
    where, yaw = drive.place, drive.yaw
    drive.run(5.0)
    assert drive.place == pytest.approx(where, abs=0.02)
    assert drive.yaw == pytest.approx(yaw, abs=0.02)
    assert set(drive.platform.servo_outputs_us()[:2]) == {1500}


@pytest.mark.parametrize(("unit", "kind"), LIES)
@pytest.mark.parametrize("preset", [SKID, CAR])
def test_hold_stops_whatever_the_sensors_say(preset, unit, kind):
    drive = failing(unit, kind, preset=preset)
    if not drive.run_until(lambda: mode_of(drive) == "HOLD", 5.0):
        drive.autopilot.set_mode(Mode.HOLD)
    assert_stands(drive)


@pytest.mark.parametrize("unit", ["gps", "encoder", "accel", "gyro"])
def test_a_rover_that_stands_in_hold_stays(unit):
    drive = Drive(SKID, "typical", 1).ready()
    drive.autopilot.set_mode(Mode.HOLD)
    drive.run(1.0)
    where, yaw = drive.place, drive.yaw
    drive.adapter.set_failure(1, unit, "garbage")
    drive.run(10.0)
    assert drive.place == pytest.approx(where, abs=0.02)
    assert drive.yaw == pytest.approx(yaw, abs=0.02)


def test_garbage_from_the_gps_is_no_gps():
    drive = failing("gps", "garbage")
    assert drive.run_until(lambda: mode_of(drive) == "HOLD", 15.0)
    assert off_path(drive.place, SQUARE) < 2.0
    assert "GPS lost, dead reckoning" in drive.texts
    assert "EKF failsafe: position lost" in drive.texts


def test_a_gps_that_repeats_itself_is_no_gps():
    drive = failing("gps", "stuck")
    assert drive.run_until(lambda: "GPS lost, dead reckoning" in drive.texts, 3.0)
    assert drive.run_until(lambda: mode_of(drive) == "HOLD", 15.0)
    assert off_path(drive.place, SQUARE) < 2.0
    drive.adapter.set_failure(1, "gps", "ok")
    drive.run(2.0)
    assert "GPS is back" in drive.texts


def test_garbage_from_the_encoders_is_left_out():
    drive = failing("encoder", "garbage")
    aside = []
    drive.run(30.0, lambda: aside.append(off_path(drive.place, SQUARE)))
    assert mode_of(drive) == "AUTO"
    assert max(aside) < 2.0
    assert distance(drive.place, SQUARE[0]) > 15.0


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_a_gyro_that_comes_and_goes_does_not_turn_the_heading_round(seed):
    drive = failing("gyro", "intermittent", seed=seed, after_s=12.0)
    aside, wrong_for = [], [0, 0]

    def watch():
        aside.append(off_path(drive.place, SQUARE))
        wrong_for[0] = wrong_for[0] + 1 if abs(drive.yaw_error) > math.pi / 2 else 0
        wrong_for[1] = max(wrong_for)

    drive.run(90.0, watch)
    assert max(aside) < 5.0
    # In units of 50 ms: not the wrong way round for longer than a pivot and a few fixes take.
    assert wrong_for[1] < 200
    resets = drive.autopilot._rover.estimator.heading.resets
    assert drive.texts.count("Heading was wrong and is reset") == resets


@pytest.mark.parametrize("unit", ["gyro", "accel"])
def test_a_dead_imu_ends_in_hold(unit):
    # Shortly before the corner: a gyro that says "straight on" is right until then.
    drive = failing(unit, "off", after_s=22.0)
    assert drive.run_until(lambda: mode_of(drive) == "HOLD", 20.0)
    assert "EKF failsafe: IMU failed" in drive.texts
    assert off_path(drive.place, SQUARE) < 3.0
    drive.autopilot.disarm()
    drive.run(1.0)
    assert drive.autopilot.arm() is Result.FAILED


def test_a_gps_that_jumps_is_told():
    drive = failing("gps", "wrong")
    assert drive.run_until(lambda: "GPS contradicts dead reckoning" in drive.texts, 3.0)
