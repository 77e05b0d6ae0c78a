import math

import pytest
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav

from pico_gz.core.ground_control import MissionType

ANSWERS = ("MISSION_ACK", "MISSION_REQUEST", "MISSION_REQUEST_INT", "MISSION_COUNT")
LAT, LON = 356_812_360, 1_397_671_250


def item(seq, *, kind=0, command=16, frame=3, x=LAT, y=LON, z=0.0, current=0, params=(0, 0, 0, 0)):
    return mav.MAVLink_mission_item_int_message(
        1, 1, seq, frame, command, current, 1, *params, x, y, z, kind
    )


def old_item(seq, *, x=35.681236, y=139.767125, z=0.0, kind=0, current=0):
    return mav.MAVLink_mission_item_message(1, 1, seq, 3, 16, current, 1, 0, 0, 0, 0, x, y, z, kind)


def count(n, kind=0):
    return mav.MAVLink_mission_count_message(1, 1, n, kind)


def upload(station, items, kind=0):
    """Upload as a ground station does and return the final result."""
    answers = station.ask(count(len(items), kind), *ANSWERS)
    while answers[-1].get_type() != "MISSION_ACK":
        request = answers[-1]
        assert request.mission_type == kind
        answers = station.ask(items[request.seq], *ANSWERS)
    assert answers[-1].mission_type == kind
    return answers[-1].type


def download(station, kind=0, *, as_int=True):
    (answer,) = station.ask(mav.MAVLink_mission_request_list_message(1, 1, kind), "MISSION_COUNT")
    ask = mav.MAVLink_mission_request_int_message if as_int else mav.MAVLink_mission_request_message
    items = []
    for seq in range(answer.count):
        items += station.ask(ask(1, 1, seq, kind), "MISSION_ITEM", "MISSION_ITEM_INT")
    return items


@pytest.fixture
def ground():
    return Ground()


@pytest.fixture
def station(ground):
    return ground.station()


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_what_is_uploaded_is_downloaded(station, kind):
    command = {0: 16, 1: 5001, 2: 5100}[kind]
    sent = [
        item(n, kind=kind, command=command, x=LAT + 7 * n, y=LON - 3 * n, z=n * 0.5)
        for n in range(20)
    ]
    assert upload(station, sent, kind) == 0
    back = download(station, kind)
    assert [(m.seq, m.x, m.y, m.z, m.command, m.mission_type) for m in back] == [
        (m.seq, m.x, m.y, m.z, m.command, kind) for m in sent
    ]
    assert {m.get_type() for m in back} == {"MISSION_ITEM_INT"}


def test_old_requests_get_old_items(station):
    upload(station, [item(n) for n in range(3)])
    back = download(station, as_int=False)
    assert {m.get_type() for m in back} == {"MISSION_ITEM"}
    assert back[0].x == pytest.approx(LAT * 1e-7, abs=4e-6)


def test_old_items_are_taken(ground, station):
    assert upload(station, [old_item(n) for n in range(3)]) == 0
    stored = ground.vehicle.missions.items(MissionType.MISSION)
    assert stored[1].lat_e7 == pytest.approx(LAT, abs=20)


def test_a_mavlink_1_station_is_asked_with_the_old_request(ground):
    station = ground.station(v1=True)
    (request,) = station.ask(count(2), *ANSWERS)
    assert request.get_type() == "MISSION_REQUEST"


def test_integer_coordinates_never_pass_through_a_float32(ground, station):
    upload(station, [item(0, x=356_812_361, y=-1_799_999_999)])
    stored = ground.vehicle.missions.items(MissionType.MISSION)[0]
    assert (stored.lat_e7, stored.lon_e7) == (356_812_361, -1_799_999_999)


def test_an_empty_upload_clears(ground, station):
    upload(station, [item(n) for n in range(3)])
    (ack,) = station.ask(count(0), *ANSWERS)
    assert ack.type == 0
    assert len(ground.vehicle.missions.items(MissionType.MISSION)) == 1


