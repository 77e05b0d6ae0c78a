"""How far apart two drives are."""

import math

import pytest

from pico_gz.cli.tools.comparison import (
    PHASES,
    Phase,
    Place,
    differences,
    farthest_apart,
    phase_results,
    total_s,
    unwrapped,
)

PHASE_LIST = (
    Phase("stand", 1.0, 0.0, 0.0),
    Phase("straight", 2.0, 0.5, 0.5),
    Phase("rest", 1.0, 0.0, 0.0),
    Phase("turn", 1.0, 0.5, -0.5),
)


def drive(speed, turn_radps):
    """Straight north from 1 s to 3 s, coasting 0.1 m in the rest; then a turn from 4 s to 5 s."""
    places = []
    for tenth in range(51):
        t = tenth / 10.0
        north = speed * min(max(t - 1.0, 0.0), 2.0) + 0.1 * min(max(t - 3.0, 0.0), 1.0)
        places.append(Place(t, north, 0.0, turn_radps * max(t - 4.0, 0.0)))
    return tuple(places)


def test_differences_are_distance_and_signed_heading():
    apart = differences(drive(1.0, 1.0), drive(1.5, 0.5))
    assert apart[0].position_m == 0.0
    assert apart[-1].position_m == pytest.approx(1.0)
    assert apart[-1].heading_deg == pytest.approx(-math.degrees(0.5))
    assert apart[-1].time_s == 5.0


def test_each_command_gets_what_it_led_to():
    straight, turn = phase_results((drive(1.0, 1.0), drive(1.5, 0.5)), PHASE_LIST)
    assert (straight.name, straight.seconds) == ("straight", 2.0)
    assert straight.distance_m == pytest.approx((2.1, 3.1)), "coasting belongs to it"
    assert straight.turn_deg == pytest.approx((0.0, 0.0))
    assert turn.turn_deg == pytest.approx((math.degrees(1.0), math.degrees(0.5)))


def test_an_empty_track_has_no_length():
    results = phase_results(((), ()), PHASE_LIST)
    assert all(result.distance_m == (0.0, 0.0) for result in results)


@pytest.mark.parametrize(
    ("yaw", "before", "expected"),
    [(-3.1, 3.1, -3.1 + math.tau), (3.1, -3.1, 3.1 - math.tau), (0.1, 6.2, 0.1 + math.tau)],
)
def test_headings_do_not_jump(yaw, before, expected):
    assert unwrapped(yaw, before) == pytest.approx(expected)


@pytest.mark.parametrize("phases", PHASES.values())
def test_every_schedule_begins_and_ends_standing(phases):
    for phase in (phases[0], phases[-1]):
        assert (phase.first, phase.second) == (0.0, 0.0)
    assert all(abs(p.first) <= 1.0 and abs(p.second) <= 1.0 for p in phases)
    assert 10.0 < total_s(phases) < 30.0


def test_the_largest_heading_difference_is_another_one_than_the_largest_distance():
    standing = (Place(0.0, 0.0, 0.0, 0.0), Place(1.0, 0.0, 0.0, 0.0))
    turned = (Place(0.0, 0.0, 0.0, -1.0), Place(1.0, 0.5, 0.0, 0.1))
    driven = (Place(0.0, 0.0, 0.0, 0.0), Place(1.0, 2.0, 0.0, 0.2))
    position, heading = farthest_apart(({1: standing, 2: standing}, {1: turned, 2: driven}))
    assert (position[0], position[1].position_m) == (2, 2.0)
    assert (heading[0], heading[1].time_s) == (1, 0.0)
    assert heading[1].heading_deg == pytest.approx(-math.degrees(1.0))
