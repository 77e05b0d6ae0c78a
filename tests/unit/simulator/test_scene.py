"""Rays against obstacles and vehicles."""

from __future__ import annotations

import math

import pytest

from pico_gz.simulator.obstacles import Box, Disc, Wall
from pico_gz.simulator.scene import Scene

NORTH, EAST, SOUTH = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)


def look(scene, direction, *, at=(0.0, 0.0), max_m=50.0, own_id=1):
    return scene.cast(*at, *direction, max_m, own_id)


def test_nothing_is_seen_in_an_empty_world():
    assert look(Scene(), NORTH) == 50.0


def test_a_disc():
    scene = Scene([Disc(north_m=10.0, east_m=0.0, radius_m=2.0)])
    assert look(scene, NORTH) == 8.0
    assert look(scene, SOUTH) == 50.0
    assert look(scene, NORTH, at=(0.0, 2.1)) == 50.0
    assert look(scene, NORTH, at=(0.0, 1.0)) == pytest.approx(10.0 - math.sqrt(3.0), abs=1e-12)
    assert look(scene, NORTH, max_m=5.0) == 5.0


def test_from_inside_everything_is_at_hand():
    scene = Scene([Disc(north_m=0.0, east_m=0.0, radius_m=2.0)])
    assert look(scene, EAST) == 0.0
    assert look(Scene([Box(north_m=0.0, east_m=0.0, size_n_m=1.0, size_e_m=1.0)]), EAST) == 0.0


def test_a_box_and_its_turned_self():
    assert look(Scene([Box(north_m=5.0, east_m=0.0, size_n_m=2.0, size_e_m=2.0)]), NORTH) == 4.0
    turned = Scene([Box(north_m=5.0, east_m=0.0, size_n_m=2.0, size_e_m=2.0, yaw_deg=45.0)])
    assert look(turned, NORTH) == pytest.approx(5.0 - math.sqrt(2.0), abs=1e-9)
    long = Scene([Box(north_m=5.0, east_m=0.0, size_n_m=8.0, size_e_m=1.0, yaw_deg=90.0)])
    assert look(long, NORTH) == pytest.approx(4.5, abs=1e-9)
    assert look(long, NORTH, at=(0.0, 3.9)) == pytest.approx(4.5, abs=1e-9)


def test_a_wall():
    scene = Scene([Wall(north_m=3.0, east_m=-5.0, north2_m=3.0, east2_m=5.0, thickness_m=0.2)])
    assert look(scene, NORTH) == pytest.approx(2.9, abs=1e-12)
    slanted = (math.cos(0.5), math.sin(0.5))
    assert look(scene, slanted) == pytest.approx(2.9 / math.cos(0.5), abs=1e-12)
    assert look(scene, EAST) == 50.0


def test_the_nearest_counts():
    far, near = (
        Disc(north_m=9.0, east_m=0.0, radius_m=1.0),
        Disc(north_m=4.0, east_m=0.0, radius_m=1.0),
    )
    assert look(Scene([far, near]), NORTH) == look(Scene([near, far]), NORTH) == 3.0


def test_other_vehicles_are_seen_but_not_oneself():
    scene = Scene()
    scene.place([(1, 0.0, 0.0, 0.3), (2, 6.0, 0.0, 0.5)])
    assert look(scene, NORTH, own_id=1) == 5.5
    assert look(scene, SOUTH, at=(6.0, 0.0), own_id=2) == pytest.approx(5.7, abs=1e-9)


def test_vehicles_can_be_made_invisible():
    scene = Scene(vehicles_visible=False)
    scene.place([(2, 6.0, 0.0, 0.5)])
    assert look(scene, NORTH) == 50.0
