"""What travels is immutable and checked on construction."""

import math

import msgspec
import pytest

from pico_gz.core.messages import (
    ActuatorCommands,
    BarometerData,
    BatteryData,
    CompassData,
    GpsData,
    GpsFixType,
    ImuData,
    RangefinderData,
    SensorData,
)
from pico_gz.core.vehicle_config import (
    ChannelMap,
    NoiseProfile,
    Pose,
    VehicleConfig,
    VehicleId,
    check_name,
)
from pico_gz.errors import MessageError

NAN = math.nan
INF = math.inf


@pytest.mark.parametrize("value", [0, 256, -1, True, 1.0, "1"])
def test_vehicle_ids_are_1_to_255(value):
    with pytest.raises(MessageError):
        VehicleId(value)


def test_vehicle_id_is_an_int():
    assert VehicleId(255) == 255


@pytest.mark.parametrize("name", ["", "a/b", "..", "a..b", "-a", 'x"><script>', "a" * 65, "a b"])
def test_hostile_names_are_refused(name):
    with pytest.raises(MessageError):
        check_name(name)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ImuData((NAN, 0.0, 0.0), (0.0, 0.0, 0.0)),
        lambda: ImuData((0.0, 0.0, 0.0), (0.0, INF, 0.0)),
        lambda: GpsData(lat_deg=91.0, lon_deg=0.0, alt_m=0.0, speed_ms=0.0, course_deg=0.0),
        lambda: GpsData(lat_deg=NAN, lon_deg=0.0, alt_m=0.0, speed_ms=0.0, course_deg=0.0),
        lambda: GpsData(lat_deg=0.0, lon_deg=0.0, alt_m=NAN, speed_ms=0.0, course_deg=0.0),
        lambda: CompassData((0.0, NAN, 0.0)),
        lambda: BarometerData(0.0),
        lambda: BarometerData(INF),
        lambda: RangefinderData(-0.1),
        lambda: BatteryData(NAN, 0.0),
        lambda: Pose(north_m=INF),
        lambda: ActuatorCommands(0, 1, (1.01, 0.0)),
        lambda: ActuatorCommands(0, 1, (NAN,)),
        lambda: ActuatorCommands(0, 1, (), (-2.0,)),
        lambda: SensorData(timestamp_us=-1, vehicle_id=1),
        lambda: SensorData(timestamp_us=0, vehicle_id=0),
        lambda: VehicleConfig(id=0),
        lambda: VehicleConfig(id=1, fdm_port=70_000),
        lambda: VehicleConfig(id=1, name="../x"),
        lambda: ChannelMap(left=1, right=1),
        lambda: ChannelMap(left=33),
    ],
)
def test_impossible_values_do_not_travel(make):
    with pytest.raises(MessageError):
        make()


@pytest.mark.parametrize(
    "message",
    [
        ImuData((0.0, 0.0, -9.8), (0.0, 0.0, 0.0)),
        ActuatorCommands(0, 1, (0.5, 0.5)),
        VehicleConfig(id=3),
        SensorData(timestamp_us=5, vehicle_id=1),
    ],
)
def test_messages_are_frozen_and_slotted(message):
    field = message.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(message, field, getattr(message, field))
    assert not hasattr(message, "__dict__")


def test_messages_survive_the_log_format():
    record = SensorData(
        timestamp_us=5,
        vehicle_id=1,
        gps=GpsData(
            lat_deg=35.0, lon_deg=139.0, alt_m=40.0, speed_ms=0.1 + 0.2, course_deg=0.0,
            fix_type=GpsFixType.RTK_FIXED,
        ),
    )  # fmt: skip
    data = msgspec.msgpack.encode(record)
    assert msgspec.msgpack.decode(data, type=SensorData) == record


def test_noise_profiles_multiply():
    assert [p.scale for p in NoiseProfile] == [0.0, 0.3, 1.0, 3.0]
