"""Why a mission is refused, in words that name the item."""

import pytest

from pico_gz.core.ground_control import MAX_ITEMS, MissionItem, MissionResult, MissionType
from pico_gz.run.config.checks import MAX_BUILTIN_STEP_US
from pico_gz.run.config.mission_check import far_items, refusals
from pico_gz.vehicle.autopilot import rover_autopilot
from pico_gz.vehicle.autopilot.mission import ItemStore

HOME = MissionItem(seq=0, command=16)


def item(command, **fields):
    return MissionItem(seq=1, command=command, **fields)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (item(81), ["item 1", "NAV_PATHPLANNING (81)", "does not have"]),
        (item(31999), ["unknown command (31999)"]),
        (item(16, frame=1), ["frame 1", "0, 2, 3"]),
        (item(16, lat_e7=-950_000_000), ["latitude -95", "-90..90"]),
        (item(16, lon_e7=1_900_000_000), ["longitude 190", "-180..180"]),
        (item(16, alt_m=2e5), ["altitude 200000"]),
        (item(16, param1=-1.0), ["param1 = -1", "a delay of 0.."]),
        (item(177, param1=7.0, param2=1.0), ["no item 7", "1..1"]),
        (item(177, param1=1.0, param2=-2.0), ["param2 = -2", "-1 (without end)"]),
        (item(178, param2=500.0), ["param2 = 500", "100 m/s"]),
    ],
)
def test_a_refused_item_is_explained(changed, words):
    items = [HOME, changed]
    (reason,) = refusals(MissionType.MISSION, items)
    for word in words:
        assert word in reason
    assert ItemStore().replace(MissionType.MISSION, items) is not MissionResult.ACCEPTED


def test_what_the_autopilot_takes_has_no_reason():
    items = [HOME, item(16, lat_e7=1, lon_e7=1), MissionItem(seq=2, command=20)]
    assert refusals(MissionType.MISSION, items) == []
    assert ItemStore().replace(MissionType.MISSION, items) is MissionResult.ACCEPTED


def test_faults_of_a_whole_list_are_explained():
    corner = MissionItem(seq=0, command=5001, param1=4.0)
    assert "polygon" in refusals(MissionType.FENCE, [corner])[0]
    many = [MissionItem(seq=n, command=16) for n in range(MAX_ITEMS + 1)]
    assert str(MAX_ITEMS) in refusals(MissionType.MISSION, many)[0]
    gap = [HOME, MissionItem(seq=2, command=16)]
    assert "numbered" in refusals(MissionType.MISSION, gap)[0]


def test_distances_are_right_and_places_that_mean_nothing_are_passed_over():
    zurich = item(16, lat_e7=473_769_000, lon_e7=85_417_000)
    ((found, distance_m),) = far_items([HOME, zurich, item(20)], 35.681236, 139.767125)
    assert found is zurich
    assert distance_m == pytest.approx(9_586_000, rel=0.01)
    assert far_items([HOME, zurich], 47.0, 8.0) == []


def test_the_longest_step_is_what_the_autopilot_takes_for_no_stall():
    assert rover_autopilot._STALL_US == MAX_BUILTIN_STEP_US
