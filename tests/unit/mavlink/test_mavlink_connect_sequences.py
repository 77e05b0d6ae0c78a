"""What QGroundControl and Mission Planner send when they connect, replayed step by step."""

import pytest
from fake_vehicle import FakeVehicle
from gcs_parameters import READ_AT_CONNECT
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav
from real_vehicle import RealVehicle, waypoints

from pico_gz.core.ground_control import MissionType

QGC_COMPONENT = 190


def request(msg_id, param2=0):
    return mav.MAVLink_command_long_message(1, 1, 512, 0, msg_id, param2, 0, 0, 0, 0, 0)


def ftp_open(path=b"@PARAM/param.pck", sequence=0):
    head = sequence.to_bytes(2, "little") + bytes([0, 4, len(path), 0, 0, 0]) + bytes(4)
    payload = list((head + path).ljust(251, b"\0"))
    return mav.MAVLink_file_transfer_protocol_message(0, 1, 1, payload)


@pytest.fixture(params=["fake", "real"])
def ground(request):
    vehicle = RealVehicle() if request.param == "real" else FakeVehicle(extra_params=120)
    vehicle.missions.replace(MissionType.MISSION, waypoints((8.0, 0.0), (8.0, 8.0)))
    return Ground(vehicle)


def load_parameters(ground, station, seconds=5.0):
    station.send(mav.MAVLink_param_request_list_message(1, 1))
    ground.run(seconds)
    values = station.take("PARAM_VALUE")
    assert {m.param_index for m in values} == set(range(values[0].param_count))
    return values


def check_parameters(ground, values, program):
    """What the program reads must be there; only a real vehicle has all of it."""
    held = {m.param_id: m.param_value for m in values}
    if isinstance(ground.vehicle, RealVehicle):
        assert set(READ_AT_CONNECT[program]) <= set(held)
    return held


def test_qgroundcontrol(ground):
    station = ground.station(255, QGC_COMPONENT)
    ground.run(1.5)
    beats = station.take("HEARTBEAT")
    assert (beats[0].type, beats[0].autopilot, beats[0].get_srcComponent()) == (10, 3, 1)
    station.send(mav.MAVLink_heartbeat_message(6, 8, 192, 0, 4, 3))

    # 1. Version, with an acknowledgement.
    answers = station.ask(request(148), "COMMAND_ACK", "AUTOPILOT_VERSION")
    assert {a.get_type() for a in answers} == {"COMMAND_ACK", "AUTOPILOT_VERSION"}
    (version,) = [a for a in answers if a.get_type() == "AUTOPILOT_VERSION"]
    assert version.flight_sw_version >> 24 == 4

    # 2. Modes: all at once.
    modes = station.ask(request(435), "AVAILABLE_MODES")
    assert len(modes) == modes[0].number_modes

    # 3. Component metadata, new and old: refused at once.
    for msg_id in (397, 395):
        (ack,) = station.ask(request(msg_id), "COMMAND_ACK")
        assert ack.result == 3

    # 4. Parameters by file: opened at once (their contents: see the tests of files).
    assert version.capabilities & 32
    (ack,) = station.ask(ftp_open(), "FILE_TRANSFER_PROTOCOL")
    assert ack.payload[3] == 128

    # 5. Parameters by message, and a gap filled by index.
    values = load_parameters(ground, station)
    held = check_parameters(ground, values, "QGroundControl 5.1.3")
    if isinstance(ground.vehicle, RealVehicle):
        # What makes it open the set-up page instead of the map: no compass offset may be 0, not
        # all of the accelerometer's, and the radio must not have ArduPilot's default ends.
        assert held["COMPASS_DEV_ID"]
        assert held["COMPASS_USE"]
        assert all(held[f"COMPASS_OFS_{axis}"] for axis in "XYZ")
        assert any(held[f"INS_ACCOFFS_{axis}"] for axis in "XYZ")
        assert held["RC1_MIN"] != 1100
    (again,) = station.ask(mav.MAVLink_param_request_read_message(1, 1, b"", 17), "PARAM_VALUE")
    assert again.param_id == values[17].param_id

    # 6. Mission, then fence and rally because of the capability bits.
    assert version.capabilities & 16_384
    assert version.capabilities & 32_768
    for kind, expected in ((0, 3), (1, 0), (2, 0)):
        message = mav.MAVLink_mission_request_list_message(1, 1, kind)
        (count,) = station.ask(message, "MISSION_COUNT")
        assert (count.count, count.mission_type) == (expected, kind)
    (home,) = station.ask(mav.MAVLink_mission_request_int_message(1, 1, 0, 0), "MISSION_ITEM_INT")
    assert home.command == 16
    ground.run(2.0)
    assert {m.total for m in station.take("MISSION_CURRENT")} == {2}
    assert station.ask(mav.MAVLink_mission_ack_message(1, 1, 0, 0)) == []


