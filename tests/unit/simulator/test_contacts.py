"""Contacts in a running fleet."""

from __future__ import annotations

import math

import pytest

from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose
from pico_gz.simulator.contacts import Contact, ContactChecker
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.obstacles import Box, Disc, Wall
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.world import World

RADIUS = 0.15
IDEAL = rover_spec("ideal", {"radius_m": RADIUS})


def fleet(poses, *obstacles, spec=IDEAL, contacts=True):
    engine = FleetEngine(World(obstacles=obstacles, contacts=contacts), seed=1)
    for vehicle_id, (north, east, yaw) in enumerate(poses, start=1):
        pose = Pose(north_m=north, east_m=east, yaw_deg=yaw)
        engine.add(spec, fit_sensors(spec, vehicle_id), pose)
    return engine


def drive(engine, commands, steps):
    for vehicle_id, command in commands.items():
        engine.command(vehicle_id, *command)
    for _ in range(steps):
        engine.step(10_000)
    return engine.truth()


POST = Disc(north_m=2.0, east_m=0.0, radius_m=0.5)


def test_an_obstacle_blocks_and_is_reported_once():
    engine = fleet([(-0.005, 0, 0)], POST)
    truth = drive(engine, {1: (1.0, 1.0)}, 300)[1]
    assert truth.north_m == pytest.approx(2.0 - 0.5 - RADIUS, abs=1e-9)
    assert truth.velocity_ned_mps == (0.0, 0.0, 0.0)
    assert engine.drain_contacts() == [Contact(1_360_000, 1, "disc_1")]
    assert engine.drain_contacts() == []


def test_it_can_back_away_and_touch_again():
    engine = fleet([(0, 0, 0)], POST)
    drive(engine, {1: (1.0, 1.0)}, 200)
    truth = drive(engine, {1: (-0.5, -0.5)}, 100)[1]
    assert truth.north_m == pytest.approx(1.35 - 0.5, abs=1e-9)
    drive(engine, {1: (1.0, 1.0)}, 100)
    assert [contact.other for contact in engine.drain_contacts()] == ["disc_1", "disc_1"]


def test_it_can_turn_on_the_spot_while_it_touches():
    engine = fleet([(0, 0, 0)], POST)
    drive(engine, {1: (1.0, 1.0)}, 200)
    drive(engine, {1: (0.15, -0.15)}, 100)
    truth = drive(engine, {1: (0.5, 0.5)}, 100)[1]
    assert truth.east_m == pytest.approx(0.5 * math.sin(2.0), abs=1e-6)


def test_a_wall_and_a_box_block_too():
    wall = Wall(north_m=1.0, east_m=-5.0, north2_m=1.0, east2_m=5.0, thickness_m=0.1)
    assert drive(fleet([(0, 0, 0)], wall), {1: (1, 1)}, 300)[1].north_m == pytest.approx(
        0.8, abs=1e-9
    )
    box = Box(north_m=2.0, east_m=0.0, size_n_m=1.0, size_e_m=1.0, yaw_deg=45.0)
    north = drive(fleet([(0, 0, 0)], box), {1: (1, 1)}, 300)[1].north_m
    assert north == pytest.approx(2.0 - math.sqrt(0.5) - RADIUS, abs=1e-6)


def gap_m(truth, one=1, other=2):
    north, east = truth[one].north_m - truth[other].north_m, truth[one].east_m - truth[other].east_m
    return math.hypot(north, east) - 2 * RADIUS


def test_two_rovers_meet_head_on_and_part():
    engine = fleet([(-0.005, 0, 0), (2, 0, 180)])
    truth = drive(engine, {1: (1.0, 1.0), 2: (0.5, 0.5)}, 114)
    assert gap_m(truth) == pytest.approx(0.0, abs=1e-4)
    assert engine.drain_contacts() == [Contact(1_140_000, 1, 2), Contact(1_140_000, 2, 1)]
    for _ in range(186):
        assert gap_m(drive(engine, {}, 1)) >= -1e-9
    truth = engine.truth()
    assert truth[1].north_m > 1.5  # they went by each other, each to its right
    assert truth[1].east_m > 0.0 > truth[2].east_m


def test_a_parked_rover_is_not_pushed_and_does_not_lock_others():
    engine = fleet([(0, 0, 0), (1, 0, 90)])
    for _ in range(200):
        truth = drive(engine, {1: (1.0, 1.0)}, 1)
        assert gap_m(truth) >= -1e-9
    assert (truth[2].north_m, truth[2].east_m) == (1.0, 0.0)
    assert truth[1].north_m > 1.3


def test_a_rover_between_a_wall_and_another_one_stays_where_it_is():
    wall = Wall(north_m=1.0, east_m=-5.0, north2_m=1.0, east2_m=5.0, thickness_m=0.1)
    engine = fleet([(0, 0, 0), (0.7, 0.0, 0.0), (0.7, 0.31, 0.0)], wall)
    for _ in range(300):
        truth = drive(engine, {1: (1.0, 1.0), 2: (1.0, 1.0)}, 1)
        assert min(gap_m(truth, 1, 2), gap_m(truth, 1, 3), gap_m(truth, 2, 3)) >= -1e-9
        assert max(state.north_m for state in truth.values()) <= 0.8 + 1e-9


