"""One switch for sensors, the radio and the ground link."""

import pytest

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.errors import ConfigError, UnknownVehicleError
from pico_gz.session.failures import FailureSwitch
from pico_gz.session.rc import RcFeeder
from pico_gz.testing import ScriptedAdapter


class Radio:
    """A source with a frame every time."""

    def poll(self, now_us):
        return (1500, 1500)

    def close(self) -> None:
        pass

    def save_state(self):
        return {}

    def load_state(self, state) -> None:
        pass


@pytest.fixture
def bridge():
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    yield bridge
    bridge.close()


def make_feeder(bridge) -> RcFeeder:
    return RcFeeder([(vehicle.platform, Radio()) for vehicle in bridge.vehicles()])


def test_a_lost_radio_gives_no_updates_until_it_is_mended(bridge):
    feeder = make_feeder(bridge)
    fail, platform = FailureSwitch(bridge, feeder), bridge.get_vehicle(1).platform
    feeder(10)
    fail(1, "rc", "off")
    feeder(20)
    assert platform.rc_read().timestamp_us == 10
    fail(1, "rc", "ok")
    feeder(30)
    assert platform.rc_read().timestamp_us == 30


def test_a_lost_radio_stays_lost_in_a_snapshot(bridge):
    bridge.before_step.add(make_feeder(bridge))
    other = SitlBridge()
    other.register_adapter(ScriptedAdapter())
    other.spawn_vehicle(VehicleConfig(id=1))
    feeder = make_feeder(other)
    other.before_step.add(feeder)
    FailureSwitch(other, feeder)(1, "rc", "off")
    bridge.restore(other.snapshot())
    bridge.step()
    assert bridge.get_vehicle(1).platform.rc_read() is None
    other.before_step.remove(feeder)
    with pytest.raises(ConfigError, match="hooks RcFeeder"):
        other.restore(bridge.snapshot())


def test_the_ground_link_is_switched_where_there_is_one(bridge):
    fail = FailureSwitch(bridge, None)
    with pytest.raises(ConfigError, match="ground link"):
        fail(1, "mavlink", "off")
    switched = []
    fail.link = lambda vehicle_id, kind: switched.append((vehicle_id, kind))
    fail(1, "mavlink", "off")
    assert switched == [(1, "off")]
    assert fail.active == {1: {"mavlink": "off"}}


@pytest.mark.parametrize(
    ("vehicle_id", "kind", "error"),
    [(1, "stuck", ConfigError), (9, "off", UnknownVehicleError)],
)
def test_what_cannot_be_is_refused(bridge, vehicle_id, kind, error):
    fail = FailureSwitch(bridge, make_feeder(bridge))
    with pytest.raises(error):
        fail(vehicle_id, "rc", kind)