@pytest.mark.parametrize("n", [1001, 65535])
def test_too_many_items_are_refused(ground, station, n):
    (ack,) = station.ask(count(n), *ANSWERS)
    assert ack.type == 4
    assert len(ground.vehicle.missions.items(MissionType.MISSION)) == 1


@pytest.mark.parametrize("kind", [3, 100, 255])
def test_unknown_lists_are_unsupported(station, kind):
    for question in (
        count(3, kind),
        mav.MAVLink_mission_request_list_message(1, 1, kind),
        mav.MAVLink_mission_request_int_message(1, 1, 0, kind),
        mav.MAVLink_mission_write_partial_list_message(1, 1, 0, 0, kind),
    ):
        (ack,) = station.ask(question, *ANSWERS)
        assert (ack.type, ack.mission_type) == (3, kind)


def test_a_silent_sender_is_asked_five_times_then_the_upload_ends(ground, station):
    upload(station, [item(n) for n in range(3)])
    station.ask(count(4), *ANSWERS)
    station.send(item(0))
    station.take()
    ground.run(8.0)
    answers = station.take(*ANSWERS)
    assert [a.get_type() for a in answers] == ["MISSION_REQUEST_INT"] * 4 + ["MISSION_ACK"]
    assert all(a.seq == 1 for a in answers[:-1])
    assert answers[-1].type == 15
    assert len(ground.vehicle.missions.items(MissionType.MISSION)) == 3


def test_a_repeated_item_is_not_taken_twice(ground, station):
    station.ask(count(3), *ANSWERS)
    station.send(item(0))
    assert station.ask(item(0), *ANSWERS) == []
    (request,) = station.ask(item(1), *ANSWERS)
    assert request.seq == 2


def test_an_item_out_of_order_is_refused_and_the_upload_goes_on(ground, station):
    station.ask(count(3), *ANSWERS)
    (ack,) = station.ask(item(2), *ANSWERS)
    assert ack.type == 13
    for seq in range(3):
        answers = station.ask(item(seq), *ANSWERS)
    assert answers[-1].type == 0


def test_a_second_peer_is_denied_meanwhile(ground, station):
    other = ground.station(254)
    upload(station, [item(n) for n in range(2)])
    station.ask(count(3), *ANSWERS)
    for question in (count(5), item(0), mav.MAVLink_mission_clear_all_message(1, 1, 0)):
        (ack,) = other.ask(question, *ANSWERS)
        assert ack.type == 14
    assert len(download(other)) == 2  # reading the old one is fine
    for seq in range(3):
        answers = station.ask(item(seq), *ANSWERS)
    assert answers[-1].type == 0
    assert upload(other, [item(0)]) == 0


def test_two_vehicles_upload_independently():
    grounds = [Ground(), Ground()]
    stations = [ground.station() for ground in grounds]
    for station in stations:
        station.ask(count(2), *ANSWERS)
    for station in stations:
        station.send(item(0))
        assert station.ask(item(1), *ANSWERS)[-1].type == 0


def test_a_new_count_from_the_same_peer_starts_again(ground, station):
    station.ask(count(5), *ANSWERS)
    station.send(item(0))
    assert upload(station, [item(n) for n in range(2)]) == 0
    assert len(ground.vehicle.missions.items(MissionType.MISSION)) == 2


def test_the_sender_may_cancel(ground, station):
    other = ground.station(254)
    station.ask(count(5), *ANSWERS)
    station.send(mav.MAVLink_mission_ack_message(1, 1, 15, 0))
    assert upload(other, [item(0)]) == 0


def test_an_upload_ends_with_its_sender(ground, station):
    other = ground.station(254)
    station.ask(count(5), *ANSWERS)
    ground.endpoint.detach(station.peer)
    assert upload(other, [item(0)]) == 0


