"""The binary wire webots-python: packets, records, and a vehicle served over it."""

import math
import struct

import pytest

from pico_gz.core.frames import quat_from_euler
from pico_gz.core.messages import VehicleTruth
from pico_gz.errors import DecodeError, EncodeError
from pico_gz.vehicle.external.connection import Arrival, FdmConnection
from pico_gz.vehicle.external.external_vehicle import ArduPilotProfile, ExternalVehicle, FdmWire
from pico_gz.vehicle.external.records import RecordWriter
from pico_gz.wire.state import decode_state
from pico_gz.wire.webots import decode_webots_servo, encode_webots_servo, encode_webots_state

PWM_US = (1500, 0, 1503, 1000, 2000, *[1100] * 11)
ZERO = (0.0, 0.0, 0.0)
PEER = ("127.0.0.1", 9003)


def test_every_pulse_width_comes_back_through_a_float():
    for first in range(0, 2501, 16):
        pwm_us = tuple(range(first, first + 16))
        assert decode_webots_servo(encode_webots_servo(pwm_us)) == pwm_us


@pytest.mark.parametrize(
    "data", [b"", bytes(63), bytes(128), struct.pack("<16f", *[math.nan] * 16)]
)
def test_what_is_no_packet_is_refused(data):
    with pytest.raises(DecodeError):
        decode_webots_servo(data)


def test_a_record_is_sixteen_doubles_in_their_order():
    quat = quat_from_euler(0.1, -0.2, 3.0)
    data = encode_webots_state(7.5, (1, 2, 3), (4, 5, 6), quat, (10, 11, 12), (13, 14, 15))
    assert len(data) == 128
    values = struct.unpack("<16d", data)
    assert values[:7] == (7.5, 1, 2, 3, 4, 5, 6)
    assert values[7:10] == pytest.approx((0.1, -0.2, 3.0))
    assert values[10:] == (10, 11, 12, 13, 14, 15)
    with pytest.raises(EncodeError):
        encode_webots_state(0.0, ZERO, ZERO, quat, (0.0, math.inf, 0.0), ZERO)


def test_a_connection_counts_the_frames_that_the_wire_does_not():
    vehicle = ExternalVehicle(vehicle_id=1, fdm_port=0, wire=FdmWire.WEBOTS)
    connection = FdmConnection(vehicle)
    packet = encode_webots_servo(PWM_US)
    arrivals = [connection.take(packet, PEER, 0.01 * n) for n in range(4)]
    assert arrivals == [Arrival.CONNECTED, Arrival.NEW, Arrival.NEW, Arrival.NEW]
    assert connection.commands(0).motors == pytest.approx((0.0, 0.006))
    assert connection.take(packet[:-1], PEER, 0.1) is Arrival.REFUSED
    assert (connection.stats.packets, connection.stats.refused) == (4, 1)
    connection.forget_peer()
    assert connection.take(packet, PEER, 0.2) is Arrival.CONNECTED


@pytest.mark.parametrize("asked", [True, False])
def test_no_time_sync_is_in_every_record_or_in_none(asked):
    vehicle = ExternalVehicle(vehicle_id=1, fdm_port=0, no_time_sync=asked)
    writer = RecordWriter(vehicle, ArduPilotProfile.UP_TO_4_6)
    for wind in (ZERO, (1.0, 0.0, 0.0)):  # the quick way, and the one with all keys
        truth = VehicleTruth(
            timestamp_us=0, vehicle_id=1, north_m=0.0, east_m=0.0, down_m=0.0,
            quat_wxyz=(1.0, 0.0, 0.0, 0.0), velocity_ned_mps=ZERO, rates_frd_radps=ZERO,
            accel_ned_mps2=ZERO, wind_ned_mps=wind,
        )  # fmt: skip
        assert decode_state(writer.write(truth, None, 10_000)).no_time_sync is (asked or None)
