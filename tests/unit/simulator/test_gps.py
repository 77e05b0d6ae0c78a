"""Fixes: place, latency, velocity, course, errors, states."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from sensor_rig import FRAME, lone_suite, motion_of, run

from pico_gz.core.messages import GpsData, GpsFixType
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.errors import ConfigError
from pico_gz.simulator import sensor_parts
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_parts import GpsPart
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.sensor_suite import SensorSuite


def gps_only(**setup) -> SensorSetup:
    return SensorSetup(
        **{
            "vehicle_id": 1, "imu": "", "compass": "", "barometer": "", "encoder_ticks": 0,
            "battery": None, **setup,
        }
    )  # fmt: skip


QUIET = gps_only(noise=NoiseProfile.OFF)


def fixes(suite: SensorSuite, steps: int, motion, **options) -> list[tuple[int, GpsData]]:
    return [
        (sample.timestamp_us, sample.gps)
        for sample in run(suite, steps, motion, **options)
        if sample.gps is not None
    ]


def metres(fix: GpsData) -> tuple[float, float, float]:
    return FRAME.ned_from_geodetic(fix.lat_deg, fix.lon_deg, fix.alt_m)


def test_noise_free_fix_is_the_true_place() -> None:
    told = fixes(lone_suite(QUIET), 100, motion_of(north_m=1234.5, east_m=-987.6, down_m=-12.3))
    assert len(told) == 5
    for _, fix in told:
        assert metres(fix) == pytest.approx((1234.5, -987.6, -12.3), abs=1e-6)
        assert (fix.fix_type, fix.satellites, fix.hdop) == (GpsFixType.FIX_3D, 12, 0.8)


@pytest.mark.parametrize("latency_ms", [0.0, 40.0, 100.0, 250.0, 730.0])
def test_latency_is_found_by_cross_correlation(latency_ms: float) -> None:
    suite = lone_suite(gps_only(noise=NoiseProfile.OFF, gps_latency_ms=latency_ms, gps_rate_hz=50))
    path = [math.sin(0.05 * k) + math.sin(0.013 * k * k / 50.0) for k in range(1001)]
    told = fixes(suite, 1000, lambda step: motion_of(north_m=path[step]))
    assert len(told) > 400
    told = [(now_us // 10_000, metres(fix)[0]) for now_us, fix in told]
    seen = [(step, north) for step, north in told if step > 100]

    def mismatch(lag: int) -> float:
        return sum((north - path[step - lag]) ** 2 for step, north in seen)

    assert min(range(100), key=mismatch) == latency_ms / 10.0


def test_velocity_is_the_difference_of_positions() -> None:
    def straight(step: int) -> Motion:
        t = 0.01 * step
        return motion_of(
            north_m=0.8 * t, east_m=-0.5 * t, down_m=0.1 * t,
            vel_n_mps=0.8, vel_e_mps=-0.5, vel_d_mps=0.1,
        )  # fmt: skip

    told = fixes(lone_suite(QUIET), 2000, straight)
    for (t0, before), (t1, after) in pairwise(told):
        moved = np.subtract(metres(after), metres(before)) / ((t1 - t0) * 1e-6)
        assert moved.tolist() == pytest.approx(after.velocity_ned_mps, abs=1e-6)
        assert after.speed_ms == pytest.approx(math.hypot(0.8, 0.5), abs=1e-12)
        assert after.course_deg == pytest.approx(360.0 - math.degrees(math.atan2(0.5, 0.8)))


@pytest.mark.parametrize("course_deg", [0.0, 45.0, 90.0, 180.0, 270.0, 359.0])
def test_course_is_clockwise_from_north(course_deg: float) -> None:
    angle = math.radians(course_deg)
    motion = motion_of(vel_n_mps=math.cos(angle), vel_e_mps=math.sin(angle))
    ((_, fix),) = fixes(lone_suite(QUIET), 20, motion)
    assert fix.course_deg == pytest.approx(course_deg, abs=1e-9)


def test_course_is_held_below_a_tenth_of_a_metre_per_second() -> None:
    def slowing(step: int) -> Motion:
        return motion_of(vel_e_mps=0.5) if step <= 100 else motion_of(vel_n_mps=0.099)

    told = fixes(lone_suite(QUIET), 200, slowing)
    assert {fix.course_deg for _, fix in told} == {90.0}
    assert told[-1][1].speed_ms == pytest.approx(0.099)


def long_record(part: GpsPart, monkeypatch, n: int, **setup) -> np.ndarray:
    """Return (north, east, down, vn, ve, vd) errors at rest, one fix per second."""
    monkeypatch.setitem(sensor_parts.GPS_PARTS, "made_up", part)
    suite = lone_suite(gps_only(gps="made_up", gps_rate_hz=1.0, gps_latency_ms=0.0, **setup))
    told = fixes(suite, n, Motion(), dt_us=1_000_000)
    return np.array([(*metres(fix), *fix.velocity_ned_mps) for _, fix in told])


def test_white_position_noise(monkeypatch) -> None:
    n = 20_000
    x = long_record(GpsPart(white_m=0.5, vertical=1.7), monkeypatch, n)
    for axis, sigma in ((0, 0.5), (1, 0.5), (2, 0.85)):
        assert abs(x[:, axis].mean()) < 4.0 * sigma / math.sqrt(n)
        assert x[:, axis].std() == pytest.approx(sigma, rel=4.0 / math.sqrt(2 * n))
        y = x[:, axis] / sigma
        for lag in range(1, 11):
            assert abs(np.mean(y[lag:] * y[:-lag])) < 4.0 / math.sqrt(n)


def test_slow_position_error_is_gauss_markov(monkeypatch) -> None:
    tau = 30
    x = long_record(GpsPart(drift_m=0.35, drift_s=float(tau)), monkeypatch, 600 * tau)
    for axis in (0, 1):
        y = x[:, axis]
        assert y.std() == pytest.approx(0.35, rel=0.10)
        assert np.mean(y[tau:] * y[:-tau]) / y.var() == pytest.approx(math.exp(-1.0), abs=0.12)


def test_velocity_noise(monkeypatch) -> None:
    part = GpsPart(velocity_white_mps=0.05, velocity_drift_mps=0.03, velocity_drift_s=5.0)
    x = long_record(part, monkeypatch, 20_000)
    assert x[:, 3:].std() == pytest.approx(math.hypot(0.05, 0.03), rel=0.05)


@pytest.mark.parametrize(
    ("setup", "sigma"),
    [
        ({}, math.hypot(0.35, 0.15)),
        ({"noise": NoiseProfile.LOW}, 0.3 * math.hypot(0.35, 0.15)),
        ({"noise": NoiseProfile.BAD}, math.hypot(1.2, 0.5)),
        ({"gps": "m8"}, 2.1),
        ({"gps": "m10"}, 1.3),
        ({"gps": "simple"}, 0.5),
        ({"gps_noise_m": 0.2}, 0.2),
    ],
)
def test_parts_and_profiles(setup, sigma: float) -> None:
    # Over vehicles rather than time: the slow error hardly changes within a run.
    errors = []
    for vehicle_id in range(1, 201):
        suite = lone_suite(gps_only(vehicle_id=vehicle_id, **setup))
        ((_, fix),) = fixes(suite, 20, Motion())
        errors += metres(fix)[:2]
    assert np.std(errors) == pytest.approx(sigma, rel=0.15)


def test_resolution_of_the_wire() -> None:
    for _, fix in fixes(lone_suite(gps_only()), 200, motion_of(vel_n_mps=1.0)):
        assert fix.lat_deg == round(fix.lat_deg, 7)
        assert fix.lon_deg == round(fix.lon_deg, 7)
        assert fix.alt_m == round(fix.alt_m, 3)
        assert fix.speed_ms == round(fix.speed_ms, 3)


def test_satellites_wander_slowly_and_set_the_hdop() -> None:
    told = [fix for _, fix in fixes(lone_suite(gps_only()), 30_000, Motion(), dt_us=20_000)]
    counts = [fix.satellites for fix in told]
    assert set(counts) == {10, 11, 12, 13, 14}
    assert max(abs(a - b) for a, b in pairwise(counts)) == 1
    changes = sum(a != b for a, b in pairwise(counts))
    assert 20 < changes < 200
    assert {(fix.satellites, fix.hdop) for fix in told} == {
        (10, 0.9), (11, 0.85), (12, 0.8), (13, 0.8), (14, 0.8),
    }  # fmt: skip


def test_first_fix_takes_its_time() -> None:
    told = fixes(lone_suite(gps_only(gps_first_fix_s=2.0)), 500, motion_of(north_m=5.0))
    states = [(now_us, fix.fix_type) for now_us, fix in told]
    first = next(now_us for now_us, state in states if state is GpsFixType.FIX_3D)
    assert first == pytest.approx(2_200_000, abs=1)
    searching = told[0][1]
    assert (searching.fix_type, searching.satellites) == (GpsFixType.NO_FIX, 0)
    assert searching.hdop == pytest.approx(99.99)


def test_rtk_receiver_says_so() -> None:
    ((_, fix),) = fixes(lone_suite(gps_only(gps="rtk")), 20, Motion())
    assert fix.fix_type is GpsFixType.RTK_FIXED


class TestParameters:
    def suite(self, **parameters: float) -> SensorSuite:
        suite = lone_suite(QUIET)
        for name, value in parameters.items():
            suite.set_parameter(name, value)
        return suite

    def test_disable(self) -> None:
        assert fixes(self.suite(SIM_GPS_DISABLE=1), 100, Motion()) == []

    def test_jam_keeps_the_last_place(self) -> None:
        suite = self.suite()
        fixes(suite, 100, motion_of(north_m=7.0))
        suite.set_parameter("GPS_JAM", 1)
        told = fixes(suite, 100, motion_of(north_m=50.0), start_us=1_000_000)
        assert told[-1][1].fix_type is GpsFixType.NO_FIX
        assert metres(told[-1][1])[0] == pytest.approx(7.0, abs=1e-6)
        suite.set_parameter("GPS_JAM", 0)
        told = fixes(suite, 100, motion_of(north_m=50.0), start_us=2_000_000)
        assert told[-1][1].fix_type is GpsFixType.FIX_3D

    @pytest.mark.parametrize(
        ("count", "state"), [(0, "NO_FIX"), (2, "NO_FIX"), (3, "FIX_2D"), (4, "FIX_3D")]
    )
    def test_number_of_satellites(self, count: int, state: str) -> None:
        ((_, fix),) = fixes(self.suite(GPS_NUMSATS=count), 20, Motion())
        assert (fix.fix_type, fix.satellites) == (GpsFixType[state], count)

    def test_glitch_and_velocity_error(self) -> None:
        suite = self.suite(GPS_GLITCH_X=0.001, GPS_GLITCH_Y=-0.002, GPS_GLITCH_Z=5, GPS_VERR_X=1)
        ((_, fix),) = fixes(suite, 20, Motion())
        assert fix.lat_deg == pytest.approx(FRAME.lat_deg + 0.001, abs=1e-9)
        assert fix.lon_deg == pytest.approx(FRAME.lon_deg - 0.002, abs=1e-9)
        assert fix.alt_m == pytest.approx(FRAME.alt_m + 5.0, abs=1e-6)
        assert fix.velocity_ned_mps[0] == 1.0

    @pytest.mark.parametrize("lag_ms", [0, 50, 300])
    def test_lag(self, lag_ms: int) -> None:
        told = fixes(
            self.suite(GPS_LAG_MS=lag_ms), 300, lambda step: motion_of(north_m=0.01 * step)
        )
        for now_us, fix in told:
            assert now_us * 1e-6 - metres(fix)[0] == pytest.approx(lag_ms * 1e-3, abs=1e-6)
        assert len(told) >= 13

    def test_slower_rate(self) -> None:
        told = fixes(self.suite(GPS_HZ=1), 1000, Motion())
        assert 9 <= len(told) <= 10
        with pytest.raises(ConfigError, match="receiver's own rate"):
            self.suite(GPS_HZ=10)

    def test_lock_time(self) -> None:
        told = fixes(self.suite(GPS_LOCKTIME=1.0), 200, Motion())
        assert [fix.fix_type is GpsFixType.NO_FIX for _, fix in told[:5]] == [True] * 5
        assert told[-1][1].fix_type is GpsFixType.FIX_3D

    def test_impossible_values(self) -> None:
        with pytest.raises(ConfigError, match="negative"):
            self.suite(GPS_LAG_MS=-1)
        with pytest.raises(ConfigError, match="not a number"):
            self.suite(GPS_GLITCH_X=math.nan)
        with pytest.raises(ConfigError, match="Unknown sensor parameter"):
            self.suite(GPS_GLITCH=1)
