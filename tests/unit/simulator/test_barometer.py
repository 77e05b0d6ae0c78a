"""The barometer: the law and its inverse, drift and resolution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensor_rig import FIELD, lone_suite, motion_of, run

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import BarometerData
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.simulator import sensor_parts
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_parts import BarometerPart
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.sensor_suite import SensorSuite


def baro_only(**setup) -> SensorSetup:
    return SensorSetup(
        **{
            "vehicle_id": 1, "imu": "", "gps": "", "compass": "", "battery": None,
            "encoder_ticks": 0, "barometer_rate_hz": 0.0, **setup,
        }
    )  # fmt: skip


QUIET = baro_only(noise=NoiseProfile.OFF)


def read(origin_alt_m: float, down_m: float) -> BarometerData:
    suite = SensorSuite(QUIET, LocalFrame(35.0, 139.0, origin_alt_m), FIELD, 1)
    return suite.sample(10_000, 10_000, motion_of(down_m=down_m)).barometer


def altitude_m(pressure_pa: float) -> float:
    return (1.0 - (pressure_pa / 101325.0) ** (1.0 / 5.25588)) / 2.25577e-5


@given(st.floats(-400.0, 5000.0), st.floats(-3000.0, 3000.0))
def test_pressure_gives_the_altitude_back(origin_alt_m: float, above_m: float) -> None:
    told = read(origin_alt_m, -above_m)
    assert altitude_m(told.pressure_pa) == pytest.approx(origin_alt_m + above_m, abs=1e-3)


def test_known_figures() -> None:
    assert read(0.0, 0.0).pressure_pa == pytest.approx(101325.0, abs=1e-9)
    assert read(0.0, 0.0).pressure_pa - read(0.0, -1.0).pressure_pa == pytest.approx(12.0, abs=0.05)
    assert read(0.0, -1000.0).temperature_c == pytest.approx(8.5, abs=1e-9)


def record(part: BarometerPart, n: int, monkeypatch, dt_us: int) -> np.ndarray:
    monkeypatch.setitem(sensor_parts.BAROMETER_PARTS, "made_up", part)
    suite = lone_suite(baro_only(barometer="made_up"))
    true = next(run(lone_suite(QUIET), 1, Motion())).barometer.pressure_pa
    samples = run(suite, n, Motion(), dt_us=dt_us)
    return np.array([s.barometer.pressure_pa for s in samples]) - true


def test_white_noise(monkeypatch) -> None:
    n = 20_000
    x = record(BarometerPart(white=1.0), n, monkeypatch, 10_000)
    assert abs(x.mean()) < 4.0 / math.sqrt(n)
    assert x.std() == pytest.approx(1.0, rel=4.0 / math.sqrt(2 * n))


def test_drift_is_gauss_markov(monkeypatch) -> None:
    tau = 20
    x = record(BarometerPart(drift=10.0, drift_s=float(tau)), 1000 * tau, monkeypatch, 1_000_000)
    assert x.std() == pytest.approx(10.0, rel=0.10)
    assert np.mean(x[tau:] * x[:-tau]) / x.var() == pytest.approx(math.exp(-1.0), abs=0.1)


def test_resolution_and_turn_on_offset() -> None:
    offsets = []
    true = next(run(lone_suite(QUIET), 1, Motion())).barometer.pressure_pa
    for vehicle_id in range(1, 200):
        sample = next(run(lone_suite(baro_only(vehicle_id=vehicle_id)), 1, Motion()))
        pressure = sample.barometer.pressure_pa
        assert round(pressure / 0.16) * 0.16 == pressure
        offsets.append(pressure - true)
    assert np.std(offsets) == pytest.approx(math.hypot(33.0, 10.0), rel=0.2)


def test_parameters() -> None:
    suite = lone_suite(QUIET)
    true = next(run(suite, 1, Motion())).barometer.pressure_pa
    suite.set_parameter("BARO_GLITCH", 10.0)
    glitched = next(run(suite, 1, Motion(), start_us=10_000)).barometer.pressure_pa
    assert true - glitched == pytest.approx(120.0, abs=1.0)
    suite.set_parameter("BARO_GLITCH", 0.0)
    suite.set_parameter("BARO_FREEZE", 1.0)
    held = [
        s.barometer.pressure_pa
        for s in run(suite, 5, lambda step: motion_of(down_m=-10.0 * step), start_us=20_000)
    ]
    assert len(set(held)) == 1
    suite.set_parameter("BARO_FREEZE", 0.0)
    suite.set_parameter("BARO_DRIFT", 1.0)
    samples = list(run(suite, 100, Motion(), start_us=70_000, dt_us=100_000))
    assert true - samples[-1].barometer.pressure_pa == pytest.approx(120.0, abs=2.0)
    suite.set_parameter("BARO_DISABLE", 1.0)
    assert next(run(suite, 1, Motion(), start_us=20_000_000)).barometer is None
