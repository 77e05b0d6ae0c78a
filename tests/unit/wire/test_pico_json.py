"""The kit's own dialect: tables both ways and everything that is refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.core.messages import GpsData, ImuData, SensorData
from pico_gz.errors import DecodeError, EncodeError
from pico_gz.wire.pico_json import (
    decode_actuators,
    decode_sensors,
    encode_actuators,
    encode_sensors,
)

SENSORS = {
    "version": 1,
    "vehicle_id": 3,
    "timestamp": 20000,
    "imu": {"linear_acceleration": [0.1, 0.2, -9.81], "angular_velocity": [0.0, 0.0, 0.5]},
    "gps": {"lat": 35.5, "lon": 139.5, "alt": 40.0, "speed": 1.5, "course": 90.0},
}


def as_bytes(record: object) -> bytes:
    return json.dumps(record, indent=1).encode()


def test_sensors_are_read() -> None:
    record = decode_sensors(as_bytes(SENSORS))
    assert record == SensorData(
        timestamp_us=20000,
        vehicle_id=3,
        imu=ImuData((0.1, 0.2, -9.81), (0.0, 0.0, 0.5)),
        gps=GpsData(lat_deg=35.5, lon_deg=139.5, alt_m=40.0, speed_ms=1.5, course_deg=90.0),
    )
    assert json.loads(encode_sensors(record)) == SENSORS


def test_gps_version_and_id_may_be_absent() -> None:
    record = decode_sensors(as_bytes({"timestamp": 0, "imu": SENSORS["imu"]}))
    assert record.vehicle_id == 1
    assert record.gps is None
    assert b"gps" not in encode_sensors(record)


def test_actuators_both_ways() -> None:
    data = encode_actuators(20000, 2, (1500, 1600))
    assert json.loads(data) == {
        "version": 1,
        "vehicle_id": 2,
        "timestamp": 20000,
        "motors": [1500, 1600],
    }
    assert decode_actuators(data).motors == (1500, 1600)
    assert decode_actuators(b'{"timestamp":1,"motors":[1500,1500]}').vehicle_id == 1


def changed(**changes: object) -> dict[str, object]:
    return {**SENSORS, **changes}


REFUSED = [
    changed(version=2),
    changed(version="1"),
    changed(vehicle_id=0),
    changed(vehicle_id=256),
    changed(timestamp=-1),
    changed(timestamp=1.5),
    changed(timestamp="0"),
    changed(timestamp=1 << 70),
    changed(imu=None),
    changed(imu={"linear_acceleration": [0, 0], "angular_velocity": [0, 0, 0]}),
    changed(imu={"linear_acceleration": [0, 0, math.nan], "angular_velocity": [0, 0, 0]}),
    changed(imu={"linear_acceleration": [0, 0, 1e308], "angular_velocity": [0, 0, 0]}),
    changed(gps=None),
    changed(gps={"lat": 91, "lon": 0, "alt": 0, "speed": 0, "course": 0}),
    changed(gps={"lat": 0, "lon": 0, "alt": 1e300, "speed": 0, "course": 0}),
    changed(gps={"lat": 0, "lon": 0}),
    changed(pad="x" * 1400),
    {k: v for k, v in SENSORS.items() if k != "imu"},
    {k: v for k, v in SENSORS.items() if k != "timestamp"},
    [SENSORS],
]


@pytest.mark.parametrize("record", REFUSED)
def test_sensors_refused_as_a_whole(record: object) -> None:
    with pytest.raises(DecodeError):
        decode_sensors(as_bytes(record))


def test_another_version_is_named() -> None:
    with pytest.raises(DecodeError, match="version 2") as caught:
        decode_sensors(as_bytes(changed(version=2, imu="whatever")))
    assert caught.value.field == "version"


@pytest.mark.parametrize(
    "record",
    [
        {"timestamp": 1},
        {"timestamp": 1, "motors": [1500, -1]},
        {"timestamp": 1, "motors": [1500, 70000]},
        {"timestamp": 1, "motors": [1500.5]},
        {"timestamp": 1, "motors": "1500"},
    ],
)
def test_actuators_refused(record: object) -> None:
    with pytest.raises(DecodeError):
        decode_actuators(as_bytes(record))


def test_unknown_keys_are_ignored() -> None:
    assert decode_sensors(as_bytes(changed(more=[1, {"a": 2}]))).vehicle_id == 3


def test_an_imu_is_needed_to_send() -> None:
    with pytest.raises(EncodeError):
        encode_sensors(SensorData(timestamp_us=0, vehicle_id=1))


def test_too_many_channels_do_not_fit_a_datagram() -> None:
    with pytest.raises(EncodeError):
        encode_actuators(0, 1, [1500] * 400)


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_nothing_else_is_raised(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_sensors(data)
    with pytest.raises(DecodeError):
        decode_actuators(data)
