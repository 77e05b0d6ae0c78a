"""A real ArduRover gets the mission, fence, rally points and parameters of the fleet file."""

import json
import math
import os
import signal
import subprocess
import threading
import time

import pytest
from ardurover_rig import AUTOPILOT, FIRST_ID, HOME, Ground, ground_port
from external_programs import need_ardurover

from pico_gz.core.ground_control import MissionType
from pico_gz.run.config import load_fleet
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.vehicle.autopilot.mission_files import read_item_lists

pytestmark = [
    pytest.mark.ardupilot,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("ardurover_release"),
]

VEHICLE_ID = FIRST_ID + 8
LIMIT_S = 90.0
WAYPOINT, DELAY, SET_SPEED = 16, 93, 178
FLEET = f"""
[fleet]
adapter = "lightweight"
autopilot = "external"
[rover]
preset = "ardupilot_skid"
[time]
speed = "max"
[origin]
lat_deg = {HOME.lat_deg}
lon_deg = {HOME.lon_deg}
alt_m = {HOME.alt_m}
[[vehicle]]
id = {VEHICLE_ID}
mavlink_port = {ground_port(VEHICLE_ID)}
mission = "round.plan"
params = "own.parm"
"""
# Of every release. The second one is also in what the kit writes, which is 3.0 for this rover.
PARAMETERS = {"WP_RADIUS": 1.25, "CRUISE_SPEED": 1.75, "CRASH_ANGLE": 44.0}
OWN_PARM = "# by hand\n" + "".join(f"{name},{value}\n" for name, value in PARAMETERS.items())


def place(north_m, east_m):
    lat_deg, lon_deg, _ = HOME.geodetic_from_ned(north_m, east_m, 0.0)
    return [round(lat_deg, 7), round(lon_deg, 7)]


def item(command, *params, north_m=0.0, east_m=0.0):
    where = place(north_m, east_m) if command == WAYPOINT else [0, 0]
    numbers = [*params, *[0] * (4 - len(params)), *where, 0]
    return {"type": "SimpleItem", "command": command, "frame": 3, "params": numbers}


def plan():
    corners = [place(-50.0, -50.0), place(50.0, -50.0), place(50.0, 50.0), place(-50.0, 50.0)]
    return {
        "fileType": "Plan",
        "mission": {
            "plannedHomePosition": [*place(0.0, 0.0), HOME.alt_m],
            "items": [
                item(WAYPOINT, north_m=12.0),
                item(SET_SPEED, 1, 1.5),
                item(WAYPOINT, 2.0, north_m=12.0, east_m=9.0),
                item(DELAY, 3.0),
                item(WAYPOINT, east_m=9.0),
            ],
        },
        "geoFence": {"circles": [], "polygons": [{"polygon": corners, "inclusion": True}]},
        "rallyPoints": {"points": [[*place(3.0, 4.0), 0.0]]},
    }


class Reader(Ground):
    """A ground station that asks for what the autopilot holds."""

    def __init__(self, vehicle_id):
        super().__init__(vehicle_id)
        self.counts = {}
        self.items = {kind: {} for kind in MissionType}

    def _on_mission_count(self, message):
        self.counts[message.mission_type] = message.count

    def _on_mission_item_int(self, message):
        self.items[message.mission_type][message.seq] = message

    def until(self, done, ask, what):
        """Poll until ``done``; every half a second call ``ask``."""
        end_s, ask_s = time.monotonic() + LIMIT_S, 0.0
        while not done():
            now_s = time.monotonic()
            assert now_s < end_s, f"{what}: {self.texts[-5:]}"
            if now_s >= ask_s:
                ask()
                ask_s = now_s + 0.5
            self.poll()
            time.sleep(0.01)

    def read_list(self, kind):
        """All items that the autopilot holds, in order."""
        self.counts.pop(kind, None)
        mav = self.link.mav
        self.until(
            lambda: kind in self.counts,
            lambda: mav.mission_request_list_send(self.vehicle_id, AUTOPILOT, kind),
            f"count of {kind.name}",
        )
        items, count = self.items[kind], self.counts[kind]
        for seq in range(count):
            self.until(
                lambda seq=seq: seq in items,
                lambda seq=seq: mav.mission_request_int_send(self.vehicle_id, AUTOPILOT, seq, kind),
                f"{kind.name} {seq}",
            )
        return [items[seq] for seq in range(count)]

    def read_parameter(self, name):
        self.until(
            lambda: name in self.parameters,
            lambda: self.link.mav.param_request_read_send(
                self.vehicle_id, AUTOPILOT, name.encode(), -1
            ),
            name,
        )
        return self.parameters[name]


class StartedLine:
    """The line that the kit prints for an ArduRover, pasted into a shell."""

    def __init__(self, line, log):
        before, found, after = line.partition("&& ardurover ")
        assert found, line
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            ["sh", "-c", f"{before}&& exec '{need_ardurover()}' {after}"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()


@pytest.fixture
def driven(tmp_path):
    """A run with one real ArduRover: its session and a ground station."""
    need_ardurover()
    (tmp_path / "fleet.toml").write_text(FLEET)
    (tmp_path / "round.plan").write_text(json.dumps(plan()))
    (tmp_path / "own.parm").write_text(OWN_PARM)
    fleet = load_fleet(tmp_path / "fleet.toml", environ={})
    options = RunOptions(run_folder=tmp_path / "runs", control=False, check_ports=False)
    ground = Reader(VEHICLE_ID)
    try:
        with FleetRun(fleet, options) as session:
            running = threading.Thread(target=session.run)
            with StartedLine(session.connection_lines()[-1], tmp_path / "ardurover.log"):
                running.start()
                try:
                    yield session, ground
                finally:
                    session.stop()
                    running.join(20.0)
    finally:
        ground.close()


def uploads(session):
    return [event.text for event in session.bridge.events.recent if event.kind == "mission"]


def test_missions_and_parameters_reach_a_real_ardurover(driven, tmp_path):
    session, ground = driven
    ground.until(lambda: len(uploads(session)) == 3, lambda: None, "uploads")
    label = f"rover_{VEHICLE_ID}"
    sent = read_item_lists(tmp_path / "round.plan")
    assert uploads(session) == [
        f"{label}: mission uploaded, {len(sent.mission)} items.",
        f"{label}: fence uploaded, {len(sent.fence)} items.",
        f"{label}: rally uploaded, {len(sent.rally)} items.",
    ]
    for kind in MissionType:
        expected = getattr(sent, kind.name.lower())
        found = ground.read_list(kind)
        assert [one.command for one in found] == [one.command for one in expected]
        # Home, which is item 0 of a mission, is where the autopilot itself is.
        for one, wanted in list(zip(found, expected, strict=True))[kind is MissionType.MISSION :]:
            assert (one.x, one.y) == (wanted.lat_e7, wanted.lon_e7), (kind, wanted)
            assert math.isclose(one.param1, wanted.param1, abs_tol=1e-3), (kind, wanted)
            assert math.isclose(one.param2, wanted.param2, abs_tol=1e-3), (kind, wanted)
    for name, value in PARAMETERS.items():
        assert ground.read_parameter(name) == pytest.approx(value), name
    # What the kit adds for the rover is in effect too.
    assert ground.read_parameter("SERVO3_FUNCTION") == 74.0