@pytest.mark.parametrize(
    ("bad", "result"),
    [
        (item(1, command=31000), 3),
        (item(1, x=900_000_001), 10),
        (item(1, y=-1_800_000_001), 11),
        (item(1, z=math.nan), 12),
        (item(1, z=math.inf), 12),
        (item(1, params=(math.inf, 0, 0, 0)), 5),
        (old_item(1, x=math.nan), 10),
        (old_item(1, y=math.inf), 11),
        (old_item(1, x=1e30), 10),
        (old_item(1, x=91.0), 10),
    ],
    ids=lambda value: None if isinstance(value, int) else value.get_type(),
)
def test_a_bad_item_ends_the_upload_and_the_old_list_stays(ground, station, bad, result):
    upload(station, [item(n) for n in range(5)])
    assert upload(station, [item(0), bad, item(2)]) == result
    assert len(ground.vehicle.missions.items(MissionType.MISSION)) == 5


def test_an_item_of_another_list_is_refused(station):
    station.ask(count(2), *ANSWERS)
    (ack,) = station.ask(item(0, kind=1, command=5001), *ANSWERS)
    assert ack.type == 5


def test_an_item_nobody_asked_for_is_an_error(station):
    (ack,) = station.ask(item(0), *ANSWERS)
    assert ack.type == 1


@pytest.mark.parametrize("seq", [1, 65535])
def test_reading_beyond_the_end_is_refused(station, seq):
    (ack,) = station.ask(mav.MAVLink_mission_request_int_message(1, 1, seq, 0), *ANSWERS)
    assert ack.type == 13


def test_part_of_a_list_can_be_replaced(ground, station):
    upload(station, [item(n) for n in range(6)])
    station.ask(mav.MAVLink_mission_write_partial_list_message(1, 1, 2, 3, 0), *ANSWERS)
    station.send(item(2, x=1))
    (ack,) = station.ask(item(3, x=2), *ANSWERS)
    assert ack.type == 0
    stored = ground.vehicle.missions.items(MissionType.MISSION)
    assert [one.lat_e7 for one in stored] == [LAT, LAT, 1, 2, LAT, LAT]


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (3, 2), (0, 6), (6, 6), (32767, 32767)])
def test_a_part_that_is_not_there_is_refused(station, first, last):
    upload(station, [item(n) for n in range(6)])
    message = mav.MAVLink_mission_write_partial_list_message(1, 1, first, last, 0)
    (ack,) = station.ask(message, *ANSWERS)
    assert ack.type == 13


def test_clearing_one_and_all(ground, station):
    upload(station, [item(n) for n in range(3)])
    upload(station, [item(0, kind=1, command=5001)], 1)
    (ack,) = station.ask(mav.MAVLink_mission_clear_all_message(1, 1, 1), *ANSWERS)
    assert (ack.type, ack.mission_type) == (0, 1)
    assert ground.vehicle.missions.items(MissionType.FENCE) == []
    assert len(ground.vehicle.missions.items(MissionType.MISSION)) == 3
    (ack,) = station.ask(mav.MAVLink_mission_clear_all_message(1, 1, 255), *ANSWERS)
    assert ack.type == 0
    assert len(ground.vehicle.missions.items(MissionType.MISSION)) == 1
    (ack,) = station.ask(mav.MAVLink_mission_clear_all_message(1, 1, 7), *ANSWERS)
    assert ack.type == 3


def test_set_current_is_answered_with_what_holds(ground, station):
    upload(station, [item(n) for n in range(5)])
    message = mav.MAVLink_mission_set_current_message
    assert station.ask(message(1, 1, 3), "MISSION_CURRENT")[0].seq == 3
    assert station.ask(message(1, 1, 65535), "MISSION_CURRENT")[0].seq == 3


def test_the_old_way_to_go_somewhere(ground, station):
    (ack,) = station.ask(item(0, current=2), *ANSWERS)
    assert ack.type == 0
    assert ground.vehicle.calls[-1] == ("guide_to_global", LAT, LON, None, False)
    (ack,) = station.ask(old_item(0, current=2, x=math.nan), *ANSWERS)
    assert ack.type == 10


def test_int_frames_are_stored_by_their_plain_number(ground, station):
    upload(station, [item(0, frame=5), item(1, frame=6), item(2, frame=11)])
    assert [one.frame for one in ground.vehicle.missions.items(MissionType.MISSION)] == [0, 3, 10]
