"""Losing GPS in the middle of AUTO: for a while, and for good."""

import math

import pytest
from driving import SQUARE, Drive, off_path

PRESETS = ["pico_trail_freenove", "pico_trail_ackermann"]
# Along a leg, and through a corner.
BEGINNINGS_S = {"on a leg": 12.0, "at a corner": 24.0}


def lose_for_a_while(preset, seed, beginning_s):
    drive = Drive(preset, "typical", seed)
    drive.start_mission(SQUARE)
    drive.run(beginning_s)
    before = off_path(drive.place, SQUARE)
    headings, aside = [], []

    def watch():
        headings.append(abs(drive.yaw_error))
        aside.append(off_path(drive.place, SQUARE))

    drive.adapter.set_failure(1, "gps", "off")
    drive.run(10.0, watch)
    assert drive.autopilot.status().mode == "AUTO"
    drive.adapter.set_failure(1, "gps", "ok")
    drive.run(5.0, watch)
    assert max(headings) <= math.radians(30.0)
    assert max(aside) - before <= 2.0
    assert "GPS lost, dead reckoning" in drive.texts
    assert drive.run_until(lambda: drive.autopilot.status().done, 180.0), drive.texts


@pytest.mark.parametrize("preset", PRESETS)
def test_ten_seconds_without_gps(preset):
    lose_for_a_while(preset, 1, BEGINNINGS_S["on a leg"])


@pytest.mark.parametrize("preset", PRESETS)
def test_ten_seconds_without_gps_in_a_corner(preset):
    lose_for_a_while(preset, 2, BEGINNINGS_S["at a corner"])


@pytest.mark.slow
@pytest.mark.parametrize("beginning", BEGINNINGS_S)
@pytest.mark.parametrize("seed", range(1, 21))
@pytest.mark.parametrize("preset", PRESETS)
def test_ten_seconds_without_gps_more_seeds(preset, seed, beginning):
    lose_for_a_while(preset, seed, BEGINNINGS_S[beginning])


@pytest.mark.parametrize("preset", PRESETS)
def test_loss_for_good_ends_in_hold(preset):
    drive = Drive(preset, "typical", 1)
    drive.start_mission(SQUARE)
    drive.run(15.0)
    drive.adapter.set_failure(1, "gps", "off")
    drive.run(10.0)
    assert drive.autopilot.status().mode == "AUTO"
    assert drive.run_until(lambda: drive.autopilot.status().mode == "HOLD", 5.0)
    assert "EKF failsafe: position lost" in drive.texts
    drive.run(2.0)
    where = drive.place
    drive.run(3.0)
    assert drive.place == pytest.approx(where, abs=0.05)


@pytest.mark.parametrize("unit", ["mag", "baro", "encoder"])
def test_other_sensors_may_fail_on_the_way(unit):
    drive = Drive("pico_trail_freenove", "typical", 2)
    drive.start_mission(SQUARE)
    drive.run(12.0)
    drive.adapter.set_failure(1, unit, "off")
    aside = []
    done = drive.run_until(
        lambda: drive.autopilot.status().done,
        180.0,
        lambda: aside.append(off_path(drive.place, SQUARE)),
    )
    assert done, drive.texts
    assert max(aside) <= 2.0
