"""An aircraft's servo outputs, on the board and over the wire, and its airspeed key."""

import json
import math

import pytest

from pico_gz import SitlPlatform
from pico_gz.core.frames import quat_from_euler
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.units import pwm_from_throttle, throttle_from_pwm
from pico_gz.core.vehicle_config import AircraftChannels
from pico_gz.errors import ConfigError, MessageError
from pico_gz.vehicle.circuit import CircuitPilot, parse_circuit
from pico_gz.vehicle.external.connection import FdmConnection
from pico_gz.vehicle.external.external_vehicle import ArduPilotProfile, ExternalVehicle
from pico_gz.vehicle.external.records import RecordWriter
from pico_gz.vehicle.scripted import make_script
from pico_gz.wire.servo import encode_servo

CHANNELS = AircraftChannels(aileron=1, elevator=2, throttle=3, rudder=4)
AIRCRAFT = ExternalVehicle(vehicle_id=1, fdm_port=0, aircraft_channels=CHANNELS)


@pytest.mark.parametrize(
    ("pwm_us", "throttle"), [(1000, 0.0), (1500, 0.5), (2000, 1.0), (0, 0.0), (2500, 0.0)]
)
def test_a_throttle_without_reverse(pwm_us, throttle):
    assert throttle_from_pwm(pwm_us) == throttle
    if pwm_us in range(1000, 2001):
        assert pwm_from_throttle(throttle) == pwm_us


def test_the_board_gives_four_controls():
    platform = SitlPlatform(1, aircraft_channels=CHANNELS)
    silent = platform.collect_actuator_commands()
    assert (silent.motors, silent.servos) == ((0.0,), (0.0, 0.0, 0.0))
    for channel, pulse_us in ((1, 1600), (2, 1400), (3, 1750), (4, 2000)):
        platform.create_pwm(channel).set_pulse_us(pulse_us)
    wanted = platform.collect_actuator_commands()
    assert (wanted.motors, wanted.servos) == ((0.75,), (0.2, -0.2, 1.0))
    platform.hold_while_disarmed(lambda: False)
    held = platform.collect_actuator_commands()
    assert (held.motors, held.servos) == ((0.0,), (0.0, 0.0, 0.0))


def test_two_controls_share_no_channel():
    with pytest.raises(MessageError, match="share a servo channel"):
        AircraftChannels(aileron=2)


def test_pulses_of_the_wire_are_an_aircrafts():
    connection = FdmConnection(AIRCRAFT)
    # A closed throttle at its minimum does not look like an autopilot that still boots.
    pulses = [1600, 1400, 1000, 1500, *[0] * 12]
    for frame in (1, 2):  # the first one only connects
        connection.take(encode_servo(400, frame, pulses), ("127.0.0.1", 5000), 0.0)
    commands = connection.commands(7)
    assert (commands.motors, commands.servos) == ((0.0,), (0.2, -0.2, 0.0))


def test_records_of_an_aircraft_have_the_airspeed():
    truth = VehicleTruth(
        0, 1, 0.0, 0.0, -100.0,
        quat_from_euler(0.0, 0.1, math.pi / 2.0),
        velocity_ned_mps=(0.0, 50.0, 0.0),
        wind_ned_mps=(0.0, 5.0, 0.0),
    )  # fmt: skip
    writer = RecordWriter(AIRCRAFT, ArduPilotProfile.UP_TO_4_6)
    record = json.loads(writer.write(truth, None, 10_000))
    assert record["airspeed"] == pytest.approx(45.0 * math.cos(0.1))
    rover = RecordWriter(ExternalVehicle(vehicle_id=1, fdm_port=0), ArduPilotProfile.UP_TO_4_6)
    assert "airspeed" not in json.loads(rover.write(truth, None, 10_000))


@pytest.mark.parametrize("text", ["circuit:5", "circuit:x", "circuit:150,10", "circuit:1,2,3"])
def test_no_such_circuit(text):
    with pytest.raises(ConfigError):
        parse_circuit(text)


def test_scripts_know_what_they_move():
    assert isinstance(make_script("script:circuit:200,-1500"), CircuitPilot)
    with pytest.raises(ConfigError, match="is no aircraft"):
        CircuitPilot().start(SitlPlatform(1))
    with pytest.raises(ConfigError, match="not an aircraft"):
        make_script("square:5").start(SitlPlatform(1, aircraft_channels=CHANNELS))
