"""Scripted drivers on the Lightweight simulator, sensors and all, without a bridge."""

from __future__ import annotations

import math

import pytest

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.adapters.lightweight_config import LightweightConfig
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import NoiseProfile, VehicleConfig
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.scripted import ScriptedDriver

STEP_US = 10_000
LIMIT_US = 120_000_000

Path2 = list[tuple[float, float]]


def drive(
    script: str, adapter: LightweightAdapter, preset: str, noise: NoiseProfile
) -> tuple[str, Path2]:
    """Drive one rover until it is done; return its last words and its path (north, east)."""
    spec = rover_spec(preset)
    config = VehicleConfig(id=1, preset=preset, channels=spec.channels, noise=noise)
    platform = SitlPlatform(1, drive=spec.drive, channels=spec.channels)
    driver = ScriptedDriver(script)
    driver.start(platform)
    path: Path2 = []
    adapter.add_vehicle(config)
    with adapter:
        while not driver.status().done and platform.timer.now_us() < LIMIT_US:
            adapter.send_actuators({1: platform.collect_actuator_commands()})
            adapter.step(STEP_US)
            platform.inject_sensors(adapter.receive_sensors()[1])
            now_us = platform.timer.now_us()
            assert now_us == adapter.sim_time_us()
            if now_us % driver.period_us == 0:
                driver.tick(now_us)
                truth = adapter.receive_truth()[1]
                path.append((truth.north_m, truth.east_m))
    return driver.status().last_message, path


def extent(path: Path2) -> tuple[float, float]:
    north, east = zip(*path, strict=True)
    return max(north) - min(north), max(east) - min(east)


@pytest.mark.parametrize("seed", [1, 5])
def test_the_default_rover_drives_a_square_that_closes(seed: int) -> None:
    adapter = LightweightAdapter(seed=seed)
    message, path = drive("square", adapter, "pico_trail_freenove", NoiseProfile.TYPICAL)
    assert message == "done"
    assert math.hypot(*path[-1]) < 0.3
    # The first side is measured by GPS speed alone, which drifts by some per cent.
    assert extent(path) == pytest.approx((5.0, 5.0), abs=0.5)


def test_the_simple_model_drives_it_too() -> None:
    adapter = LightweightAdapter(LightweightConfig(seed=3))
    message, path = drive("square:3", adapter, "ideal", NoiseProfile.TYPICAL)
    assert message == "done"
    assert math.hypot(*path[-1]) < 0.3
    assert extent(path) == pytest.approx((3.0, 3.0), abs=0.3)


@pytest.mark.parametrize("preset", ["pico_trail_ackermann", "ardupilot_car"])
def test_cars_drive_it_by_arcs(preset: str) -> None:
    message, path = drive("square", LightweightAdapter(seed=1), preset, NoiseProfile.LOW)
    assert message == "done"
    assert math.hypot(*path[-1]) < 0.6
    assert extent(path) == pytest.approx((5.0, 5.0), abs=0.7)


def test_a_circle_and_a_line_have_their_size() -> None:
    adapter = LightweightAdapter(seed=1)
    message, path = drive("circle:2", adapter, "pico_trail_freenove", NoiseProfile.LOW)
    assert message == "done"
    assert extent(path) == pytest.approx((4.0, 4.0), abs=0.3)
    adapter = LightweightAdapter(seed=1)
    message, path = drive("line:6", adapter, "pico_trail_freenove", NoiseProfile.LOW)
    assert message == "done"
    assert path[-1] == pytest.approx((6.0, 0.0), abs=0.3)
