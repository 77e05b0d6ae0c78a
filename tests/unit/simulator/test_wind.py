"""Wind: steady, gusty, and what it does to a rover."""

from __future__ import annotations

import math

import pytest

from pico_gz.core.rover_spec import rover_spec
from pico_gz.errors import ConfigError
from pico_gz.simulator.world import Wind, WindConfig
from tests.unit.simulator.lane_rig import lone_lane


def test_steady_wind():
    wind = Wind(WindConfig(north_mps=3.0, east_mps=-1.0), seed=1)
    assert wind.at(0) == wind.at(5_000_000) == (3.0, -1.0)
    assert not wind.calm
    assert Wind(WindConfig(), seed=1).calm


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
