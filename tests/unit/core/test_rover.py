"""Descriptions of rovers: presets, overrides, refusals."""

from __future__ import annotations

import math

import pytest

from pico_gz.core.rover_spec import DEFAULT_PRESET, PRESETS, RoverSpec, rover_spec
from pico_gz.core.vehicle_config import (
    ARDUPILOT_CHANNELS,
    PICO_TRAIL_CHANNELS,
    ChannelMap,
    DriveKind,
)
from pico_gz.errors import ConfigError


def test_the_presets():
    assert sorted(PRESETS) == [
        "ardupilot_car", "ardupilot_skid", "ideal", "pico_trail_ackermann", "pico_trail_freenove",
    ]  # fmt: skip
    assert DEFAULT_PRESET == "pico_trail_freenove"
    assert all(name == spec.preset for name, spec in PRESETS.items())


def test_the_default_is_the_freenove_of_the_documents():
    spec = rover_spec()
    assert (spec.wheel_base, spec.max_speed, spec.track_factor, spec.lag_s) == (0.15, 1.0, 1.6, 0.1)
    assert spec.channels == PICO_TRAIL_CHANNELS


def test_the_ardupilot_profiles():
    skid, car = rover_spec("ardupilot_skid"), rover_spec("ardupilot_car")
    assert (skid.max_speed, skid.lag_s) == (4.0, pytest.approx(0.286, abs=1e-3))
    assert math.degrees(skid.skid_turn_radps) == pytest.approx(140.0)
    assert (car.max_speed, car.lag_s, car.turn_circle_m) == (20.0, 2.0, 1.8)
    assert (car.drive, car.max_steer_deg) == (DriveKind.ACKERMANN, 35.0)
    assert skid.channels == car.channels == ARDUPILOT_CHANNELS


def test_wheel_distances_by_drive():
    skid = RoverSpec(wheel_base=0.2, wheel_spread_m=0.3)
    assert (skid.track_m, skid.axle_distance_m, skid.center_ahead_m) == (0.2, 0.3, 0.0)
    car = RoverSpec(drive=DriveKind.ACKERMANN, wheel_base=0.2, wheel_spread_m=0.3)
    assert (car.track_m, car.axle_distance_m, car.center_ahead_m) == (0.3, 0.2, 0.1)


def test_overrides_are_converted():
    spec = rover_spec("ideal", {"wheel_base": 1, "drive": "ackermann", "channels": {"throttle": 4}})
    assert spec.wheel_base == 1.0
    assert spec.drive is DriveKind.ACKERMANN
    assert spec.channels == ChannelMap(throttle=4)
    assert spec.preset == "ideal"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"wheel_base": 0}, ["wheel_base", "above 0"]),
        ({"mass_kg": -1.0}, ["mass_kg", "above 0"]),
        ({"mass_kg": math.nan}, ["mass_kg"]),
        ({"slip": 1.0}, ["slip", "below 1"]),
        ({"lag_s": -0.1}, ["lag_s", "0 or more"]),
        ({"track_factor": 0.5}, ["track_factor", "1 or more"]),
        ({"wheel_base": "wide"}, ["wheel_base", "float"]),
        ({"drive": "hover"}, ["drive", "hover"]),
        ({"drive": "ackermann", "max_steer_deg": 90.0}, ["max_steer_deg"]),
        ({"wheel_base": 0, "mass_kg": -1}, ["wheel_base", "mass_kg"]),
        ({"imu_rate_hz": -1.0}, ["imu_rate_hz", "100000"]),
        ({"range_rate_hz": 100_001.0}, ["range_rate_hz", "100000"]),
        ({"gps_first_fix_s": -1.0}, ["gps_first_fix_s", "0 or more"]),
        ({"imu_position_frd_m": [0.0, 0.1]}, ["imu_position_frd_m", "length 3"]),
        ({"imu_position_frd_m": [0.0, 0.0, -101.0]}, ["imu_position_frd_m", "100 m"]),
        ({"imu_position_frd_m": [0.0, 0.0, math.nan]}, ["imu_position_frd_m", "100 m"]),
        ({"encoder_miss": 1.5}, ["encoder_miss", "0..1"]),
        ({"range_max_m": 0.0}, ["range_max_m", "above 0"]),
        ({"range_min_m": 4.0}, ["range_min_m", "below range_max_m"]),
        ({"range_beam_deg": 91.0}, ["range_beam_deg", "0..90"]),
    ],
)
def test_impossible_rovers_are_refused_by_name(overrides, words):
    with pytest.raises(ConfigError) as caught:
        rover_spec("ideal", overrides)
    for word in words:
        assert word in str(caught.value)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(ConfigError) as caught:
        rover_spec("ideal", {"whel_base": 0.2})
    assert "'wheel_base'" in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        rover_spec("pico_trail_freenov")
    assert "'pico_trail_freenove'" in caught.value.hint


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_nothing_turns_faster_than_the_top_yaw_rate(name):
    spec = PRESETS[name]
    assert 0.0 < spec.top_yaw_radps < 100.0
    assert hash(spec) == hash(rover_spec(name, {}))
