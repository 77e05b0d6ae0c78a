import math

import pytest
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav
from real_vehicle import RealVehicle

from pico_gz.core.ground_control import Mode, Result
from pico_gz.errors import ConfigError

LAT, LON = 356_812_360, 1_397_671_250
NAN = math.nan


@pytest.fixture
def ground():
    return Ground()


@pytest.fixture
def station(ground):
    return ground.station()


@pytest.mark.parametrize(
    ("number", "params", "call"),
    [
        (20, (), ("set_mode", 11)),
        (176, (1, 10), ("set_mode", 10)),
        (176, (81, 4), ("set_mode", 4)),
        (178, (1, 0.7), ("change_speed", pytest.approx(0.7))),
        (193, (0,), ("set_paused", True)),
        (193, (1,), ("set_paused", False)),
        (194, (1,), ("set_reverse", True)),
        (241, (1, 0, 0, 0, 0, 0, 0), ("calibrate", 1, 0, 0, 0, 0, 0, 0)),
        (245, (1,), ("flush_params",)),
        (245, (2,), ("reset_params",)),
        (246, (1,), ("reboot",)),
        (300, (2, 0), ("start_mission", 2)),
        (400, (1,), ("arm", False)),
        (400, (1, 21196), ("arm", True)),
        (400, (0,), ("disarm", False)),
        (401, (), ("prearm_checks",)),
    ],
)
@pytest.mark.parametrize("as_int", [False, True])
def test_commands_reach_the_vehicle(ground, station, number, params, call, as_int):
    if as_int:
        four = (*params, 0, 0, 0, 0)[:4]
        assert station.command_int(number, four) == Result.ACCEPTED
    else:
        assert station.command(number, *params) == Result.ACCEPTED
    assert call in ground.vehicle.calls


@pytest.mark.parametrize(
    ("number", "params", "result"),
    [
        (176, (NAN, 10), 2),
        (176, (1, NAN), 2),
        (176, (1, 1e30), 2),
        (176, (0, 10), 3),
        (176, (1, 99), 4),
        (178, (1, NAN), 2),
        (178, (1, -1), 2),
        (179, (0, 0, 0, 0, NAN, 0, 0), 2),
        (179, (0, 0, 0, 0, 91, 0, 0), 2),
        (179, (0, 0, 0, 0, 35, 139, math.inf), 2),
        (179, (0, 0, 0, 0, 0, 0, 0), 2),
        (193, (2,), 2),
        (194, (NAN,), 2),
        (224, (-1,), 2),
        (224, (60000,), 4),
        (241, (NAN,), 2),
        (245, (0,), 0),
        (245, (3,), 3),
        (245, (NAN,), 2),
        (246, (2,), 3),
        (246, (NAN,), 3),
        (300, (NAN,), 2),
        (400, (NAN,), 2),
        (400, (2,), 2),
        (519, (1,), 3),
        (520, (0,), 2),
        (512, (NAN,), 2),
        (512, (300,), 3),
        (512, (395,), 3),
        (512, (397,), 3),
        (512, (435, 99), 2),
        (31999, (), 3),
        (65535, (), 3),
        (0, (), 3),
    ],
)
def test_every_command_is_answered(station, number, params, result):
    assert station.command(number, *params) == result


def test_the_unknown_is_unsupported_at_once(ground, station):
    known = {20, 176, 178, 179, 192, 193, 194, 224, 241, 245, 246, 300, 400, 401}
    known |= {410, 420, 510, 511, 512, 520, 42428}
    for number in set(range(0, 65536, 97)) - known:
        assert station.command(number) == Result.UNSUPPORTED
    assert ground.vehicle.calls == []


def test_a_command_that_breaks_the_autopilot_is_answered_too(ground, station):
    def broken():
        raise RuntimeError("broken autopilot")

    ground.vehicle.prearm_checks = broken
    assert station.command(401) == Result.FAILED
    assert ground.counters.handler_errors == 1


def test_the_answer_names_the_asker(ground):
    station = ground.station(system_id=77, component=12)
    station.take()
    station.send(mav.MAVLink_command_long_message(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0))
    (ack,) = station.take("COMMAND_ACK")
    assert (ack.target_system, ack.target_component) == (77, 12)


