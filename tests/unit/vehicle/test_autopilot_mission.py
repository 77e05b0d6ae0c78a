"""Item lists: what may be stored, and that a bad upload leaves the old list."""

import math

import pytest

from pico_gz.core.ground_control import MAX_ITEMS, MissionItem, MissionResult, MissionType
from pico_gz.mavlink import missions
from pico_gz.vehicle.autopilot.mission import ItemStore, check_item

LAT, LON = 356812360, 1397671250


def item(seq=1, command=16, **changes):
    return MissionItem(**{"seq": seq, "command": command, "lat_e7": LAT, "lon_e7": LON, **changes})


def mission(*commands, **changes):
    return [item(0), *(item(i, c, **changes) for i, c in enumerate(commands, start=1))]


@pytest.mark.parametrize("command", [16, 17, 18, 19, 20, 112, 178, 179, 194])
def test_known_commands(command):
    assert check_item(MissionType.MISSION, item(command=command)) is MissionResult.ACCEPTED


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        ({"command": 15}, MissionResult.UNSUPPORTED),
        ({"command": 65535}, MissionResult.UNSUPPORTED),
        ({"frame": 1}, MissionResult.UNSUPPORTED_FRAME),
        ({"frame": 255}, MissionResult.UNSUPPORTED_FRAME),
        ({"lat_e7": 900_000_001}, MissionResult.INVALID_PARAM5_X),
        ({"lon_e7": -1_800_000_001}, MissionResult.INVALID_PARAM6_Y),
        ({"alt_m": math.inf}, MissionResult.INVALID_PARAM7),
        ({"param1": math.nan}, MissionResult.INVALID_PARAM1),
        ({"param1": -1.0}, MissionResult.INVALID_PARAM1),
        ({"param1": 1e30}, MissionResult.INVALID_PARAM1),
        ({"alt_m": -1e30}, MissionResult.INVALID_PARAM7),
        ({"command": 177, "param1": 1.0, "param2": 1e30}, MissionResult.INVALID),
        ({"command": 178, "param2": 1e30}, MissionResult.INVALID),
        ({"command": 19, "param1": math.inf}, MissionResult.INVALID_PARAM1),
        ({"command": 177, "param1": 1.0, "param2": math.nan}, MissionResult.INVALID),
        ({"command": 178, "param2": math.nan}, MissionResult.INVALID),
    ],
)
def test_refused_items(changes, result):
    assert check_item(MissionType.MISSION, item(**changes)) is result


def test_fence_and_rally_items():
    assert check_item(MissionType.FENCE, item(command=5003, param1=50.0)) == 0
    assert check_item(MissionType.FENCE, item(command=5003, param1=0.0)) != 0
    assert check_item(MissionType.FENCE, item(command=5001, param1=2.0)) != 0
    assert check_item(MissionType.FENCE, item(command=16)) is MissionResult.UNSUPPORTED
    assert check_item(MissionType.RALLY, item(command=5100)) == 0
    assert check_item(MissionType.RALLY, item(command=5000)) is MissionResult.UNSUPPORTED


def test_nan_means_no_value():
    store = ItemStore()
    assert store.replace(MissionType.MISSION, mission(16, param4=math.nan, alt_m=math.nan)) == 0
    stored = store.items(MissionType.MISSION)[1]
    assert stored.param4 == 0.0
    assert stored.alt_m == 0.0


@pytest.mark.parametrize(
    ("items", "result"),
    [
        (mission(16, 15), MissionResult.UNSUPPORTED),
        ([item(0), item(2)], MissionResult.INVALID_SEQUENCE),
        ([item(0), item(1, 177, param1=7.0)], MissionResult.INVALID_PARAM1),
        ([item(n) for n in range(MAX_ITEMS + 1)], MissionResult.NO_SPACE),
    ],
)
def test_a_bad_upload_keeps_the_old_list(items, result):
    store = ItemStore()
    store.replace(MissionType.MISSION, mission(16, 16))
    before = store.items(MissionType.MISSION)
    assert store.replace(MissionType.MISSION, items) is result
    assert store.items(MissionType.MISSION) == before


def test_polygons_must_be_whole():
    store = ItemStore()
    triangle = [item(n, 5001, param1=3.0) for n in range(3)]
    assert store.replace(MissionType.FENCE, triangle) is MissionResult.ACCEPTED
    assert store.replace(MissionType.FENCE, triangle[:2]) is MissionResult.INVALID
    mixed = [*triangle[:2], item(2, 5002, param1=3.0)]
    assert store.replace(MissionType.FENCE, mixed) is MissionResult.INVALID


def test_home_is_shown_as_item_0():
    store = ItemStore()
    store.set_home_item(1, 2, 3.0)
    assert store.items(MissionType.MISSION) == ()
    store.replace(MissionType.MISSION, mission(16))
    store.set_home_item(1, 2, 3.0)
    home, first = store.items(MissionType.MISSION)
    assert (home.lat_e7, home.lon_e7, home.alt_m) == (1, 2, 3.0)
    assert first.lat_e7 == LAT


def test_state_round_trip():
    store = ItemStore()
    store.replace(MissionType.MISSION, mission(16, 17, param1=1.5))
    store.replace(MissionType.RALLY, [item(0, 5100)])
    other = ItemStore()
    other.load_state(store.save_state())
    assert other.items(MissionType.MISSION) == store.items(MissionType.MISSION)
    assert other.items(MissionType.RALLY) == store.items(MissionType.RALLY)


def test_an_upload_may_be_as_long_as_what_is_kept():
    """Else the vehicle takes every item of a long list, to refuse it with the last one."""
    assert missions.MAX_ITEMS == MAX_ITEMS
    store = ItemStore()
    longest = [item(n) for n in range(MAX_ITEMS)]
    assert store.replace(MissionType.MISSION, longest) is MissionResult.ACCEPTED
