"""Where vehicles start."""

import itertools
import math

import pytest

from pico_gz.core.vehicle_config import Pose
from pico_gz.run.config.settings import LayoutKind
from pico_gz.run.config.vehicles import place


def distance(one: Pose, other: Pose) -> float:
    return math.hypot(one.north_m - other.north_m, one.east_m - other.east_m)


def test_line_runs_east_and_looks_north():
    assert place(LayoutKind.LINE, 3.0, [1, 2, 3]) == {
        1: Pose(),
        2: Pose(east_m=3.0),
        3: Pose(east_m=6.0),
    }


def test_line_does_not_depend_on_who_else_is_there():
    assert place(LayoutKind.LINE, 2.5, [7])[7] == place(LayoutKind.LINE, 2.5, range(1, 256))[7]


def test_grid_fills_rows_eastward():
    poses = place(LayoutKind.GRID, 2.0, range(1, 6))
    assert [(pose.north_m, pose.east_m) for pose in poses.values()] == [
        (0, 0), (0, 2), (0, 4), (2, 0), (2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (2, 2), (4, 2), (5, 3), (9, 3), (10, 4)])
def test_grid_is_as_square_as_possible(count, columns):
    poses = place(LayoutKind.GRID, 1.0, range(1, count + 1)).values()
    assert max(pose.east_m for pose in poses) == columns - 1


@pytest.mark.parametrize("count", [2, 3, 10, 255])
def test_circle_keeps_neighbours_apart_and_faces_outward(count):
    poses = list(place(LayoutKind.CIRCLE, 3.0, range(1, count + 1)).values())
    for one, other in itertools.pairwise([*poses, poses[0]]):
        assert distance(one, other) == pytest.approx(3.0, abs=1e-9)
    for pose in poses:
        outward = math.degrees(math.atan2(pose.east_m, pose.north_m)) % 360
        assert math.remainder(pose.yaw_deg - outward, 360.0) == pytest.approx(0.0, abs=1e-9)
    assert poses[0].east_m == 0.0


def test_circle_of_one_is_the_origin():
    assert place(LayoutKind.CIRCLE, 3.0, [4]) == {4: Pose()}
