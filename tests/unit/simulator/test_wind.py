"""Wind: steady, gusty, and what it does to a rover."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pico_gz.core.rover_spec import PRESETS, rover_spec
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError
from pico_gz.simulator.terrain import RampTerrain
from pico_gz.simulator.world import Wind, WindConfig
from tests.unit.simulator.lane_rig import lone_lane

CHECK = settings(max_examples=150, deadline=None, derandomize=True)
DT_US = st.sampled_from([1_000, 10_000, 100_000])


def test_steady_wind():
    wind = Wind(WindConfig(north_mps=3.0, east_mps=-1.0), seed=1)
    assert wind.at(0) == wind.at(5_000_000) == (3.0, -1.0)
    assert not wind.calm
    assert Wind(WindConfig(), seed=1).calm


def test_all_wind_that_a_fleet_file_may_name_can_blow():
    config = WindConfig(north_mps=-100.0, east_mps=-100.0, gust_mps=100.0, tau_s=1e7)
    assert Wind(config, seed=1).at(500_000)[0] < 300.0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("north_mps", 100.5, "north_mps = 100.5 is outside -100..100"),
        ("east_mps", float("nan"), "east_mps = nan is outside"),
        ("gust_mps", -1.0, "gust_mps = -1.0 is outside 0..100"),
        ("tau_s", 0.0, "tau_s = 0.0 is not above 0"),
    ],
)
def test_wind_that_cannot_blow_is_refused_with_its_value(name, value, words):
    with pytest.raises(ConfigError, match=words):
        WindConfig(**{name: value})


def test_gusts_do_not_depend_on_the_step():
    config = WindConfig(gust_mps=2.0)
    fine, coarse = Wind(config, 7), Wind(config, 7)
    told = {time: fine.at(time) for time in range(0, 10_000_000, 10_000)}
    assert all(coarse.at(time) == told[time] for time in range(0, 10_000_000, 250_000))


def test_gusts_have_the_size_and_length_that_were_asked_for():
    wind = Wind(WindConfig(north_mps=5.0, gust_mps=2.0, tau_s=2.0), seed=3)
    norths = [wind.at(tick * 100_000)[0] - 5.0 for tick in range(40_000)]
    sigma = math.sqrt(sum(x * x for x in norths) / len(norths))
    assert sigma == pytest.approx(2.0, rel=0.1)
    lagged = sum(a * b for a, b in zip(norths, norths[20:], strict=False)) / (len(norths) - 20)
    assert lagged / sigma**2 == pytest.approx(math.exp(-1.0), abs=0.08)


def test_gusts_follow_the_seed():
    config = WindConfig(gust_mps=2.0)
    assert Wind(config, 1).at(12_345_678) == Wind(config, 1).at(12_345_678)
    assert Wind(config, 1).at(12_345_678) != Wind(config, 2).at(12_345_678)


def test_gusts_go_on_from_a_snapshot():
    config = WindConfig(gust_mps=2.0)
    whole, first, second = Wind(config, 5), Wind(config, 5), Wind(config, 5)
    first.at(3_210_000)
    second.load_state(first.save_state())
    assert second.at(7_777_777) == whole.at(7_777_777)


def speed_in(wind, heading_deg=0.0):
    lane = lone_lane(rover_spec("pico_trail_freenove", {"hold_mps2": 0.0}), (0, 0, heading_deg))
    lane.commands = (0.6, 0.6)
    for _ in range(400):
        lane.advance(10_000, wind)
    return lane.pose.speed_mps


def test_head_wind_slows_and_tail_wind_helps():
    calm = speed_in(None)
    assert speed_in((0.0, 0.0)) == pytest.approx(calm, abs=1e-12)
    assert speed_in((-8.0, 0.0)) < calm < speed_in((8.0, 0.0))
    assert speed_in((0.0, 8.0)) == pytest.approx(calm, abs=1e-12)


@pytest.mark.parametrize(
    "key", [{"north_mps": 1e6}, {"gust_mps": -1.0}, {"tau_s": 0.0}, {"east_mps": math.nan}]
)
def test_impossible_wind_is_refused(key):
    with pytest.raises(ConfigError):
        WindConfig(**key)


def rolled(spec, speed_mps, wind, *, steps, dt_us=10_000, command=0.0, steering=0.0, terrain=None):
    """Speeds of a rover under one command."""
    lane = lone_lane(spec, (0.0, 0.0, 0.0), terrain=terrain, speed_mps=speed_mps)
    lane.commands = (command, steering if spec.drive is DriveKind.ACKERMANN else command)
    speeds = []
    for _ in range(steps):
        lane.advance(dt_us, wind)
        lane.observe(wind)
        speeds.append(lane.pose.speed_mps)
    assert all(map(math.isfinite, (*speeds, lane.pose.north_m, lane.pose.east_m)))
    return speeds


@CHECK
@given(st.floats(-100.0, 100.0), st.floats(-30.0, 30.0), st.floats(0.001, 2.0), DT_US)
def test_drag_takes_energy_from_a_rover_that_rolls_freely(wind, speed, area, dt_us):
    free = {"coast_lag_s": math.inf, "rolling_resistance": 0.0, "hold_mps2": 0.0}
    spec = rover_spec("pico_trail_freenove", {**free, "drag_area_m2": area, "brake_limit_mps2": 0})
    away = abs(wind - speed)
    for now in rolled(spec, speed, (wind, 0.0), steps=20, dt_us=dt_us):
        assert (wind - now) * (wind - speed) >= -1e-9  # never beyond the air's own speed
        assert abs(wind - now) <= away + 1e-12
        away = abs(wind - now)


def test_drag_stops_a_rover_in_still_air_too():
    free = {"coast_lag_s": math.inf, "rolling_resistance": 0.0, "hold_mps2": 0.0}
    spec = rover_spec("pico_trail_freenove", free)
    gain = 0.5 * 1.225 * spec.drag_area_m2 / spec.mass_kg
    speeds = rolled(spec, 1.0, None, steps=1000)
    assert speeds[-1] == pytest.approx(1.0 / (1.0 + gain * 10.0), abs=1e-4)


@CHECK
@given(
    st.sampled_from(sorted(PRESETS)), st.floats(-100.0, 100.0), st.floats(-1.0, 1.0),
    st.sampled_from([-1.0, -0.5, 0.0, 0.02, 0.7, 1.0]),
    st.sampled_from([-60.0, -20.0, 0.0, 15.0, 60.0]),
    DT_US,
)  # fmt: skip
def test_no_wind_and_no_slope_make_a_rover_diverge(preset, wind, share, command, slope, dt_us):
    spec = rover_spec(preset)
    speeds = rolled(
        spec,
        share * spec.max_speed,
        (wind, 0.0),
        steps=200,
        dt_us=dt_us,
        command=command,
        steering=command,
        terrain=RampTerrain(slope) if slope else None,
    )
    # The air carries it along at most; gravity adds what drag, or the lag of the motors, bounds.
    gain = 0.5 * 1.225 * spec.drag_area_m2 / spec.mass_kg
    by_gravity = math.sqrt(9.81 / gain) if gain else 9.81 * spec.lag_s
    bound = abs(wind) + 1.2 * spec.max_speed + (by_gravity if slope else 0.0)
    assert max(map(abs, speeds)) <= bound + 1e-9


def test_a_parked_rover_in_a_storm_stays_on_the_map():
    spec = rover_spec("pico_trail_freenove")
    assert max(map(abs, rolled(spec, 0.0, (-100.0, 0.0), steps=3000))) < 100.0
    assert rolled(spec, 0.0, (-15.0, 0.0), steps=100)[-1] == 0.0
