"""One switch for sensors, the radio and the ground link."""

import pytest

from pico_gz import LightweightAdapter, SitlBridge, VehicleConfig
from pico_gz.core.rover_spec import rover_spec
from pico_gz.errors import ConfigError, UnknownVehicleError
from pico_gz.run.commands import FailureSwitch, control_commands
from pico_gz.run.event_sources import SimParameterSync
from pico_gz.run.rc_setup import RcFeeder
from pico_gz.testing import ScriptedAdapter
from pico_gz.vehicle.external.fdm_server import SENT_FIELDS


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


class Server:
    """What the switch needs of the server of external autopilots."""

    def __init__(self) -> None:
        self.failing = {1: False}

    def vehicle_ids(self):
        return (1,)

    def sends(self, vehicle_id, field):
        return field in SENT_FIELDS

    def set_imu_failing(self, vehicle_id, failing) -> None:
        self.failing[vehicle_id] = failing


@pytest.fixture
def bridge():
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    yield bridge
    bridge.close()


def make_feeder(bridge) -> RcFeeder:
    return RcFeeder([(vehicle.platform, Radio()) for vehicle in bridge.vehicles])


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


def test_a_receiver_without_transmitter_may_say_its_failsafe_values(bridge):
    feeder = make_feeder(bridge)
    fail, platform = FailureSwitch(bridge, feeder), bridge.get_vehicle(1).platform
    fail(1, "rc", "wrong")
    feeder(10)
    assert platform.rc_read().channels_us[:4] == (1500, 1500, 950, 1500)
    fail(1, "rc", "ok")
    feeder(20)
    assert platform.rc_read().channels_us[:2] == (1500, 1500)


@pytest.mark.parametrize(("value", "kind"), [(0, "ok"), (1, "off"), (2, "wrong")])
def test_sim_rc_fail_is_the_same_switch(bridge, value, kind):
    class Vehicle:
        def drain_sim_changes(self):
            return {"SIM_RC_FAIL": float(value)}

    asked = []
    SimParameterSync(bridge, {1: Vehicle()}, lambda *words: asked.append(words))(0)
    assert asked == [(1, "rc", kind)]


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


@pytest.fixture
def switch():
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(seed=1))
    bridge.spawn_vehicle(VehicleConfig(id=1))
    fail = FailureSwitch(bridge, None)
    fail.external = Server()
    yield fail
    bridge.close()


@pytest.mark.parametrize("unit", ["gyro", "accel", "imu"])
def test_an_external_autopilot_sees_its_imu_fail(switch, unit):
    switch(1, unit, "off")
    assert switch.external.failing == {1: True}
    switch(1, unit, "ok")
    assert switch.external.failing == {1: False}


def test_mending_the_imu_mends_both_halves(switch):
    switch(1, "gyro", "off")
    switch(1, "accel", "stuck")
    switch(1, "gyro", "ok")
    assert switch.external.failing == {1: True}
    switch(1, "imu", "ok")
    assert switch.external.failing == {1: False}
    assert switch.active == {1: {}}


def test_links_and_imus_fail_again_after_a_restore(switch):
    bridge, links = switch._bridge, {}
    switch.link = links.__setitem__
    switch(1, "mavlink", "off")
    switch(1, "imu", "off")
    broken = bridge.snapshot()
    switch(1, "mavlink", "ok")
    switch(1, "imu", "ok")
    repaired = bridge.snapshot()
    bridge.restore(broken)
    assert (links, switch.external.failing) == ({1: "off"}, {1: True})
    bridge.restore(repaired)
    assert (links, switch.external.failing) == ({1: "ok"}, {1: False})


def test_what_an_external_autopilot_would_not_notice_is_refused(switch):
    for unit in ("gps", "compass", "baro", "encoder"):
        with pytest.raises(ConfigError, match="itself"):
            switch(1, unit, "off")
    assert switch.active == {}
    switch(1, "motor_left", "off")
    switch(1, "battery", "stuck")
    assert switch.active == {1: {"motor_left": "off", "battery": "stuck"}}


def test_records_with_further_keys_take_the_failure_and_say_who_does_not_read_them(switch):
    """Presets of other firmware send every sensor; a real ArduRover reads only its own keys."""
    switch.external.sends = lambda vehicle_id, field: True
    commands = control_commands(switch._bridge, switch, note_of=switch.note_of)
    answer = commands["fail"]({"id": 1, "unit": "gps", "type": "off"})
    assert answer["message"].startswith("gps of rover_1: off in its records. ArduRover simulates")
    for unit in ("imu", "battery", "motor_left"):
        answer = commands["fail"]({"id": 1, "unit": unit, "type": "off"})
        assert answer["message"] == f"{unit} of rover_1: off"


@pytest.mark.parametrize(
    ("spec", "unit"),
    [
        ({}, "range"),
        ({}, "rangefinder"),
        ({"encoder_ticks": 0}, "encoder"),
    ],
)
def test_a_unit_that_is_not_fitted_cannot_fail(spec, unit):
    bridge = SitlBridge()
    rover = rover_spec(overrides=spec)
    bridge.register_adapter(LightweightAdapter(seed=1, rover_of=lambda _: rover))
    bridge.spawn_vehicle(VehicleConfig(id=1))
    fail = FailureSwitch(bridge, None)
    with pytest.raises(ConfigError, match=f"Vehicle 1 has no unit '{unit}'"):
        fail(1, unit, "off")
    assert fail.active == {}
    for fitted in ("gyro", "accel", "imu", "mag", "gps", "baro", "battery"):
        fail(1, fitted, "off")
    bridge.close()


def test_a_fitted_rangefinder_can_fail():
    bridge = SitlBridge()
    rover = rover_spec(overrides={"rangefinders_deg": [0.0]})
    bridge.register_adapter(LightweightAdapter(seed=1, rover_of=lambda _: rover))
    bridge.spawn_vehicle(VehicleConfig(id=1))
    FailureSwitch(bridge, None)(1, "range", "off")
    bridge.close()