def test_mission_planner(ground):
    station = ground.station(255, QGC_COMPONENT)

    # 1. It waits for two heartbeats of component 1.
    ground.run(2.5)
    assert len(station.take("HEARTBEAT")) >= 2

    # 2. It says hello as MAVLink 1, 2 and signed; the last is dropped before it gets here
    #    (see the tests of the links), the others need no answer and end in MAVLink 2.
    hello = mav.MAVLink_statustext_message(6, b"Mission Planner 1.3.82")
    station.v1 = True
    assert station.ask(hello) == []
    station.v1 = False
    assert station.ask(hello) == []
    station.send(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 0, 3))
    assert not station.peer.v1

    # 3. Version, by the old message and by the old command.
    (version,) = station.ask(mav.MAVLink_autopilot_version_request_message(1, 1))
    assert version.get_type() == "AUTOPILOT_VERSION"
    message = mav.MAVLink_command_long_message(1, 1, 520, 0, 1, 0, 0, 0, 0, 0, 0)
    assert station.ask(message, "AUTOPILOT_VERSION")

    # 4. The banner, in which it looks for "rover".
    message = mav.MAVLink_command_long_message(1, 1, 42428, 0, 0, 0, 0, 0, 0, 0, 0)
    answers = station.ask(message, "STATUSTEXT", "COMMAND_ACK")
    assert [a.result for a in answers if a.get_type() == "COMMAND_ACK"] == [0]
    texts = [a.text for a in answers if a.get_type() == "STATUSTEXT"]
    assert any(text.startswith("ArduRover V4.6.0") for text in texts)

    # 5. Parameters by file, else by message: no holes, nothing numbered 65535.
    (ack,) = station.ask(ftp_open(), "FILE_TRANSFER_PROTOCOL")
    assert ack.payload[3] == 128
    values = load_parameters(ground, station)
    check_parameters(ground, values, "Mission Planner 1.3.83")
    assert [m.param_index for m in values] == list(range(ground.vehicle.params.count()))

    # 6. Rates.
    for stream_id, rate in ((2, 2), (6, 3), (10, 10), (11, 10), (12, 2), (1, 2), (3, 2)):
        station.send(mav.MAVLink_request_data_stream_message(1, 1, stream_id, rate, 1))
    station.take()
    ground.run(10.0)
    names = [m.get_type() for m in station.take()]
    for name, expected in (("ATTITUDE", 100), ("GLOBAL_POSITION_INT", 30), ("RC_CHANNELS", 20)):
        assert names.count(name) == pytest.approx(expected, abs=2)


def test_both_at_once_do_not_disturb_each_other(ground):
    one, other = ground.station(255), ground.station(254)
    for station in (one, other):
        station.send(mav.MAVLink_param_request_list_message(1, 1))
    ground.run(5.0)
    assert len(one.take("PARAM_VALUE")) == len(other.take("PARAM_VALUE"))
    (ack,) = one.ask(request(148), "COMMAND_ACK")
    assert ack.result == 0
    assert other.take("COMMAND_ACK") == []
