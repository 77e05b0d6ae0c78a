"""The compass: heading from the field at five places, noise, iron and motors."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensor_rig import FIELD, FRAME, lone_suite, motion_of, run, with_attitude

from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_setup import BatterySetup, SensorSetup
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import magnetic_field

PLACES = [(35.68, 139.77), (-35.36, 149.17), (47.40, 8.55), (40.25, -111.65), (-0.2, -78.5)]


def compass_only(**setup) -> SensorSetup:
    return SensorSetup(
        **{"vehicle_id": 1, "imu": "", "gps": "", "barometer": "", "compass_rate_hz": 0.0, **setup}
    )


QUIET = compass_only(noise=NoiseProfile.OFF)


def read(motion: Motion, setup: SensorSetup = QUIET) -> tuple[float, float, float]:
    (sample,) = run(lone_suite(setup), 1, motion)
    return sample.compass.mag_gauss


@pytest.mark.parametrize(("lat", "lon"), PLACES)
def test_magnetic_heading_plus_declination_is_yaw(lat: float, lon: float) -> None:
    field = magnetic_field(lat, lon, 0.0, date(2026, 1, 1))
    suite = SensorSuite(QUIET, FRAME, field, 1)
    for number in range(36):
        yaw = math.radians(10.0 * number)
        motion = with_attitude(Motion(), 0.0, 0.0, yaw)
        x, y, _ = suite.sample(10_000 * (number + 1), 10_000, motion).compass.mag_gauss
        error = math.atan2(-y, x) + field.declination_rad - yaw
        assert abs(math.remainder(error, 2.0 * math.pi)) < 1e-9


@given(st.floats(-3.0, 3.0), st.floats(-1.5, 1.5), st.floats(-3.0, 3.0))
def test_strength_is_the_same_in_any_attitude(roll: float, pitch: float, yaw: float) -> None:
    told = read(with_attitude(Motion(), roll, pitch, yaw))
    assert math.hypot(*told) == pytest.approx(FIELD.strength_gauss, abs=1e-12)


def record(setup: SensorSetup, n: int) -> np.ndarray:
    return np.array([s.compass.mag_gauss for s in run(lone_suite(setup), n, Motion())])


TRUE = np.array([FIELD.north_gauss, FIELD.east_gauss, FIELD.down_gauss])


def test_default_noise_is_three_milligauss() -> None:
    n = 20_000
    x = record(compass_only(battery=None), n) - TRUE
    assert x.std(axis=0).tolist() == pytest.approx([3e-3] * 3, rel=0.03)
    assert np.abs(x.mean(axis=0)).max() < 4.0 * 3e-3 / math.sqrt(n)


def test_heading_noise_by_radians() -> None:
    x = record(compass_only(compass="simple", compass_noise_rad=0.05, battery=None), 20_000)
    heading = np.arctan2(-x[:, 1], x[:, 0]) + FIELD.declination_rad
    assert heading.std() == pytest.approx(0.05, rel=0.03)


def test_uncalibrated_iron_bends_the_field() -> None:
    offsets = []
    for vehicle_id in range(1, 60):
        setup = compass_only(vehicle_id=vehicle_id, compass_calibrated=False, battery=None)
        offsets.append(record(setup, 1)[0] - TRUE)
    spread = np.abs(offsets)
    assert 0.1 < spread.max() < 0.15 + 0.05 * 0.9 + 0.02
    assert spread.mean() == pytest.approx(0.075, abs=0.02)


def test_motor_current_shows() -> None:
    setup = compass_only(battery=BatterySetup(stall_a=10.0))
    x = record(setup, 4000).mean(axis=0)
    running = motion_of(throttle_abs=1.0, load_left=1.0, load_right=1.0)
    y = np.mean([s.compass.mag_gauss for s in run(lone_suite(setup), 4000, running)], axis=0)
    moved = math.dist(x, y)
    assert 0.005 < moved < 0.15  # 20 A, about 2 mG per ampere


@pytest.mark.parametrize(("part", "per_gauss"), [("qmc5883l", 3000), ("hmc5883l", 1090)])
def test_resolution(part: str, per_gauss: int) -> None:
    for value in record(compass_only(compass=part), 50).ravel().tolist():
        assert round(value * per_gauss) * (1.0 / per_gauss) == value


def test_parameters() -> None:
    suite = lone_suite(QUIET)
    suite.set_parameter("SIM_MAG1_OFS_X", 100.0)
    told = next(run(suite, 1, Motion())).compass.mag_gauss
    assert told == pytest.approx((TRUE + np.array([0.1, 0.0, 0.0])).tolist(), abs=1e-12)
    suite.set_parameter("SIM_MAG1_FAIL", 1)
    assert next(run(suite, 1, Motion(), start_us=10_000)).compass is None
    suite.set_parameter("SIM_MAG1_FAIL", 0)
    assert next(run(suite, 1, Motion(), start_us=20_000)).compass is not None
