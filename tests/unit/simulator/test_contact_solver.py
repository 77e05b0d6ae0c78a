"""How far bodies may go before they touch."""

from __future__ import annotations

import pytest

from pico_gz.simulator.contacts import Body, body_gap_m, resolve, wall_gap_m
from pico_gz.simulator.obstacles import Disc, Wall, outline


def body(north, east, step_n=0.0, step_e=0.0, radius=0.5):
    return Body(radius, north, east, step_n, step_e)


def test_a_body_stops_at_an_obstacle():
    post = outline(Disc(north_m=3.0, east_m=0.0, radius_m=1.0))
    bodies = {1: body(0.0, 0.0, 4.0)}
    assert resolve(bodies, [], [(1, 0, post)]) == (set(), {(1, 0)})
    assert wall_gap_m(bodies[1], post) == pytest.approx(0.0, abs=1e-9)
    assert wall_gap_m(bodies[1], post) >= 0.0


def test_a_fast_body_does_not_jump_over_a_thin_wall():
    wall = outline(Wall(north_m=5.0, east_m=-9.0, north2_m=5.0, east2_m=9.0, thickness_m=0.02))
    bodies = {1: body(0.0, 0.0, 10.0)}
    resolve(bodies, [], [(1, 0, wall)])
    assert bodies[1].at(1.0)[0] == pytest.approx(4.49, abs=1e-6)


def test_two_bodies_meet_in_the_middle():
    bodies = {1: body(0.0, 0.0, 2.0), 2: body(3.0, 0.0, -2.0)}
    assert resolve(bodies, [(1, 2)], []) == ({(1, 2)}, set())
    assert bodies[1].share == bodies[2].share == pytest.approx(0.5)


def test_who_is_run_into_from_behind_goes_on():
    bodies = {1: body(0.0, 0.0, 2.0), 2: body(1.2, 0.0, 1.0)}
    resolve(bodies, [(1, 2)], [])
    assert bodies[2].share == 1.0
    assert bodies[1].share < 1.0
    assert body_gap_m(bodies[1], bodies[2]) >= 0.0


def test_overlapping_bodies_may_part_but_not_come_closer():
    parting = {1: body(0.0, 0.0, -0.1), 2: body(0.3, 0.0, 0.1)}
    assert resolve(parting, [(1, 2)], []) == (set(), set())
    closing = {1: body(0.0, 0.0, 0.1), 2: body(0.3, 0.0)}
    resolve(closing, [(1, 2)], [])
    assert closing[1].share == 0.0


def test_stopping_one_body_stops_those_behind_it():
    wall = outline(Wall(north_m=4.0, east_m=-9.0, north2_m=4.0, east2_m=9.0, thickness_m=0.2))
    bodies = {k: body(-1.1 * k, 0.0, 6.0) for k in range(6)}
    resolve(bodies, [(k, k + 1) for k in range(5)], [(0, 0, wall)])
    for k in range(5):
        assert body_gap_m(bodies[k], bodies[k + 1]) >= 0.0
    assert wall_gap_m(bodies[0], wall) == pytest.approx(0.0, abs=1e-9)
    assert all(bodies[k].share > 0.3 for k in range(6))
