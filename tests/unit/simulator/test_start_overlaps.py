"""Which vehicles stand inside each other, or inside an obstacle."""

import pytest

from pico_gz.core.rover_spec import PRESETS
from pico_gz.core.vehicle_config import Pose
from pico_gz.simulator.obstacles import Box, Disc, Wall
from pico_gz.simulator.overlaps import Footprint, find_overlaps, footprint, overlaps_of
from pico_gz.simulator.scene import Scene

SKID, CAR = PRESETS["ideal"], PRESETS["ardupilot_car"]


@pytest.mark.parametrize(("apart_m", "overlap"), [(0.29, True), (0.3, False), (0.31, False)])
def test_two_discs_of_15_cm(apart_m, overlap):
    one = footprint("a", Pose(), SKID)
    other = footprint("b", Pose(east_m=apart_m), SKID)
    assert find_overlaps([one, other]) == ([("a", "b")] if overlap else [])
    assert overlaps_of(other, [one, other]) == (["a"] if overlap else [])


def test_the_disc_of_a_car_lies_ahead_of_its_rear_axle():
    north = footprint("car", Pose(), CAR)
    east = footprint("car", Pose(yaw_deg=90.0), CAR)
    assert (north.north_m, north.east_m) == (pytest.approx(0.315), 0.0)
    assert (east.north_m, east.east_m) == (pytest.approx(0.0), pytest.approx(0.315))


def test_obstacles_are_named_as_contacts_name_them():
    obstacles = (
        Disc(north_m=0.0, east_m=0.5, radius_m=0.4),
        Wall(north_m=-1.0, east_m=-0.1, north2_m=1.0, east2_m=-0.1),
        Box(north_m=5.0, east_m=0.0, size_n_m=1.0, size_e_m=1.0),
    )
    rover = Footprint("a", 0.0, 0.0, 0.15)
    assert overlaps_of(rover, [], obstacles) == ["disc_1", "wall_2"]
    assert find_overlaps([rover], obstacles) == [("a", "disc_1"), ("a", "wall_2")]
    assert Scene(obstacles).names == ("disc_1", "wall_2", "box_3")