def test_a_refused_arming_says_why_in_a_text(ground, station):
    ground.vehicle.arm_result = Result.FAILED
    answers = station.ask(
        mav.MAVLink_command_long_message(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0),
        "COMMAND_ACK",
        "STATUSTEXT",
    )
    assert [a.get_type() for a in answers] == ["COMMAND_ACK", "STATUSTEXT"]
    assert answers[0].result == 4
    assert "no position" in answers[1].text


def test_home(ground, station):
    assert station.command(179, 0, 0, 0, 0, 35.5, 139.5, 12.0) == 0
    assert ground.vehicle.home == (pytest.approx(355_000_000, abs=20), 1_395_000_000, 12.0)
    assert station.command_int(179, (0, 0, 0, 0), LAT, LON, 5.0, frame=mav.MAV_FRAME_GLOBAL) == 0
    assert ground.vehicle.home == (LAT, LON, 5.0)
    over_home = mav.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
    assert station.command_int(179, (0, 0, 0, 0), LAT, LON, 2.0, frame=over_home) == 0
    assert ground.vehicle.home == (LAT, LON, 7.0)
    assert station.command(179, 1) == 0
    assert ground.vehicle.home[0] == LAT + 1
    answers = station.ask(
        mav.MAVLink_command_long_message(1, 1, 410, 0, 0, 0, 0, 0, 0, 0, 0),
        "HOME_POSITION",
        "COMMAND_ACK",
    )
    assert {a.get_type() for a in answers} == {"HOME_POSITION", "COMMAND_ACK"}


def test_reposition_wants_integers(ground, station):
    assert station.command(192, -1, 1, 0, NAN, 35.0, 139.0, 0) == 8
    assert station.command_int(192, (-1, 1, 0, NAN), LAT, LON) == 0
    assert ground.vehicle.calls[-1] == ("guide_to_global", LAT, LON, None, True)
    assert station.command_int(192, (0.5, 0, 0, NAN), LAT, LON) == 0
    assert ground.vehicle.calls[-1] == ("guide_to_global", LAT, LON, 0.5, False)
    assert station.command_int(192, (0.5, 0, 0, NAN), 2**31 - 1, LON) == 2
    assert station.command_int(192, (0.5, NAN, 0, NAN), LAT, LON) == 2


@pytest.mark.parametrize("frame", [mav.MAV_FRAME_LOCAL_NED, mav.MAV_FRAME_BODY_FRD, 99])
@pytest.mark.parametrize("number", [179, 192])
def test_a_place_in_another_frame_is_denied(ground, station, number, frame):
    before = (ground.vehicle.home, list(ground.vehicle.calls))
    assert station.command_int(number, (0, 1, 0, 0), 100_000, 100_000, frame=frame) == 2
    assert station.command_int(number, (0, 1, 0, 0), 0, 0) == 2
    assert (ground.vehicle.home, ground.vehicle.calls) == before


def test_set_mode_the_old_way(ground, station):
    (ack,) = station.ask(mav.MAVLink_set_mode_message(1, 1, 10), "COMMAND_ACK")
    assert (ack.command, ack.result) == (11, 0)
    assert ground.vehicle.mode is Mode.AUTO
    (ack,) = station.ask(mav.MAVLink_set_mode_message(1, 0, 4), "COMMAND_ACK")
    assert ack.result == 3
    (ack,) = station.ask(mav.MAVLink_set_mode_message(1, 1, 2**32 - 1), "COMMAND_ACK")
    assert ack.result == 4


@pytest.mark.parametrize(
    ("msg_id", "name"),
    [
        (148, "AUTOPILOT_VERSION"),
        (0, "HEARTBEAT"),
        (242, "HOME_POSITION"),
        (437, "AVAILABLE_MODES_MONITOR"),
        (49, "GPS_GLOBAL_ORIGIN"),
        (30, "ATTITUDE"),
        (436, "CURRENT_MODE"),
        (193, "EKF_STATUS_REPORT"),
    ],
)
def test_a_requested_message_comes(station, msg_id, name):
    message = mav.MAVLink_command_long_message(1, 1, 512, 0, msg_id, 0, 0, 0, 0, 0, 0)
    answers = station.ask(message, name, "COMMAND_ACK")
    assert sorted(a.get_type() for a in answers) == sorted(["COMMAND_ACK", name])


