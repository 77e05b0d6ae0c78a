import pytest
from fake_vehicle import FakeVehicle
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav

from pico_gz.mavlink.streams import GROUPS, OFF, interval_from_rate


def count(messages, name):
    return sum(m.get_type() == name for m in messages)


@pytest.fixture
def ground():
    return Ground()


def test_every_group_comes_once_a_second_by_default(ground):
    station = ground.station()
    ground.run(10.0)
    messages = station.take()
    for _, message_ids in GROUPS.values():
        for msg_id in message_ids:
            name = mav.mavlink_map[msg_id].msgname
            if name not in ("SIMSTATE", "WIND", "POSITION_TARGET_GLOBAL_INT"):
                assert count(messages, name) == 10, name


def test_the_parameters_set_the_default_rates():
    vehicle = FakeVehicle()
    vehicle.params.set("SR0_EXTRA1", 10)
    vehicle.params.set("SR0_EXTRA2", 0)
    ground = Ground(vehicle)
    station = ground.station()
    ground.run(10.0)
    messages = station.take()
    assert count(messages, "ATTITUDE") == 100
    assert count(messages, "VFR_HUD") == 0


def test_a_changed_parameter_changes_a_running_stream(ground):
    station = ground.station()
    ground.run(1.0)
    station.send(mav.MAVLink_param_set_message(1, 1, b"SR0_EXTRA1", 4.0, 4))
    station.take()
    ground.run(10.0)
    assert count(station.take(), "ATTITUDE") == pytest.approx(40, abs=1)


def test_a_receiver_sets_its_own_rates_only(ground):
    one, other = ground.station(255), ground.station(254)
    one.send(mav.MAVLink_request_data_stream_message(1, 1, 10, 5, 1))
    ground.run(10.0)
    assert count(one.take(), "ATTITUDE") == pytest.approx(50, abs=1)
    assert count(other.take(), "ATTITUDE") == 10


def test_all_streams_at_once_and_off(ground):
    station = ground.station()
    station.send(mav.MAVLink_request_data_stream_message(1, 1, 0, 2, 1))
    ground.run(5.0)
    messages = station.take()
    assert count(messages, "VFR_HUD") == pytest.approx(10, abs=1)
    assert count(messages, "RAW_IMU") == pytest.approx(10, abs=1)
    station.send(mav.MAVLink_request_data_stream_message(1, 1, 0, 2, 0))
    station.take()
    ground.run(5.0)
    assert {m.get_type() for m in station.take()} == {"HEARTBEAT"}


@pytest.mark.parametrize("stream_id", [5, 7, 13, 255])
def test_a_group_that_does_not_exist_changes_nothing(ground, stream_id):
    station = ground.station()
    station.send(mav.MAVLink_request_data_stream_message(1, 1, stream_id, 50, 1))
    ground.run(2.0)
    assert count(station.take(), "ATTITUDE") == 2


def test_message_intervals(ground):
    station = ground.station()
    assert station.command(511, 30, 100_000) == 0
    ground.run(5.0)
    assert count(station.take(), "ATTITUDE") == pytest.approx(50, abs=1)
    assert station.command(511, 30, -1) == 0
    ground.run(2.0)
    assert count(station.take(), "ATTITUDE") == 0
    assert station.command(511, 30, 0) == 0
    ground.run(5.0)
    assert count(station.take(), "ATTITUDE") == pytest.approx(5, abs=1)


def test_a_message_is_never_faster_than_50_hz(ground):
    station = ground.station()
    station.command(511, 30, 1)
    ground.run(2.0, step_us=2_000)
    assert count(station.take(), "ATTITUDE") == pytest.approx(100, abs=1)


@pytest.mark.parametrize(
    ("params", "result"),
    [
        ((76, 100_000), 3),
        ((9999, 100_000), 3),
        ((float("nan"), 1), 2),
        ((30, float("nan")), 2),
        ((30, -2), 2),
        ((30, 1e12), 2),
        ((-1, 1), 2),
    ],
)
def test_intervals_that_cannot_be(ground, params, result):
    assert ground.station().command(511, *params) == result


