import pytest
from fake_vehicle import FakeVehicle
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav


@pytest.fixture
def ground():
    return Ground()


def read(station, name=b"", index=-1):
    return station.ask(
        mav.MAVLink_param_request_read_message(1, 1, name, index), "PARAM_VALUE", "PARAM_ERROR"
    )


def write(station, name, value, kind=9):
    return station.ask(
        mav.MAVLink_param_set_message(1, 1, name, value, kind), "PARAM_VALUE", "PARAM_ERROR"
    )


def test_read_by_name_and_by_index(ground):
    station = ground.station()
    (by_name,) = read(station, b"WP_RADIUS")
    (by_index,) = read(station, index=by_name.param_index)
    assert by_name.param_id == by_index.param_id == "WP_RADIUS"
    assert (by_name.param_value, by_name.param_type) == (2.0, 9)
    assert by_name.param_count == ground.vehicle.params.count()


@pytest.mark.parametrize(
    ("name", "index"),
    [(b"NO_SUCH", -1), (b"", 32767), (b"", -1), (b"\xff\xfe\x80abc", -1), (b"WP_RADIUS", 9999)],
)
def test_what_does_not_exist_is_refused_at_once(ground, name, index):
    (answer,) = read(ground.station(), name, index)
    assert (answer.get_type(), answer.error) == ("PARAM_ERROR", 1)


def test_an_index_wins_over_a_name(ground):
    (answer,) = read(ground.station(), b"WP_RADIUS", 0)
    assert answer.param_id == "SYSID_THISMAV"


def test_set_is_answered_and_told_to_the_others(ground):
    station, other = ground.station(255), ground.station(254)
    answers = write(station, b"CRUISE_SPEED", 1.5)
    assert [a.param_value for a in answers] == [1.5]
    assert ground.vehicle.params.by_name("CRUISE_SPEED").value == 1.5
    (news,) = other.take("PARAM_VALUE")
    assert (news.param_id, news.param_value) == ("CRUISE_SPEED", 1.5)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        (b"CRUISE_SPEED", float("nan"), 9),
        (b"CRUISE_SPEED", float("inf"), 9),
        (b"CRUISE_SPEED", 1e9, 9),
        (b"CRUISE_SPEED", 1.5, 0),
        (b"CRUISE_SPEED", 1.5, 10),
        (b"CRUISE_SPEED", 1.5, 255),
        (b"MODE_CH", 2.5, 2),
        (b"MODE_CH", 99.0, 2),
        (b"MODE_CH", -1.0, 2),
    ],
)
def test_a_refused_value_is_answered_with_the_old_one(ground, name, value, kind):
    before = ground.vehicle.params.by_name(name.decode()).value
    answers = write(ground.station(), name, value, kind)
    assert [a.param_value for a in answers] == [before]
    assert ground.vehicle.params.by_name(name.decode()).value == before


def test_an_integer_may_travel_as_a_float(ground):
    assert write(ground.station(), b"MODE_CH", 5.0, 9)[0].param_value == 5.0
    assert write(ground.station(), b"MODE_CH", 6.0, 2)[0].param_type == 2


def test_setting_what_does_not_exist(ground):
    (answer,) = write(ground.station(), b"NO_SUCH", 1.0)
    assert answer.get_type() == "PARAM_ERROR"


def test_sim_parameters_are_parameters_like_others(ground):
    write(ground.station(), b"SIM_GPS_DISABLE", 1.0, 2)
    assert ground.vehicle.params.by_name("SIM_GPS_DISABLE").value == 1.0


def test_the_list_is_complete_in_order_and_goes_to_the_asker_only():
    ground = Ground(FakeVehicle(extra_params=200))
    station, other = ground.station(255), ground.station(254)
    station.send(mav.MAVLink_param_request_list_message(1, 1))
    ground.run(4.0)
    indexes = [m.param_index for m in station.take("PARAM_VALUE")]
    assert indexes == list(range(ground.vehicle.params.count()))
    assert other.take("PARAM_VALUE") == []


def test_the_list_is_paced_in_wall_time_and_also_while_paused():
    ground = Ground(FakeVehicle(extra_params=1000))
    station = ground.station()
    station.send(mav.MAVLink_param_request_list_message(1, 1))
    for _ in range(200):
        ground.turn(wall_us=20_000)
    assert len(station.take("PARAM_VALUE")) == pytest.approx(400, abs=4)


def test_asking_again_starts_again_but_does_not_double_the_pace():
    ground = Ground(FakeVehicle(extra_params=1000))
    station = ground.station()
    for _ in range(50):
        station.send(mav.MAVLink_param_request_list_message(1, 1))
        ground.turn(wall_us=20_000)
    assert len(station.take("PARAM_VALUE")) <= 104


def test_several_ground_stations_load_at_once():
    ground = Ground(FakeVehicle(extra_params=100))
    stations = [ground.station(system_id) for system_id in (255, 254, 253)]
    for station in stations:
        station.send(mav.MAVLink_param_request_list_message(1, 1))
    ground.run(3.0)
    for station in stations:
        assert len(station.take("PARAM_VALUE")) == ground.vehicle.params.count()


def test_a_list_ends_with_its_asker():
    ground = Ground(FakeVehicle(extra_params=1000))
    station = ground.station()
    station.send(mav.MAVLink_param_request_list_message(1, 1))
    ground.endpoint.detach(station.peer)
    station.take()
    ground.run(1.0)
    assert station.take("PARAM_VALUE") == []


def test_the_fleet_shares_a_budget():
    ground = Ground(FakeVehicle(extra_params=1000))
    ground.shared.param_budget.rate_per_s = 10
    ground.shared.param_budget.burst = 0
    ground.shared.param_budget.take(0, 1000)
    station = ground.station()
    station.send(mav.MAVLink_param_request_list_message(1, 1))
    ground.run(2.0)
    assert len(station.take("PARAM_VALUE")) <= 20
