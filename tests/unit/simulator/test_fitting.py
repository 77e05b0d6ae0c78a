"""Every detail of a rover's sensors reaches the sensors."""

import pytest

from pico_gz.core.rover_spec import PRESETS, RoverSpec, rover_spec
from pico_gz.core.vehicle_config import Pose
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.sensor_setup import RangefinderSetup, SensorSetup, fit_sensors
from pico_gz.simulator.world import World

DETAILS = {
    "imu_rate_hz": 50.0,
    "compass_rate_hz": 20.0,
    "barometer_rate_hz": 10.0,
    "range_rate_hz": 5.0,
    "imu_position_frd_m": (0.1, -0.05, 0.02),
    "gps_first_fix_s": 26.0,
    "compass_calibrated": False,
    "encoder_miss": 0.25,
}


@pytest.mark.parametrize("name", DETAILS)
def test_a_detail_of_the_rover_is_that_of_its_sensors(name):
    setup = fit_sensors(rover_spec("ideal", {name: DETAILS[name]}), 1)
    assert getattr(setup, name) == DETAILS[name]


def test_limits_and_beam_are_those_of_every_rangefinder():
    spec = rover_spec(
        "ideal",
        {"rangefinders_deg": [0, 90], "range_min_m": 1, "range_max_m": 9, "range_beam_deg": 2},
    )
    assert fit_sensors(spec, 1).rangefinders == tuple(
        RangefinderSetup(bearing_deg=bearing, min_m=1.0, max_m=9.0, beam_deg=2.0)
        for bearing in (0.0, 90.0)
    )


def test_what_is_not_given_is_as_the_sensors_have_it_themselves():
    plain = SensorSetup(vehicle_id=1)
    for spec in (RoverSpec(), *PRESETS.values()):
        setup = fit_sensors(spec, 1)
        for name in DETAILS:
            assert getattr(setup, name) == getattr(plain, name), name
    (only,) = fit_sensors(RoverSpec(rangefinders_deg=(0.0,)), 1).rangefinders
    assert only == RangefinderSetup()


@pytest.mark.parametrize(("rate_hz", "expected"), [(0.0, 100), (100.0, 100), (25.0, 25)])
def test_the_rate_is_what_arrives(rate_hz, expected):
    engine, spec = FleetEngine(World(), 1), rover_spec("ideal", {"imu_rate_hz": rate_hz})
    engine.add(spec, fit_sensors(spec, 1), Pose())
    told = [engine.step(10_000)[0].imu for _ in range(100)]
    assert sum(imu is not None for imu in told) == expected
