import pytest
from fake_vehicle import FakeVehicle
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav

from pico_gz.core.ground_control import StatusText
from pico_gz.mavlink.codec import frame, pack
from pico_gz.mavlink.signing import Signer

BEAT = mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3)


@pytest.fixture
def ground():
    return Ground()


def test_sequence_numbers_have_no_gap_for_any_receiver(ground):
    one, other = ground.station(255), ground.station(254)
    sequences = {255: [], 254: []}
    for turn in range(300):
        ground.run(0.05)
        if turn % 3 == 0:
            one.send(mav.MAVLink_param_request_read_message(1, 1, b"WP_RADIUS", -1))
        for station, key in ((one, 255), (other, 254)):
            sequences[key] += [m.get_seq() for m in station.take()]
    for numbers in sequences.values():
        assert len(numbers) > 256
        assert numbers == [n % 256 for n in range(len(numbers))]
    assert len(sequences[255]) > len(sequences[254])


def test_all_frames_carry_the_vehicles_id():
    ground = Ground(FakeVehicle(42))
    station = ground.station()
    ground.run(2.0)
    assert {(m.get_srcSystem(), m.get_srcComponent()) for m in station.take()} == {(42, 1)}


def test_a_mavlink_1_peer_is_answered_in_kind(ground):
    station = ground.station(v1=True)
    station.send(BEAT)
    ground.run(2.0)
    assert {raw[0] for raw in station.peer.frames} == {0xFE}
    messages = station.take()
    assert "HEARTBEAT" in {m.get_type() for m in messages}
    assert all(m.get_msgId() < 256 for m in messages)


def test_a_peer_that_ever_spoke_mavlink_2_gets_mavlink_2(ground):
    station = ground.station(v1=True)
    station.send(BEAT)
    station.v1 = False
    station.send(BEAT)
    station.v1 = True
    station.send(BEAT)
    station.take()
    ground.run(1.0)
    assert {raw[0] for raw in station.peer.frames} == {0xFD}


def test_texts_go_to_everybody_and_are_kept(ground):
    one, other = ground.station(255), ground.station(254)
    ground.vehicle.texts.append(StatusText(4, "Battery low"))
    ground.vehicle.reached.append(3)
    ground.turn()
    for station in (one, other):
        text, reached = station.take("STATUSTEXT", "MISSION_ITEM_REACHED")
        assert (text.severity, text.text) == (4, "Battery low")
        assert reached.seq == 3
        assert station.peer.kept[-2:] == [True, True]


def test_home_and_mode_are_told_when_they_change_and_to_newcomers(ground):
    station = ground.station()
    ground.run(3.0)
    names = [m.get_type() for m in station.take()]
    assert names.count("HOME_POSITION") == 1
    assert names.count("GPS_GLOBAL_ORIGIN") == 1
    assert names.count("CURRENT_MODE") == 1
    ground.vehicle.set_home(1, 2, 3.0)
    ground.vehicle.set_mode(10)
    ground.run(1.0)
    home, mode = station.take("HOME_POSITION", "CURRENT_MODE")[::-1]
    assert (home.latitude, home.longitude, home.altitude) == (1, 2, 3000)
    assert mode.custom_mode == 10
    late = ground.station(254)
    ground.run(1.0)
    assert len(late.take("HOME_POSITION")) == 1


def test_a_message_for_another_component_is_not_ours(ground):
    station = ground.station()
    message = mav.MAVLink_command_long_message(1, 100, 400, 0, 1, 0, 0, 0, 0, 0, 0)
    assert station.ask(message, "COMMAND_ACK") == []
    assert not ground.vehicle.armed


def test_sysid_enforce_leaves_only_the_named_ground_station(ground):
    stranger, mine = ground.station(99), ground.station(255)
    ground.vehicle.params.set("SYSID_ENFORCE", 1)
    message = mav.MAVLink_command_long_message(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
    assert stranger.ask(message, "COMMAND_ACK") == []
    assert mine.command(400, 1) == 0


def test_a_handler_that_raises_harms_nothing_else(ground, caplog):
    station = ground.station()

    def broken(**_):
        raise RuntimeError("broken autopilot")

    ground.vehicle.arm = broken
    station.send(mav.MAVLink_command_long_message(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0))
    assert ground.counters.handler_errors == 1
    assert "broken autopilot" in caplog.text
    assert station.command(512, 148) == 0


def test_what_cannot_be_packed_is_counted_and_left_out(ground, caplog):
    import msgspec

    ground.vehicle.base = msgspec.structs.replace(ground.vehicle.base, lat_e7=2**40)
    station = ground.station()
    ground.run(2.0)
    names = {m.get_type() for m in station.take()}
    assert not names & {"GLOBAL_POSITION_INT", "AHRS2"}
    assert "ATTITUDE" in names
    assert ground.counters.encode_errors == 4


def test_signed_streams_can_be_read_with_the_key():
    key = bytes(range(32))
    ground = Ground(signer=Signer(key, 35_000_000_000_000))
    station = ground.station()
    ground.run(2.0)
    reader = mav.MAVLink(None)
    reader.signing.secret_key = key
    assert len(station.peer.frames) > 10
    for raw in station.peer.frames:
        assert reader.decode(bytearray(raw)).get_signed()


def test_gcs_heartbeats_reach_the_autopilot(ground):
    ground.station(77).send(BEAT)
    assert ground.vehicle.calls == [("gcs_heartbeat", 77)]


def test_an_unhandled_message_is_ignored(ground):
    station = ground.station()
    assert station.ask(mav.MAVLink_attitude_message(0, 0, 0, 0, 0, 0, 0)) == []


def test_closing_twice_is_fine(ground):
    station = ground.station()
    ground.endpoint.close()
    ground.endpoint.close()
    ground.run(2.0)
    assert station.take() == []


def test_a_closed_peer_is_not_written_to(ground):
    station = ground.station()
    station.peer.closed = True
    ground.run(2.0)
    assert station.take() == []


def test_the_packing_is_shared_between_receivers(ground):
    stations = [ground.station(n) for n in range(200, 208)]
    asked = []
    original = ground.vehicle.telemetry
    ground.vehicle.telemetry = lambda: asked.append(1) or original()
    ground.run(10.0)
    assert len(asked) <= 22
    assert all(len(station.take("ATTITUDE")) == 10 for station in stations)


def test_frame_is_what_a_plain_reader_expects():
    raw = frame(pack(BEAT), 0, 1)
    assert raw[:10] == bytes([0xFD, 9, 0, 0, 0, 1, 1, 0, 0, 0])