@pytest.mark.parametrize("moving", [False, True])
def test_rovers_that_overlap_are_in_contact_from_the_first_step(moving):
    engine = fleet([(0, 0, 180), (0.05, 0, 0)])
    drive(engine, {1: (0.5, 0.5)} if moving else {}, 1)
    assert engine.drain_contacts() == [Contact(10_000, 1, 2), Contact(10_000, 2, 1)]
    drive(engine, {}, 5)
    assert engine.drain_contacts() == []


def test_a_rover_put_into_an_obstacle_touches_it():
    engine = fleet([(0, 0, 0)], POST)
    drive(engine, {}, 3)
    engine.set_pose(1, 1.9, 0.0, 0.0)
    drive(engine, {}, 1)
    assert engine.drain_contacts() == [Contact(40_000, 1, "disc_1")]


def test_contacts_can_be_switched_off():
    engine = fleet([(0, 0, 0), (1, 0, 90)], POST, contacts=False)
    assert drive(engine, {1: (1.0, 1.0)}, 400)[1].north_m == pytest.approx(4.0, abs=1e-9)
    assert engine.drain_contacts() == []


def test_blocked_wheels_do_not_turn():
    engine = fleet([(0, 0, 0)], POST)
    drive(engine, {1: (1.0, 1.0)}, 200)
    before = engine.save_state()["vehicles"]["1"]["vehicle"]["wheel_left_rad"]
    drive(engine, {}, 100)
    after = engine.save_state()["vehicles"]["1"]["vehicle"]["wheel_left_rad"]
    assert after == pytest.approx(before, abs=1e-9)


def test_a_car_collides_with_its_middle():
    spec = rover_spec("pico_trail_ackermann", {"lag_s": 0.0, "radius_m": 0.2})
    truth = drive(fleet([(0, 0, 0)], POST, spec=spec), {1: (1.0, 0.0)}, 400)[1]
    assert truth.north_m + 0.085 == pytest.approx(2.0 - 0.5 - 0.2, abs=1e-6)


def crowd(count, spec=IDEAL):
    """Rovers on a ring, all heading for its middle."""
    angle = 2 * math.pi / count
    poses = [
        (3 * math.cos(k * angle), 3 * math.sin(k * angle), math.degrees(k * angle) + 180)
        for k in range(count)
    ]
    return fleet(poses, spec=spec)


@pytest.mark.parametrize("count", [7, 30])
def test_nobody_ever_overlaps(count):
    engine = crowd(count, rover_spec("pico_trail_freenove"))
    for vehicle_id in engine.vehicle_ids:
        engine.command(vehicle_id, 0.9, 0.9 if vehicle_id % 3 else 0.8)
    for _ in range(40):
        for _ in range(10):
            engine.step(10_000)
        places = [(truth.north_m, truth.east_m) for truth in engine.truth().values()]
        closest = min(math.dist(a, b) for k, a in enumerate(places) for b in places[:k])
        assert closest >= 2 * RADIUS - 1e-9
    assert engine.drain_contacts()


class Suspicious(ContactChecker):
    """Looks at everybody in every step."""

    def check(self, end_time_us):
        self.look_again()
        super().check(end_time_us)


def test_the_outcome_does_not_depend_on_when_it_looks(monkeypatch):
    def trace():
        engine = crowd(20, rover_spec("pico_trail_freenove"))
        for vehicle_id in engine.vehicle_ids:
            engine.command(vehicle_id, 0.9, 0.7 if vehicle_id % 2 else 0.95)
        for _ in range(400):
            engine.step(10_000)
        return engine.truth(), engine.drain_contacts()

    monkeypatch.setattr("pico_gz.simulator.native_build.load", lambda: None)
    lazy = trace()
    monkeypatch.setattr("pico_gz.simulator.fleet_engine.ContactChecker", Suspicious)
    assert trace() == lazy


def test_a_car_that_backs_around_a_post_touches_it_whenever_it_is_looked_at(monkeypatch):
    """Its middle swings around the axle, so a step begins beside where the last one ended."""
    spec = rover_spec("ardupilot_car")

    def trace():
        found = []
        for number in range(50, 90):
            engine = fleet([(0.05 * number - 3.0, 1.0, 0.0)], POST, spec=spec)
            engine.command(1, -0.7, 0.6)
            for _ in range(60):
                engine.step(150_000)
            found.append((engine.truth(), engine.drain_contacts()))
        return found

    monkeypatch.setattr("pico_gz.simulator.native_build.load", lambda: None)
    lazy = trace()
    monkeypatch.setattr("pico_gz.simulator.fleet_engine.ContactChecker", Suspicious)
    assert trace() == lazy
    assert any(contacts for _, contacts in lazy)


def test_a_rover_put_into_another_can_leave_it():
    engine = fleet([(0, 0, 0), (5, 0, 0)])
    drive(engine, {}, 1)
    engine.set_pose(2, 0.1, 0.0, 0.0)
    truth = drive(engine, {2: (1.0, 1.0)}, 100)
    assert truth[2].north_m == pytest.approx(1.1, abs=1e-9)
    engine.set_pose(2, 0.1, 0.0, 180.0)
    deep_m = gap_m(engine.truth())
    for _ in range(100):
        assert gap_m(drive(engine, {}, 1)) >= deep_m - 1e-12
