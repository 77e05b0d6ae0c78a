"""Five tests of a rover: one to begin with, and one for each thing that usually goes wrong."""

from pathlib import Path

import pytest

from pico_gz.testing import (
    SimulationTimeoutError,
    assert_min_separation,
    assert_mode_sequence,
    assert_never,
    assert_no_contact,
    assert_path_within,
    assert_reached,
)

FLEET = Path(__file__).parents[1] / "fleet.toml"


def test_drive(rover):
    """The shortest test there is."""
    rover.arm()
    rover.goto(north_m=5, east_m=0)
    rover.wait_until(lambda r: abs(r.truth.north_m - 5) < 1.5, timeout_sim_s=60)


@pytest.mark.sitl(rover={"noise": "low"}, seed=3)
def test_mission_keeps_to_its_lines(rover):
    """A mission is driven to its end, near its lines, and never too fast."""
    corners = [(8, 0), (8, 8), (0, 8)]
    rover.upload_mission(corners)
    assert_never(rover, lambda r: r.speed_mps > 1.2, "too fast")
    rover.arm()
    rover.start_mission()
    rover.wait_until(lambda r: r.status.done, timeout_sim_s=120)
    for north_m, east_m in corners:
        assert_reached(rover, north_m, east_m, radius_m=2.5)
    assert_path_within(rover, [(0, 0), *corners], max_m=2.5)


def test_two_rovers_keep_apart(sitl):
    """A whole fleet from its fleet file: both drive, neither touches anything."""
    fleet = sitl(FLEET)
    for rover in fleet:
        rover.arm()
        rover.goto(north_m=6, east_m=rover.truth.east_m)
    fleet.wait_until(lambda f: all(r.truth.north_m > 4 for r in f), timeout_sim_s=60)
    assert_min_separation(fleet, min_m=1.0)
    assert_no_contact(fleet)


def test_comes_home(rover):
    """RTL brings it back, through the right modes."""
    rover.arm()
    rover.goto(north_m=6, east_m=2)
    rover.wait_until(lambda r: r.distance_to(6, 2) < 2, timeout_sim_s=60)
    rover.set_mode("RTL")
    rover.wait_until(lambda r: r.distance_to(0, 0) < 2.5, timeout_sim_s=60)
    assert_mode_sequence(rover, ["GUIDED", "RTL"])


def test_without_gps_it_does_not_arm(rover):
    """A failure is switched on, and the right thing does not happen."""
    rover.fail("gps", "off")
    with pytest.raises(SimulationTimeoutError, match="does not arm"):
        rover.arm(timeout_sim_s=10)
