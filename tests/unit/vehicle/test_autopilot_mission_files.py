"""Mission files of QGroundControl and Mission Planner."""

import json

import pytest

from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot.mission_files import (
    read_item_lists,
    read_mission_file,
)

WAYPOINTS = """QGC WPL 110
0\t1\t0\t16\t0\t0\t0\t0\t35.6812360\t139.7671250\t40.000000\t1
1\t0\t3\t16\t2.50000000\t0\t0\t0\t35.6814160\t139.7671250\t0.000000\t1
2\t0\t3\t177\t1\t2\t0\t0\t0.0\t0.0\t0.000000\t1
"""

PLAN = {
    "fileType": "Plan",
    "version": 1,
    "groundStation": "QGroundControl",
    "mission": {
        "version": 2,
        "plannedHomePosition": [35.681236, 139.767125, 40],
        "items": [
            {
                "type": "SimpleItem",
                "command": 16,
                "frame": 3,
                "autoContinue": True,
                "doJumpId": 1,
                "params": [0, 0, 0, None, 35.681416, 139.767125, 0],
            },
            {
                "type": "ComplexItem",
                "complexItemType": "survey",
                "TransectStyleComplexItem": {
                    "Items": [
                        {
                            "type": "SimpleItem",
                            "command": 16,
                            "frame": 3,
                            "params": [0, 0, 0, None, 35.6815, 139.7672, 0],
                        }
                    ]
                },
            },
        ],
    },
    "geoFence": {
        "version": 2,
        "circles": [{"circle": {"center": [35.68, 139.76], "radius": 50}, "inclusion": True}],
        "polygons": [
            {"polygon": [[35.68, 139.76], [35.69, 139.76], [35.69, 139.77]], "inclusion": False}
        ],
    },
    "rallyPoints": {"version": 2, "points": [[35.68, 139.76, 5]]},
}


def test_waypoints_file(tmp_path):
    path = tmp_path / "square.waypoints"
    path.write_text(WAYPOINTS)
    home, first, jump = read_mission_file(path)
    assert (home.lat_e7, home.lon_e7, home.alt_m, home.frame) == (356812360, 1397671250, 40.0, 0)
    assert (first.param1, first.lat_e7, first.frame) == (2.5, 356814160, 3)
    assert (jump.command, jump.param1, jump.param2) == (177, 1.0, 2.0)


def test_a_byte_order_mark_is_no_part_of_a_mission(tmp_path):
    path = tmp_path / "square.waypoints"
    path.write_bytes(b"\xef\xbb\xbf" + WAYPOINTS.encode())
    assert len(read_mission_file(path)) == 3


def test_plan_file(tmp_path):
    path = tmp_path / "square.plan"
    path.write_text(json.dumps(PLAN))
    lists = read_item_lists(path)
    assert [item.seq for item in lists.mission] == [0, 1, 2]
    assert lists.mission[0].lat_e7 == 356812360
    assert lists.mission[1].param4 == 0.0
    assert lists.mission[2].lon_e7 == 1397672000
    assert [item.command for item in lists.fence] == [5003, 5002, 5002, 5002]
    assert [item.param1 for item in lists.fence] == [50.0, 3.0, 3.0, 3.0]
    assert lists.rally[0].alt_m == 5.0


def test_a_plan_without_items_has_home_only(tmp_path):
    path = tmp_path / "empty.plan"
    path.write_text(json.dumps({**PLAN, "mission": {"items": []}}))
    assert len(read_mission_file(path)) == 1


def test_places_keep_every_digit(tmp_path):
    places = [(-353632621 + n, n - 3) for n in range(7)]
    lines = [
        f"{n}\t0\t3\t16\t0\t0\t0\t0\t{lat * 1e-7:.7f}\t{lon * 1e-7:.7f}\t0\t1"
        for n, (lat, lon) in enumerate(places)
    ]
    path = tmp_path / "a.waypoints"
    path.write_text("\n".join(["QGC WPL 110", *lines]) + "\n")
    assert [(i.lat_e7, i.lon_e7) for i in read_mission_file(path)] == places
    items = [
        {
            "type": "SimpleItem",
            "command": 16,
            "frame": 3,
            "params": [0, 0, 0, None, lat * 1e-7, lon * 1e-7, 0],
        }
        for lat, lon in places
    ]
    path = tmp_path / "a.plan"
    path.write_text(json.dumps({**PLAN, "mission": {"items": items}}))
    assert [(i.lat_e7, i.lon_e7) for i in read_mission_file(path)[1:]] == places


def changed(path, value):
    plan = json.loads(json.dumps(PLAN))
    target = plan
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return json.dumps(plan)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither a plan nor a waypoint file"),
        ("hello", "neither a plan nor a waypoint file"),
        ("{", "no JSON"),
        ("{}", "fileType"),
        ('{"fileType": "Plan", "mission": 3}', "'mission' is no object"),
        (WAYPOINTS.replace("\t1\n", "\n", 1), "item 0 has 11 columns"),
        (WAYPOINTS.replace("2.50000000", "soon"), "item 1: 'soon' is no number"),
        (WAYPOINTS.replace("2.50000000", "nan"), "item 1: 'nan' is no finite number"),
        (WAYPOINTS.replace("35.6814160", "335.6"), "item 1: 335.6 degrees is not on the globe"),
        (changed(["mission", "items", 0, "params"], [1]), "item 1 does not have 7 params"),
        (changed(["mission", "items", 0], 7), "item 1 is no object"),
        (changed(["mission", "items", 1], {"type": "ComplexItem"}), "cannot be driven"),
        (changed(["mission", "items"], 7), "no list"),
        (changed(["rallyPoints", "points"], [[1]]), "item 0 has no place"),
        (changed(["rallyPoints", "points"], 7), "'points' is no list"),
        (changed(["geoFence", "circles"], ["x"]), "'circles' is no list of objects"),
        (changed(["geoFence", "polygons"], [{"polygon": 3}]), "'polygon' is no list"),
        (WAYPOINTS.replace("\n1\t", "\n4\t"), "item 1 has the number 4"),
    ],
)
def test_bad_files_name_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "bad.plan"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read_mission_file(path)
    assert "bad.plan" in caught.value.message


def test_missing_and_huge_files(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_mission_file(tmp_path / "none.plan")
    path = tmp_path / "huge.plan"
    path.write_text(" " * 5_000_001)
    with pytest.raises(ConfigError, match="larger than"):
        read_mission_file(path)
