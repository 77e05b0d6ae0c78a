from types import SimpleNamespace

import pytest

from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import MissionItem
from pico_gz.vehicle.autopilot.mission import MissionCommand
from pico_gz.view.details import PlanReader
from pico_gz.view.source import AutopilotSnapshot

FRAME = LocalFrame(35.681236, 139.767125, 40.0)


def item(seq, command, north_m=0.0, east_m=0.0, param1=0.0):
    lat_deg, lon_deg, _ = FRAME.geodetic_from_ned(north_m, east_m, 0.0)
    return MissionItem(
        seq=seq,
        command=command,
        param1=param1,
        lat_e7=round(lat_deg * 1e7),
        lon_e7=round(lon_deg * 1e7),
    )


def belief(mission=(), fence=(), home=None):
    telemetry = SimpleNamespace(
        home_valid=home is not None,
        home_lat_e7=home.lat_e7 if home else 0,
        home_lon_e7=home.lon_e7 if home else 0,
    )
    return AutopilotSnapshot(telemetry, mission, fence)


def test_a_mission_is_told_in_metres_without_home_and_speed_changes():
    mission = (
        item(0, 16),
        item(1, 16, 8.0, 0.0),
        item(2, MissionCommand.DO_CHANGE_SPEED),
        item(3, 16, 8.0, -3.5),
    )
    plan = PlanReader(FRAME).plan(1, belief(mission, home=item(0, 16, 1.0, 2.0)))
    assert plan["home"] == pytest.approx((1.0, 2.0), abs=0.02)
    assert [seq for seq, *_ in plan["mission"]] == [1, 3]
    assert plan["mission"][1][1:] == pytest.approx((8.0, -3.5), abs=0.02)
    assert plan["fence"] == []


def test_fences_become_polygons_and_circles():
    corners = ((0.0, 0.0), (10.0, 0.0), (10.0, 5.0))
    fence = (
        *(
            item(i, MissionCommand.FENCE_POLYGON_INCLUSION, n, e, 3)
            for i, (n, e) in enumerate(corners)
        ),
        item(3, MissionCommand.FENCE_CIRCLE_EXCLUSION, 4.0, 2.0, 1.5),
    )
    polygon, circle = PlanReader(FRAME).plan(1, belief(fence=fence))["fence"]
    assert polygon["inside"]
    assert polygon["corners"][1] == pytest.approx((10.0, 0.0), abs=0.02)
    assert len(polygon["corners"]) == 3
    assert not circle["inside"]
    assert circle["radius_m"] == 1.5


def test_an_unchanged_plan_is_the_same_object():
    reader = PlanReader(FRAME)
    mission = (item(0, 16), item(1, 16, 5.0))
    first = reader.plan(1, belief(mission))
    assert reader.plan(1, belief(mission)) is first
    assert reader.plan(1, belief((*mission, item(2, 16, 9.0)))) != first
