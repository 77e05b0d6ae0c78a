"""Rangefinders: direction, beam, range and noise, against a scene made of one circle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sensor_rig import lone_suite, motion_of, run, with_attitude

from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_setup import RangefinderSetup, SensorSetup


class Disc:
    """One disc in the world; remembers who looked."""

    def __init__(self, north_m: float, east_m: float, radius_m: float) -> None:
        self.place = (north_m, east_m, radius_m)
        self.lookers: list = []

    def cast(self, north_m, east_m, dir_n, dir_e, max_m, skip_vehicle):
        north, east, radius = self.place
        self.lookers.append(skip_vehicle)
        to_n, to_e = north - north_m, east - east_m
        along = to_n * dir_n + to_e * dir_e
        under = along * along - (to_n * to_n + to_e * to_e - radius * radius)
        hit = (under >= 0.0) & (along > 0.0)
        return along - math.sqrt(under) if hit else max_m


def looking(*fitted: RangefinderSetup, **setup) -> SensorSetup:
    return SensorSetup(
        **{
            "vehicle_id": 1, "noise": NoiseProfile.OFF, "imu": "", "gps": "", "compass": "",
            "barometer": "", "range_rate_hz": 0.0, "rangefinders": fitted, **setup,
        }
    )  # fmt: skip


RAY = RangefinderSetup(beam_deg=0.0)


def read(setup: SensorSetup, scene, motion: Motion):
    return next(run(lone_suite(setup, scene=scene), 1, motion)).rangefinders


def test_looks_where_it_points() -> None:
    left = RangefinderSetup(bearing_deg=-90.0, beam_deg=0.0)
    ahead, aside = read(looking(RAY, left), Disc(3.0, 0.0, 0.5), Motion())
    assert ahead.distance_m == pytest.approx(2.5, abs=1e-12)
    assert aside.distance_m == 4.0
    turned = with_attitude(motion_of(), 0.0, 0.0, math.pi / 2)
    ahead, aside = read(looking(RAY, left), Disc(3.0, 0.0, 0.5), turned)
    assert ahead.distance_m == 4.0
    assert aside.distance_m == pytest.approx(2.5, abs=1e-12)
    assert (aside.bearing_deg, aside.min_m, aside.max_m) == (-90.0, 0.02, 4.0)


def test_slope_does_not_shorten_the_view() -> None:
    tilted = with_attitude(Motion(), 0.0, 0.4, 0.0)
    (ahead,) = read(looking(RAY), Disc(3.0, 0.0, 0.5), tilted)
    assert ahead.distance_m == pytest.approx(2.5, abs=1e-12)


def test_beam_sees_beside_the_axis() -> None:
    beside = Disc(2.0, 0.36, 0.15)
    assert read(looking(RAY), beside, Motion())[0].distance_m == 4.0
    assert read(looking(RangefinderSetup(beam_deg=15.0)), beside, Motion())[0].distance_m < 2.0


def test_range_limits() -> None:
    assert read(looking(RAY), None, Motion())[0].distance_m == 4.0
    assert read(looking(RAY), Disc(9.0, 0.0, 0.5), Motion())[0].distance_m == 4.0
    assert read(looking(RAY), Disc(0.51, 0.0, 0.5), Motion())[0].distance_m == 0.02


def test_noise_grows_with_distance() -> None:
    setup = looking(RAY, noise=NoiseProfile.TYPICAL)
    suite = lone_suite(setup, scene=Disc(3.0, 0.0, 0.5))
    told = [s.rangefinders[0].distance_m for s in run(suite, 10_000, Motion())]
    assert np.mean(told) == pytest.approx(2.5, abs=0.002)
    assert np.std(told) == pytest.approx(0.003 + 0.025, rel=0.03)


def test_nothing_in_range_has_no_noise() -> None:
    suite = lone_suite(looking(RAY, noise=NoiseProfile.BAD))
    assert {s.rangefinders[0].distance_m for s in run(suite, 100, Motion())} == {4.0}


def test_scene_is_told_who_looks() -> None:
    scene = Disc(3.0, 0.0, 0.5)
    suite = lone_suite(looking(RAY, vehicle_id=8), scene=scene)
    told = suite.sample(10_000, 10_000, motion_of(north_m=1.0))
    assert told.rangefinders[0].distance_m == pytest.approx(1.5)
    assert scene.lookers == [8]


@pytest.mark.parametrize("wrong", [{"min_m": 5.0}, {"beam_deg": -1.0}, {"bearing_deg": math.inf}])
def test_refuses(wrong) -> None:
    with pytest.raises(ConfigError):
        RangefinderSetup(**wrong)
