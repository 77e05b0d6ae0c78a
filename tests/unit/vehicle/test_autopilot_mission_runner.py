"""The order of mission items: jumps, things to do on the way, delays."""

import pytest

from pico_gz.core.ground_control import MissionItem, MissionType
from pico_gz.vehicle.autopilot.mission import ItemStore, MissionRunner, MissionState

WP, JUMP, SPEED, DELAY, REVERSE = 16, 177, 178, 112, 194


def runner_of(*entries):
    """A runner over these (command, param1, param2) entries; item 0 is home."""
    store = ItemStore()
    items = [MissionItem(seq=0, command=WP, lat_e7=1, lon_e7=1)]
    for seq, (command, first, second) in enumerate(entries, start=1):
        items.append(
            MissionItem(seq=seq, command=command, param1=first, param2=second, lat_e7=seq, lon_e7=1)
        )
    assert store.replace(MissionType.MISSION, items) == 0
    runner = MissionRunner(store)
    runner.reset()
    return runner


def driven(runner, most=20):
    """The items in the order in which they are driven."""
    order = []
    going = runner.start_at(1)
    while going and len(order) < most:
        order.append(runner.current)
        going = runner.advance()
    return order


def test_straight_through():
    runner = runner_of((WP, 0, 0), (WP, 0, 0))
    assert runner.state is MissionState.NOT_STARTED
    assert driven(runner) == [1, 2]
    assert runner.state is MissionState.COMPLETE


def test_jumps_are_counted():
    assert driven(runner_of((WP, 0, 0), (WP, 0, 0), (JUMP, 1, 2), (WP, 0, 0))) == [
        1, 2, 1, 2, 1, 2, 4,
    ]  # fmt: skip


def test_minus_one_jumps_for_ever():
    assert driven(runner_of((WP, 0, 0), (JUMP, 1, -1)), most=9) == [1] * 9


def test_a_mission_of_jumps_ends():
    assert driven(runner_of((JUMP, 2, -1), (JUMP, 1, -1))) == []


def test_looking_ahead_uses_up_no_jump():
    runner = runner_of((WP, 0, 0), (JUMP, 1, 1), (WP, 0, 0))
    runner.start_at(1)
    for _ in range(5):
        assert runner.next_place().seq == 1
    assert driven(runner) == [1, 1, 3]


def test_a_reverse_on_the_way_asks_for_a_stop():
    runner = runner_of((WP, 0, 0), (REVERSE, 1, 0), (WP, 0, 0))
    runner.start_at(1)
    assert runner.next_place() is None


def test_things_to_do_come_on_the_way_to_the_next_waypoint():
    runner = runner_of((WP, 0, 0), (SPEED, 0, 1.5), (WP, 0, 0))
    runner.start_at(1)
    assert runner.due(0) == []
    runner.advance()
    assert [item.seq for item in runner.due(0)] == [2]
    assert runner.due(0) == []


def test_a_condition_holds_up_what_follows_it():
    runner = runner_of((SPEED, 0, 1.0), (DELAY, 2, 0), (SPEED, 0, 2.0), (WP, 0, 0))
    runner.start_at(1)
    assert [item.seq for item in runner.due(1_000_000)] == [1]
    assert runner.due(2_900_000) == []
    assert [item.seq for item in runner.due(3_000_000)] == [3]


def test_arriving_early_drops_what_still_waits():
    runner = runner_of((DELAY, 60, 0), (SPEED, 0, 2.0), (WP, 0, 0), (WP, 0, 0))
    runner.start_at(1)
    assert runner.due(0) == []
    runner.advance()
    assert runner.current == 4
    assert runner.due(100_000_000) == []


@pytest.mark.parametrize("seq", [0, 1])
def test_starting_at_home_means_the_first_item(seq):
    runner = runner_of((WP, 0, 0))
    assert runner.start_at(seq)
    assert runner.current == 1


def test_empty_mission():
    runner = MissionRunner(ItemStore())
    runner.reset()
    assert runner.state is MissionState.NO_MISSION
    assert runner.item() is None
    assert not runner.start_at(1)


def test_state_round_trip():
    runner = runner_of((WP, 0, 0), (JUMP, 1, 2), (DELAY, 5, 0), (WP, 0, 0))
    runner.start_at(1)
    runner.advance()
    other = runner_of((WP, 0, 0), (JUMP, 1, 2), (DELAY, 5, 0), (WP, 0, 0))
    other.load_state(runner.save_state())
    assert other.state is MissionState.ACTIVE
    order = [runner.advance() and runner.current for _ in range(4)]
    assert [other.advance() and other.current for _ in range(4)] == order
