import pytest
from ground_station import Ground
from pymavlink.dialects.v20 import all as mav

from pico_gz.errors import ConfigError


@pytest.fixture
def ground():
    ground = Ground(inject=lambda _id, _unit, kind: ground.endpoint.set_link_failure(kind))
    return ground


def test_a_link_that_is_off_is_silent_both_ways_until_it_is_switched_on(ground):
    station = ground.station()
    assert station.command(420, 105, 1) == 0  # answered before it takes effect
    ground.run(0.1)
    station.take()
    ground.run(3.0)
    assert station.take() == []
    station.send(mav.MAVLink_command_long_message(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0))
    station.send(mav.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
    assert station.take() == []
    assert ground.vehicle.calls == []
    assert station.command(420, 105, 0) == 0
    ground.run(2.0)
    assert station.take("HEARTBEAT")
    assert station.command(400, 1) == 0


def test_an_intermittent_link_comes_and_goes(ground):
    station = ground.station()
    ground.endpoint.set_link_failure("intermittent")
    heard = []
    for _ in range(12):
        ground.run(1.0)
        heard.append(bool(station.take()))
    assert heard == [True, True, True, False, False, False] * 2


def test_other_failures_of_a_link_are_refused(ground):
    with pytest.raises(ConfigError, match="garbage"):
        ground.endpoint.set_link_failure("garbage")
    assert ground.station().command(420, 105, 3) == 3
