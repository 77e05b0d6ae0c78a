"""The battery: charge is the integral of current, voltage follows load and charge."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from sensor_rig import lone_suite, motion_of, run

from pico_gz.core.messages import BatteryData
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_setup import BatterySetup, SensorSetup
from pico_gz.simulator.sensor_suite import SensorSuite

FULL_V = 2 * 4.17


def battery_only(pack: BatterySetup | None = None, **setup) -> SensorSetup:
    return SensorSetup(
        **{
            "vehicle_id": 1, "imu": "", "gps": "", "compass": "", "barometer": "",
            "encoder_ticks": 0, "battery": pack or BatterySetup(), **setup,
        }
    )  # fmt: skip


def readings(suite: SensorSuite, steps: int, motion, **options) -> list[BatteryData]:
    return [s.battery for s in run(suite, steps, motion, **options) if s.battery is not None]


def full_load(share: float = 1.0) -> Motion:
    return motion_of(throttle_abs=share, load_left=share, load_right=share)


def test_current_by_command_and_load() -> None:
    def amps(**motion: float) -> float:
        return readings(lone_suite(battery_only()), 10, motion_of(**motion))[0].current_a

    assert amps() == 0.15
    assert amps(throttle_abs=1.0) == pytest.approx(0.15 + 2 * 0.5)
    assert amps(throttle_abs=1.0, load_left=1.0, load_right=1.0) == pytest.approx(0.15 + 2 * 2.5)
    assert amps(throttle_abs=0.5, load_left=1.0) == pytest.approx(0.15 + 0.5 * (2.5 + 0.5))


def test_capacity_used_is_the_integral_of_the_current() -> None:
    suite = lone_suite(battery_only())
    throttle = [0.5 + 0.5 * math.sin(0.01 * k) for k in range(36_001)]
    told = readings(suite, 36_000, lambda step: motion_of(throttle_abs=throttle[step]))
    used_ah = math.fsum(0.15 + 1.0 * u for u in throttle[1:]) * 0.01 / 3600.0
    assert told[-1].remaining == pytest.approx(1.0 - used_ah / 2.0, abs=1e-9)


def test_voltage_under_load_and_at_rest() -> None:
    suite = lone_suite(battery_only())
    assert readings(suite, 50, Motion())[-1].voltage_v == pytest.approx(
        FULL_V - 0.15 * 0.1, abs=1e-3
    )
    loaded = readings(suite, 50, full_load(), start_us=500_000)[-1].voltage_v
    assert loaded == pytest.approx(FULL_V - 5.15 * 0.1, abs=5e-3)
    assert suite.battery_ratio == pytest.approx(loaded / 7.4)


def test_low_pass_is_ten_hertz() -> None:
    suite = lone_suite(battery_only(battery_rate_hz=0.0, pack=BatterySetup(capacity_ah=1e6)))
    readings(suite, 1000, Motion(), dt_us=1000)
    told = readings(suite, 40, full_load(), start_us=1_000_000, dt_us=1000)
    drop = [FULL_V - 0.015 - r.voltage_v for r in told]
    tau_ms = 1000.0 / (2.0 * math.pi * 10.0)
    assert drop[15] == pytest.approx(0.5 * (1.0 - math.exp(-16.0 / tau_ms)), abs=1e-4)


def test_voltage_only_falls_at_rest() -> None:
    suite = lone_suite(battery_only(pack=BatterySetup(capacity_ah=0.01)))
    told = readings(suite, 30_000, Motion())
    volts = [r.voltage_v for r in told[5:]]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(volts))
    assert told[-1].remaining == 0.0
    assert volts[0] > 8.2
    assert 5.5 < volts[-1] < 6.0


@pytest.mark.parametrize(
    ("charge", "cell_v"),
    [
        (1.0, 4.17),
        (0.77, 3.94),
        (0.5, 3.74),
        (0.35, 3.59),
        (0.23, 3.46),
        (0.15, 3.30),
        (0.02, 2.98),
    ],
)
def test_curve_of_a_cell(charge: float, cell_v: float) -> None:
    pack = BatterySetup(cells=3, initial_soc=charge, idle_a=0.0, resistance_ohm=0.0)
    told = readings(lone_suite(battery_only(pack)), 10, Motion())[0]
    assert told.voltage_v == pytest.approx(3 * cell_v, abs=1e-9)
    assert told.remaining == pytest.approx(charge)


def test_ideal_battery_is_exactly_nominal() -> None:
    suite = lone_suite(battery_only(BatterySetup(ideal=True)))
    told = readings(suite, 500, full_load())
    assert {r.voltage_v for r in told} == {7.4}
    assert suite.battery_ratio == 1.0


def test_parameters() -> None:
    suite = lone_suite(battery_only())
    suite.set_parameter("SIM_BATT_VOLTAGE", 6.0)
    told = readings(suite, 100, Motion())[-1]
    assert told.voltage_v == pytest.approx(6.0 - 0.015, abs=1e-3)
    suite.set_parameter("SIM_BATT_VOLTAGE", 0.0)
    told = readings(suite, 100, Motion(), start_us=1_000_000)[-1]
    assert told.voltage_v == pytest.approx(FULL_V, abs=0.1)
    suite.set_parameter("SIM_BATT_CAP_AH", 1e-6)
    assert readings(suite, 100, Motion(), start_us=2_000_000)[-1].remaining == 0.0
    with pytest.raises(ConfigError, match="impossible"):
        suite.set_parameter("BATT_CAP_AH", 0.0)


def test_parameter_of_a_missing_sensor() -> None:
    suite = lone_suite(battery_only(gps=""))
    with pytest.raises(ConfigError, match="does not carry"):
        suite.set_parameter("GPS_JAM", 1.0)


@pytest.mark.parametrize("wrong", [{"cells": 0}, {"capacity_ah": 0.0}, {"initial_soc": 1.1}])
def test_refuses(wrong) -> None:
    with pytest.raises(ConfigError):
        BatterySetup(**wrong)
