"""Aircraft in a fleet file: what becomes of them, and what is refused with its line."""

import pytest

from pico_gz.adapters.jsbsim.aircraft import AircraftSpec
from pico_gz.core.vehicle_config import AircraftChannels
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.recording.run_folder import config_as_dict, config_from_dict


@pytest.fixture
def load(tmp_path):
    def load(text, **overrides):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        return load_fleet(path, FleetOverrides(**overrides), environ={})

    return load


MIXED = """
[aircraft]
altitude_m = 200
airspeed_mps = 50

[[vehicle]]
adapter = "lightweight"

[[vehicle]]
adapter = "jsbsim"
gps = "m10"

[vehicle.aircraft]
airspeed_mps = 45
elevator_channel = 6
"""


def test_an_aircraft_beside_a_rover(load):
    rover, aircraft = load(MIXED).vehicles
    assert rover.aircraft is None
    assert rover.config.aircraft_channels is None
    assert aircraft.aircraft == AircraftSpec(altitude_m=200.0, airspeed_mps=45.0)
    assert aircraft.config.aircraft_channels == AircraftChannels(elevator=6)
    assert (aircraft.config.name, aircraft.config.autopilot) == ("aircraft_2", "script:circuit")
    assert (aircraft.rover.gps, aircraft.rover.encoder_ticks) == ("m10", 0)


def test_a_recording_keeps_it(load):
    fleet = load(MIXED)
    assert config_from_dict(config_as_dict(fleet)).vehicles == fleet.vehicles


def test_a_fleet_of_aircraft_stands_further_apart():
    fleet = default_fleet(2, FleetOverrides(adapter="jsbsim"), environ={})
    assert [plan.config.pose.east_m for plan in fleet.vehicles] == [0.0, 30.0]
    assert [plan.config.autopilot for plan in fleet.vehicles] == ["script:circuit"] * 2


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('preset = "ideal"', "vehicle[1].preset = \"ideal\": belongs to a rover"),
        ("wheel_base = 0.2", "vehicle[1].wheel_base = 0.2: belongs to a rover"),
        ("encoder_ticks = 20", "vehicle[1].encoder_ticks = 20: belongs to a rover"),
        ('autopilot = "script:square"', "drives rovers, not an aircraft"),
        ('autopilot = "script:circuit:5"', "makes no sense"),
        ("aircraft = { altitude_m = 100 }", "needs an airspeed"),
        ("aircraft = { airspeed_mps = 50 }", "On the runway an aircraft stands"),
        ("aircraft = { rudder_channel = 1 }", "share a servo channel"),
        ("aircraft = { throttle_channel = 33 }", "expected a whole number, 1..32"),
        ("aircraft = { wings = 2 }", "wings: unknown key"),
    ],
)  # fmt: skip
def test_what_an_aircraft_cannot_have(load, lines, words):
    with pytest.raises(ConfigError) as caught:
        load(f'[[vehicle]]\nadapter = "jsbsim"\n{lines}\n')
    assert words in str(caught.value)
    assert "line 3" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('aircraft = { model = "c172p" }', "belongs to an aircraft"),
        ('autopilot = "script:circuit"', "flies aircraft of jsbsim only"),
    ],
)
def test_what_a_rover_cannot_have(load, lines, words):
    with pytest.raises(ConfigError) as caught:
        load(f'[[vehicle]]\nadapter = "lightweight"\n{lines}\n')
    assert words in str(caught.value)


def test_an_aircraft_is_moved_to_no_other_simulator(load):
    with pytest.raises(ConfigError, match="aircraft_2 is an aircraft of jsbsim"):
        load(MIXED).with_adapters({2: "lightweight"})


def test_uneven_ground_is_named(load):
    fleet = load('[terrain]\nkind = "ramp"\n[[vehicle]]\nadapter = "jsbsim"\n')
    assert any("JSBSim's ground is level" in warning for warning in fleet.warnings)