def test_a_message_with_nothing_to_tell_fails(station):
    assert station.command(512, mav.MAVLINK_MSG_ID_POSITION_TARGET_GLOBAL_INT) == 4


def test_modes_all_or_one(station):
    ask = mav.MAVLink_command_long_message
    assert len(station.ask(ask(1, 1, 512, 0, 435, 0, 0, 0, 0, 0, 0), "AVAILABLE_MODES")) == 11
    (one,) = station.ask(ask(1, 1, 512, 0, 435, 3, 0, 0, 0, 0, 0), "AVAILABLE_MODES")
    assert (one.mode_index, one.mode_name) == (3, "STEERING")


def test_the_rest_of_the_questions(ground, station):
    (version,) = station.ask(mav.MAVLink_autopilot_version_request_message(1, 1))
    assert version.get_type() == "AUTOPILOT_VERSION"
    (entry,) = station.ask(mav.MAVLink_log_request_list_message(1, 1, 0, 65535))
    assert (entry.get_type(), entry.num_logs) == ("LOG_ENTRY", 0)
    ground.turn(sim_us=3_000_000)
    (sync,) = station.ask(mav.MAVLink_timesync_message(0, 123), "TIMESYNC")
    assert (sync.tc1, sync.ts1) == (3_000_000_000, 123)
    assert station.ask(mav.MAVLink_timesync_message(5, 123), "TIMESYNC") == []
    (origin,) = station.ask(mav.MAVLink_set_gps_global_origin_message(1, 1, 2, 3))
    assert (origin.get_type(), origin.latitude) == ("GPS_GLOBAL_ORIGIN", LAT)
    payload = list(
        b"\x01\x00\x00\x04\x10\x00\x00\x00\x00\x00\x00\x00@PARAM/param.pck".ljust(251, b"\0")
    )
    (ack,) = station.ask(mav.MAVLink_file_transfer_protocol_message(0, 1, 1, payload))
    assert (ack.payload[3], ack.target_system) == (128, 255)


def test_setup_signing_does_nothing(ground, station, caplog):
    key = list(range(32))
    assert station.ask(mav.MAVLink_setup_signing_message(1, 1, key, 0)) == []
    assert caplog.text == ""


def test_failures_are_injected_in_words():
    done = []
    ground = Ground(inject=lambda *words: done.append(words))
    station = ground.station()
    assert station.command(420, 4, 1, 0) == 0
    assert station.command(420, 101, 2, 0) == 0
    assert done == [(1, "gps", "off"), (1, "motor_left", "stuck"), (1, "motor_right", "stuck")]
    assert station.command(420, 8, 1, 0) == 3
    assert station.command(420, NAN, 1, 0) == 2


def test_failures_are_refused_without_a_switch_or_by_it():
    assert Ground().station().command(420, 4, 1, 0) == 3

    def refuse(*_):
        raise ConfigError("This adapter cannot do that.")

    assert Ground(inject=refuse).station().command(420, 4, 1, 0) == 3


@pytest.mark.parametrize("number", [181, 183, 207, 209, 218])
def test_commands_on_board_reach_the_vehicle(ground, station, number):
    assert station.command(number, 1, 2, 3, 4) == Result.ACCEPTED
    assert ground.vehicle.calls[-1] == ("do_command", number, (1, 2, 3, 4, 0, 0, 0))


def test_a_compass_calibration_reports_success_at_once():
    ground = Ground(RealVehicle())
    station = ground.station()
    assert station.command(42424) == Result.DENIED  # armed
    ground.vehicle.disarm()
    ground.run(0.1)
    message = mav.MAVLink_command_long_message(1, 1, 42424, 0, 0, 0, 0, 0, 0, 0, 0)
    answers = station.ask(message, "MAG_CAL_REPORT", "COMMAND_ACK")
    assert [a.get_type() for a in answers] == ["MAG_CAL_REPORT", "COMMAND_ACK"]
    assert answers[0].cal_status == 4
    assert answers[1].result == 0
    assert station.command(42425) == Result.ACCEPTED


def test_yaw_and_speed_is_a_guided_target(ground, station):
    assert station.command(213, 90, 0.5) == ground.vehicle.guided.velocity(None)
    assert station.command(213, float("nan"), 0.5) == Result.DENIED
