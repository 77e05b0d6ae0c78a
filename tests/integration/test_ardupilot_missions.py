"""Every rover mission of ArduPilot's own autotest loads and runs on the built-in autopilot.

They are read where ArduPilot's sources are (PICO_GZ_ARDUPILOT) and are no part of this repository.
"""

import os
import sys
from pathlib import Path

import pytest

from pico_gz.core.ground_control import MissionType, Result
from pico_gz.run.config.mission_check import refusals
from pico_gz.vehicle.autopilot.mission_files import read_item_lists

VARIABLE = "PICO_GZ_ARDUPILOT"
FOLDER = Path("Tools/autotest/ArduRover_Tests")
HEADER = "QGC WPL 110"
LOITER_UNLIMITED = 17
pytestmark = pytest.mark.ardupilot


def waypoint_files():
    root = Path(os.environ.get(VARIABLE, "")) / FOLDER
    if VARIABLE not in os.environ or not root.is_dir():
        return []
    return [p for p in sorted(root.glob("*/*.txt")) if p.read_text().startswith(HEADER)]


FILES = waypoint_files()
NAMES = [f"{path.parent.name}/{path.name}" for path in FILES]


def test_there_are_files(record_property):
    if not FILES:
        pytest.skip(f"no ArduPilot sources: set {VARIABLE} to their folder")
    missions = [path for path in FILES if read_item_lists(path).mission]
    record_property("missions", len(missions))
    sys.stdout.write(f"{len(FILES)} files, of which {len(missions)} are missions\n")
    assert len(missions) >= 14


@pytest.mark.timeout(120)
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_it_loads_and_runs(path, sitl):
    lists = read_item_lists(path)
    for kind, items in zip(MissionType, lists, strict=True):
        assert refusals(kind, items) == []
    if not lists.mission:
        assert lists.fence
        return
    home = lists.mission[0]
    fleet = sitl(
        rovers=1,
        rover={"preset": "ardupilot_skid"},
        origin={"lat_deg": home.lat_e7 * 1e-7, "lon_deg": home.lon_e7 * 1e-7},
    )
    rover = fleet.rovers[0]
    rover.upload_mission(path)
    rover.arm()
    assert rover.pilot.start_mission() is Result.ACCEPTED
    ends = [item.seq for item in lists.mission if item.command == LOITER_UNLIMITED]

    def over(rover):
        return rover.status.done or rover.status.waypoint in ends

    rover.wait_until(over, timeout_sim_s=1500.0)
    assert rover.armed
    assert rover.mode == "AUTO"
    assert ends or rover.status.done
