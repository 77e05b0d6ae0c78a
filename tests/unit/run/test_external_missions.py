"""Missions and parameters of external vehicles reach their autopilots."""

import socket
import time

import pytest

from pico_gz.core.ground_control import MissionItem
from pico_gz.mavlink.codec import SplitCounters, StreamSplitter, decode, frame, mav, pack
from pico_gz.run.config import load_fleet
from pico_gz.run.external_missions import MissionUpload
from pico_gz.run.external_setup import make_mission_uploads, parameter_text
from pico_gz.vehicle.autopilot.mission_files import ItemLists

WAYPOINTS = """\
QGC WPL 110
0 1 0 16 0 0 0 0 35.681236 139.767125 40 1
1 0 3 16 0 0 0 0 35.681290 139.767125 0 1
2 0 3 93 2 0 0 0 0 0 0 1
"""


class FakeAutopilot:
    """Takes a mission over TCP as ArduRover does: asks for each item, then acknowledges."""

    def __init__(self, refuse=False):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.setblocking(False)
        self.peer = None
        self.splitter = StreamSplitter(SplitCounters())
        self.refuse = refuse
        self.items = []
        self.counts = []
        self.wanted = 0
        self.status = mav.MAV_STATE_BOOT

    @property
    def address(self):
        return self.server.getsockname()

    def send(self, message):
        self.peer.sendall(frame(pack(message), 0, 5))

    def step(self):
        if self.peer is None:
            try:
                self.peer, _ = self.server.accept()
            except BlockingIOError:
                return
            self.peer.setblocking(False)
        self.send(mav.MAVLink_heartbeat_message(10, 3, 0, 0, self.status, 3))
        try:
            data = self.peer.recv(65536)
        except BlockingIOError:
            return
        for message in map(decode, self.splitter.feed(data, 0)):
            self.take(message)

    def take(self, message):
        kind = message.mission_type
        if message.get_type() == "MISSION_COUNT":
            self.counts.append(message.count)
            self.items, self.wanted = [], message.count
        else:
            self.items.append(message)
        if len(self.items) < self.wanted:
            request = mav.MAVLink_mission_request_int_message(250, 1, len(self.items), kind)
            self.send(request)
        else:
            self.send(mav.MAVLink_mission_ack_message(250, 1, 3 if self.refuse else 0, kind))

    def close(self):
        self.server.close()
        if self.peer is not None:
            self.peer.close()


@pytest.fixture
def autopilot():
    autopilot = FakeAutopilot()
    yield autopilot
    autopilot.close()


def exchange(upload, autopilot, seconds=10.0):
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        upload(0)
        if upload.is_done():  # and the connection closed
            return
        autopilot.step()
        time.sleep(0.001)


def lists(*commands):
    return ItemLists(tuple(MissionItem(seq=n, command=c) for n, c in enumerate(commands)))


def test_a_mission_is_uploaded_once_the_autopilot_is_ready(autopilot):
    said = []
    upload = MissionUpload(
        5, "scout", autopilot.address, lists(16, 16, 93), lambda text, severity: said.append(text)
    )
    exchange(upload, autopilot, seconds=0.2)
    assert autopilot.counts == []  # still starting
    autopilot.status = mav.MAV_STATE_STANDBY
    exchange(upload, autopilot)
    assert [(item.seq, item.command) for item in autopilot.items] == [(0, 16), (1, 16), (2, 93)]
    assert said == ["scout: mission uploaded, 3 items."]
    upload.close()


def test_a_refusal_is_reported(autopilot):
    autopilot.refuse, autopilot.status = True, mav.MAV_STATE_STANDBY
    said = []
    upload = MissionUpload(
        5, "scout", autopilot.address, lists(16, 93), lambda *words: said.append(words)
    )
    exchange(upload, autopilot)
    ((text, severity),) = said
    assert text.startswith("scout refused its mission: unsupported. It holds NAV_DELAY (93)")
    assert severity == 3
    upload.close()


def test_a_mission_that_no_autopilot_took_is_reported(caplog):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    upload = MissionUpload(5, "scout", address, lists(16, 16), lambda *_: None)
    upload(0)
    upload.close()
    assert "scout never got its mission" in caplog.text


@pytest.fixture
def fleet(tmp_path):
    (tmp_path / "m.waypoints").write_text(WAYPOINTS)
    (tmp_path / "own.parm").write_bytes(b"\xef\xbb\xbf# mine\r\nWP_SPEED,0.45\r\nANY_NAME 3\r\n")
    path = tmp_path / "fleet.toml"
    path.write_text(
        "[fleet]\nautopilot = 'external'\n[[vehicle]]\nid = 5\nname = 'scout'\n"
        "mission = 'm.waypoints'\nparams = 'own.parm'\n[[vehicle]]\nid = 6\n"
    )
    return load_fleet(path, environ={})


def test_own_parameters_stand_in_the_file_of_an_external_vehicle(fleet):
    text = parameter_text(fleet.vehicle(5))
    assert "\nWP_SPEED,0.45\n" in text
    assert "\nANY_NAME 3\n" in text
    assert "WP_SPEED 0.7" not in text
    assert "\nCRUISE_SPEED 0.7\n" in text
    assert "WP_SPEED 0.7" in parameter_text(fleet.vehicle(6))


def test_only_external_vehicles_with_a_mission_get_one(fleet):
    (upload,) = make_mission_uploads(fleet, fleet.port_plan(), lambda *_: None)
    assert not upload.is_done()
    upload.close()