def test_intervals_are_told(ground):
    station = ground.station()
    station.command(511, 30, 250_000)
    question = mav.MAVLink_command_long_message
    for msg_id, expected in ((30, 250_000), (74, 1_000_000), (242, -1), (76, 0), (0, 1_000_000)):
        answers = station.ask(
            question(1, 1, 510, 0, msg_id, 0, 0, 0, 0, 0, 0), "MESSAGE_INTERVAL", "COMMAND_ACK"
        )
        assert [a.get_type() for a in answers] == ["MESSAGE_INTERVAL", "COMMAND_ACK"]
        assert (answers[0].message_id, answers[0].interval_us) == (msg_id, expected)


@pytest.mark.parametrize("speed", [0.2, 1.0, 3.0])
def test_streams_follow_simulation_time(ground, speed):
    station = ground.station()
    ground.run(10.0, speed=speed)
    assert count(station.take(), "ATTITUDE") == 10


@pytest.mark.parametrize("speed", [8.0, 50.0, 200.0])
def test_a_receiver_that_speaks_gets_simulation_time_at_any_speed(ground, speed):
    station = ground.station()
    station.send(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
    station.send(mav.MAVLink_request_data_stream_message(1, 1, 10, 20, 1))
    ground.run(100.0, speed=speed, step_us=10_000)
    assert count(station.take(), "ATTITUDE") == pytest.approx(2000, abs=2)


@pytest.mark.parametrize("speed", [8.0, 50.0, 200.0])
def test_a_silent_receiver_is_held_to_four_times_the_rate_in_wall_time(ground, speed):
    station = ground.station()
    ground.run(10.0 * speed, speed=speed, step_us=20_000)
    assert count(station.take(), "ATTITUDE") == pytest.approx(40, abs=2)


def test_the_heartbeat_is_once_a_second_at_any_speed(ground):
    station = ground.station()
    ground.run(500.0, speed=50.0, step_us=20_000)
    assert count(station.take(), "HEARTBEAT") == pytest.approx(10, abs=1)
    ground.run(2.0, speed=0.2)
    assert count(station.take(), "HEARTBEAT") == pytest.approx(10, abs=1)


def test_a_paused_run_keeps_its_heartbeat_and_nothing_else(ground):
    station = ground.station()
    ground.run(3.0)
    station.take()
    for _ in range(500):
        ground.turn(wall_us=20_000)
    messages = station.take()
    assert count(messages, "HEARTBEAT") == 10
    assert len(messages) == 10


def test_streams_go_on_after_simulation_time_was_set_back(ground):
    station = ground.station()
    ground.run(30.0)
    station.take()
    ground.turn(sim_us=-25_000_000)
    ground.run(5.0)
    assert count(station.take(), "ATTITUDE") == pytest.approx(5, abs=1)


def test_a_late_turn_sends_once_not_the_missed_ones(ground):
    station = ground.station()
    ground.run(3.0)
    station.take()
    ground.turn(sim_us=10_000_000, wall_us=10_000_000)
    assert count(station.take(), "ATTITUDE") == 1
    ground.run(2.0)
    assert count(station.take(), "ATTITUDE") == 2


def test_a_fleet_does_not_send_all_at_once():
    starts = set()
    for vehicle_id in range(1, 21):
        ground = Ground(FakeVehicle(vehicle_id))
        station = ground.station()
        while not station.take("ATTITUDE"):
            ground.run(0.01)
        starts.add(ground.schedule.sim_us // 50_000)
    assert len(starts) >= 10


def test_a_peer_that_left_gets_nothing(ground):
    station = ground.station()
    ground.endpoint.detach(station.peer)
    ground.run(3.0)
    assert station.take() == []


def test_a_far_peer_must_keep_talking_before_it_gets_streams(ground):
    station = ground.station(near=False)
    beat = mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3)
    station.send(beat)
    ground.run(3.0)
    assert station.take() == []
    station.send(beat)
    ground.run(3.0)
    assert count(station.take(), "ATTITUDE") == 3


def test_a_far_peer_is_answered_all_the_same(ground):
    assert ground.station(near=False).command(512, 148) == 0


@pytest.mark.parametrize(
    ("rate_hz", "interval_us"),
    [(1.0, 1_000_000), (4, 250_000), (50, 20_000), (1000, 20_000), (0, OFF), (-1, OFF)],
)
def test_rates(rate_hz, interval_us):
    assert interval_from_rate(rate_hz) == interval_us
