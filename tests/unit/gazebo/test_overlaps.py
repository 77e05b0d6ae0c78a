"""Who would start inside whom."""

import itertools
import math

import pytest

from pico_gz.gazebo.covered_ground import covered_ground, overlap
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.world_bundle import overlap_warnings
from pico_gz.simulator.obstacles import Outline

CROSS = (Outline(0, 0, 1, 0, 5.0, 0.1), Outline(0, 0, 0, 1, 5.0, 0.1))


def box(north_m, east_m, a_m=0.5, b_m=0.5, yaw_deg=0.0, round_m=0.0):
    yaw = math.radians(yaw_deg)
    return Outline(north_m, east_m, math.cos(yaw), math.sin(yaw), a_m, b_m, round_m)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(*CROSS, True, id="crossing without a corner inside"),
        pytest.param(box(0, 0), box(0, 0), True, id="the same spot"),
        pytest.param(box(0, 0), box(0, 1.001), False, id="side by side"),
        pytest.param(box(0, 0), box(0, 1.0), False, id="touching"),
        pytest.param(box(0, 0), box(0, 0.999), True, id="a little inside"),
        pytest.param(box(0, 0), box(0, 1.1, yaw_deg=45), True, id="a corner inside"),
        pytest.param(box(0, 0), box(1.15, 1.15, yaw_deg=45), False, id="corner beside a side"),
        pytest.param(box(0, 0), box(0, 0, 0.1, 0.1), True, id="all inside"),
        pytest.param(box(0, 0), box(0.8, 0.8, 0, 0, round_m=0.5), True, id="disc at a corner"),
        pytest.param(box(0, 0), box(0.9, 0.9, 0, 0, round_m=0.5), False, id="disc off a corner"),
        pytest.param(box(0, 0), box(0, 0, 0, 0, round_m=0.01), True, id="a post in the middle"),
    ],
)
def test_overlap(one, other, expected):
    assert overlap(one, other) is expected
    assert overlap(other, one) is expected


def test_overlap_agrees_with_looking_at_many_points():
    """Sampled: whether some point lies inside of both."""
    still = box(0, 0, 0.6, 0.3, 20.0)
    grid = [0.02 * i for i in range(-60, 61)]
    inside = [p for p in itertools.product(grid, grid) if still.clearance_m(*p) < -0.02]
    told = {True: 0, False: 0}
    for number in range(60):
        angle = number * 2.4
        other = box(
            0.02 * number * math.cos(angle), 0.02 * number * math.sin(angle), 0.4, 0.05, 31 * number
        )
        shared = any(other.clearance_m(*point) < -0.02 for point in inside)
        if shared:
            assert overlap(still, other)
        told[overlap(still, other)] += 1
    assert min(told.values()) > 5


def fleet_of(tmp_path, text):
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return load_fleet(path, FleetOverrides(contacts=False), environ={})


def warnings(fleet):
    return overlap_warnings(fleet, fleet.vehicles)


def test_a_usual_fleet_has_room():
    for layout in ("line", "grid", "circle"):
        overrides = FleetOverrides(rovers=255, allow_gcs_sysid=True, layout=layout)
        assert warnings(default_fleet(overrides=overrides, environ={})) == ()


def ground_of(plan):
    return covered_ground(plan.config.pose, plan.rover)


def test_wheels_count(tmp_path):
    (plan, *_) = fleet_of(tmp_path, "[rover]\nwidth_m = 0.1\nwheel_width_m = 0.05\n").vehicles
    assert ground_of(plan).half_b_m == pytest.approx(0.5 * (plan.rover.track_m + 0.05))
    (plan, *_) = fleet_of(tmp_path, "[rover]\nwidth_m = 0.5\n").vehicles
    assert ground_of(plan).half_b_m == 0.25


def test_a_car_stands_ahead_of_its_rear_axle(tmp_path):
    text = '[rover]\npreset = "pico_trail_ackermann"\n[[vehicle]]\nid = 1\nyaw_deg = 90.0\n'
    plan = fleet_of(tmp_path, text + "north_m = 0.0\neast_m = 0.0\n").vehicles[0]
    assert plan.rover.center_ahead_m > 0.0
    shape = ground_of(plan)
    assert (shape.north_m, shape.east_m) == pytest.approx((0.0, plan.rover.center_ahead_m))


def test_obstacles_are_named_as_in_the_world(tmp_path):
    text = "[fleet]\ncount = 1\n"
    text += '[[obstacle]]\nkind = "disc"\nnorth_m = 5.0\neast_m = 5.0\nradius_m = 0.2\n'
    text += '[[obstacle]]\nkind = "disc"\nnorth_m = 0.0\neast_m = 0.1\nradius_m = 0.2\n'
    (told,) = warnings(fleet_of(tmp_path, text))
    assert "rover_1 and obstacle_2." in told


def test_many_pairs_are_counted(tmp_path):
    text = "[fleet]\ncount = 5\n[layout]\nspacing_m = 0.001\n"
    (told,) = warnings(fleet_of(tmp_path, text))
    assert told.count(" and rover_") == 5
    assert "and 5 more pairs" in told
