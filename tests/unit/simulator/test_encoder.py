"""Wheel encoders: ticks are distance, and missed ones are missing."""

from __future__ import annotations

import math

import pytest
from sensor_rig import lone_suite, motion_of, run

from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_setup import SensorSetup


def encoder_only(**setup) -> SensorSetup:
    return SensorSetup(
        **{
            "vehicle_id": 1, "noise": NoiseProfile.OFF, "imu": "", "gps": "", "compass": "",
            "barometer": "", "battery": None, **setup,
        }
    )  # fmt: skip


def turning(left: float, right: float):
    def at(step: int) -> Motion:
        return motion_of(wheel_left_rad=left * step, wheel_right_rad=right * step)

    return at


@pytest.mark.parametrize("per_turn", [20, 360, 1320])
def test_ticks_times_circumference_is_distance(per_turn: int) -> None:
    radius = 0.033
    *_, last = run(lone_suite(encoder_only(encoder_ticks=per_turn)), 1000, turning(0.31, -0.17))
    tick_m = 2.0 * math.pi * radius / per_turn
    assert last.encoders.ticks[0] * tick_m == pytest.approx(310.0 * radius, abs=tick_m)
    assert last.encoders.ticks[1] * tick_m == pytest.approx(-170.0 * radius, abs=tick_m)
    assert last.encoders.ticks_per_turn == per_turn


def test_ticks_are_floored_towards_minus_infinity() -> None:
    suite = lone_suite(encoder_only(encoder_ticks=20))
    sample = next(run(suite, 1, motion_of(wheel_left_rad=0.01, wheel_right_rad=-0.01)))
    assert sample.encoders.ticks == (0, -1)


def test_missed_ticks_have_their_share() -> None:
    suite = lone_suite(encoder_only(encoder_ticks=1000, encoder_miss=0.1))
    *_, last = run(suite, 4000, turning(0.02, -0.05))
    left, right = 1000 * 80.0 / (2 * math.pi), 1000 * 200.0 / (2 * math.pi)
    assert last.encoders.ticks[0] == pytest.approx(0.9 * left, rel=0.02)
    assert last.encoders.ticks[1] == pytest.approx(-0.9 * right, rel=0.02)


def test_standing_still_misses_nothing() -> None:
    suite = lone_suite(encoder_only(encoder_miss=0.9))
    assert {s.encoders.ticks for s in run(suite, 500, Motion())} == {(0, 0)}
