"""Driving by the clock alone."""

import math

import pytest

from pico_gz.cli.tools.comparison import (
    SKID_PHASES,
    OpenLoopDriver,
    Phase,
    differences,
    drive_open_loop,
    duration_s,
)
from pico_gz.errors import MissingExtraError, MissingProgramError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.vehicle.platform.platform import SitlPlatform


@pytest.fixture
def fleet():
    return default_fleet(overrides=FleetOverrides(rovers=2, autopilot="none"), environ={})


def test_the_driver_looks_at_the_clock_only():
    driver = OpenLoopDriver((Phase("a", 0.02, 0.5, -0.5), Phase("b", 0.02, 1.0, 1.0)))
    platform = SitlPlatform(1)
    driver.start(platform)
    seen = []
    for now_us in range(0, 60_000, 10_000):
        driver.tick(now_us)
        seen.append(platform.collect_actuator_commands().motors)
    assert seen == [(0.5, -0.5)] * 2 + [(1.0, 1.0)] * 2 + [(0.0, 0.0)] * 2
    assert driver.status().done


def test_a_driver_goes_on_from_its_state():
    driver, other = OpenLoopDriver(SKID_PHASES), OpenLoopDriver(SKID_PHASES)
    driver.tick(2_000_000)
    other.load_state(driver.save_state())
    assert other.status() == driver.status()
    assert other.status().mode == "straight"


def test_the_same_simulator_twice_is_the_same_drive(fleet):
    first, second = (drive_open_loop(fleet, "lightweight") for _ in range(2))
    assert list(first) == [1, 2]
    apart = differences(first[1], second[1])
    assert len(apart) == pytest.approx(10 * duration_s(fleet), abs=1)
    assert max(d.position_m for d in apart) == 0.0
    assert max(abs(d.heading_deg) for d in apart) == 0.0
    farthest_m = max(math.hypot(p.north_m, p.east_m) for p in first[1])
    assert farthest_m > 1.0, "it really drove"


def test_a_simulator_that_is_not_here_is_refused(fleet, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingProgramError):
        drive_open_loop(fleet, "gazebo")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    import sys

    from pico_gz.cli.tools.comparison import require_plots

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="plots"):
        require_plots()
