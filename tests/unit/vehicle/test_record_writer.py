"""Truth and sensors as a record."""

import json
import math

import msgspec
import pytest

from pico_gz.core.frames import quat_from_euler
from pico_gz.core.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    GpsData,
    ImuData,
    RangefinderData,
    SensorData,
)
from pico_gz.errors import EncodeError
from pico_gz.testing.autopilot_twin import SubstringParser
from pico_gz.testing.twin_rover import level_truth
from pico_gz.vehicle.external.external_vehicle import ArduPilotProfile, ExternalVehicle, ImuSource
from pico_gz.vehicle.external.records import RecordWriter, apparent_wind, specific_force
from pico_gz.wire.state import decode_state

VEHICLE = ExternalVehicle(vehicle_id=1, fdm_port=9002)
P46, P47 = ArduPilotProfile.UP_TO_4_6, ArduPilotProfile.FROM_4_7
G = 9.80665


def test_a_resting_level_rover() -> None:
    record = decode_state(RecordWriter(VEHICLE, P46).write(level_truth(), None, 1_500_000))
    assert record.timestamp_s == 1.5
    assert record.imu.accel_frd_mps2 == pytest.approx((0, 0, -G))
    assert record.imu.gyro_frd_radps == (0, 0, 0)
    assert record.no_time_sync is None
    assert record.no_lockstep is None
    assert record.wind_ned_mps is None


@pytest.mark.parametrize(
    ("euler_deg", "accel_ned", "expected"),
    [
        ((0, 0, 90), (0, 2, 0), (2, 0, -G)),
        ((0, 10, 0), (0, 0, 0), (1.703, 0, -9.658)),
        ((10, 0, 0), (0, 0, 0), (0, -1.703, -9.658)),
    ],
)
def test_specific_force(
    euler_deg: tuple[float, ...], accel_ned: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    quat = quat_from_euler(*(math.radians(a) for a in euler_deg))
    assert specific_force(quat, accel_ned) == pytest.approx(expected, abs=1e-3)  # type: ignore[arg-type]


def sensors(**parts: object) -> SensorData:
    return SensorData(timestamp_us=0, vehicle_id=1, **parts)  # type: ignore[arg-type]


def test_slow_sensors_are_remembered() -> None:
    writer = RecordWriter(VEHICLE, P46)
    data = sensors(
        battery=BatteryData(7.4, 1.5), rangefinders=(RangefinderData(1.5), RangefinderData(2.5))
    )
    writer.write(level_truth(), data, 0)
    record = decode_state(writer.write(level_truth(), sensors(), 10_000))
    assert record.rangefinders_m() == (1.5, 2.5)
    assert record.battery is not None
    assert record.battery.voltage_v == 7.4


def test_what_a_slow_sensor_says_anew_is_in_the_same_record() -> None:
    writer = RecordWriter(VEHICLE, P46)
    for volts in (7.4, 7.3):
        data = writer.write(level_truth(), sensors(battery=BatteryData(volts, 1.5)), 0)
        assert json.loads(data)["battery"] == {"voltage": volts, "current": 1.5}
    data = writer.write(level_truth(), sensors(rangefinders=(RangefinderData(1.5),)), 0)
    assert json.loads(data)["rng_1"] == 1.5
    writer.set_rc([1500, 1600])
    data = writer.write(level_truth(), None, 0)
    assert json.loads(data)["rc"] == {"rc_1": 1500.0, "rc_2": 1600.0}


def test_wind_stays_once_it_blew() -> None:
    writer = RecordWriter(VEHICLE, P46)
    windy = msgspec.structs.replace(level_truth(), wind_ned_mps=(-3.0, 0.0, 0.0))
    record = decode_state(writer.write(windy, None, 0))
    assert record.wind_ned_mps == (-3.0, 0.0, 0.0)
    assert record.windvane is not None
    assert record.windvane.speed_mps == 3.0
    calm = decode_state(writer.write(level_truth(), None, 0))
    assert calm.wind_ned_mps == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("yaw_deg", "wind", "velocity", "from_deg", "speed"),
    [
        (0, (-3, 0, 0), (0, 0, 0), 0, 3),
        (90, (-3, 0, 0), (0, 0, 0), 270, 3),
        (0, (0, 0, 0), (2, 0, 0), 0, 2),
        (0, (0, -2, 0), (2, 0, 0), 45, math.sqrt(8)),
    ],
)
def test_apparent_wind(
    yaw_deg: float,
    wind: tuple,
    velocity: tuple,
    from_deg: float,
    speed: float,  # type: ignore[type-arg]
) -> None:
    truth = msgspec.structs.replace(
        level_truth(),
        quat_wxyz=quat_from_euler(0.0, 0.0, math.radians(yaw_deg)),
        wind_ned_mps=wind,
        velocity_ned_mps=velocity,
    )
    vane = apparent_wind(truth)
    turned = (math.degrees(vane.from_rad) - from_deg + 180) % 360 - 180
    assert turned == pytest.approx(0, abs=1e-9)
    assert vane.speed_mps == pytest.approx(speed)


def test_profile_47_sends_where_it_is_and_that_it_does_not_wait() -> None:
    writer = RecordWriter(VEHICLE, P47, lockstep=False, geodetic=lambda n, e, d: (1.0, 2.0, 3.0))
    record = decode_state(writer.write(level_truth(), None, 0))
    assert (record.latitude_deg, record.longitude_deg, record.altitude_m) == (1.0, 2.0, 3.0)
    assert record.no_lockstep is True
    older = RecordWriter(VEHICLE, P46, lockstep=False, geodetic=lambda n, e, d: (1.0, 2.0, 3.0))
    record = decode_state(older.write(level_truth(), None, 0))
    assert (record.latitude_deg, record.no_lockstep) == (None, None)


def test_radio_channels() -> None:
    writer = RecordWriter(VEHICLE, P46)
    writer.set_rc([1100, 1500, 1900])
    parser = SubstringParser()
    assert parser.feed(writer.write(level_truth(), None, 10_000))
    assert [parser.state.values[f"rc.rc_{i}"] for i in (1, 2, 3)] == [1100, 1500, 1900]
    with pytest.raises(EncodeError):
        writer.set_rc([1500] * 13)


def test_imu_from_the_sensors_where_wanted() -> None:
    vehicle = msgspec.structs.replace(VEHICLE, imu=ImuSource.SENSOR)
    imu = ImuData((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    record = decode_state(RecordWriter(vehicle, P46).write(level_truth(), sensors(imu=imu), 0))
    assert record.imu.accel_frd_mps2 == (1.0, 2.0, 3.0)
    assert record.imu.gyro_frd_radps == (4.0, 5.0, 6.0)
    record = decode_state(RecordWriter(vehicle, P46).write(level_truth(), sensors(), 0))
    assert record.imu.accel_frd_mps2 == pytest.approx((0, 0, -G))


def test_what_is_not_finite_cannot_be_written() -> None:
    broken = msgspec.structs.replace(level_truth(), north_m=math.nan)
    with pytest.raises(EncodeError):
        RecordWriter(VEHICLE, P46).write(broken, None, 0)


def test_everything_at_once_fits_a_datagram_and_both_parsers() -> None:
    vehicle = msgspec.structs.replace(VEHICLE, extra_keys=True)
    writer = RecordWriter(vehicle, P47, lockstep=False, geodetic=lambda n, e, d: (n, e, d))
    writer.set_rc([1500] * 12)
    ugly = 1234567.1234567891
    truth = msgspec.structs.replace(
        level_truth(),
        north_m=-ugly,
        east_m=-ugly,
        down_m=-ugly,
        velocity_ned_mps=(-ugly / 1e3,) * 3,
        wind_ned_mps=(-ugly / 1e4,) * 3,
        accel_ned_mps2=(-ugly / 1e4,) * 3,
        rates_frd_radps=(-ugly / 1e4,) * 3,
    )
    data = sensors(
        rangefinders=(RangefinderData(1.2345678901234567),) * 6,
        battery=BatteryData(12.345678901234567, 1.2345678901234567),
        gps=GpsData(
            lat_deg=-35.123456789012345, lon_deg=-139.12345678901234, alt_m=-1234.1234567890123,
            speed_ms=1.2345678901234567, course_deg=359.12345678901234,
        ),
        compass=CompassData((-0.12345678901234567,) * 3),
        barometer=BarometerData(101_325.12345678901, -15.123456789012345),
        encoders=EncoderData((-123_456_789, -123_456_789)),
    )  # fmt: skip
    datagram = writer.write(truth, data, 123_456_789_012)
    assert len(datagram) < 1400
    assert SubstringParser().feed(datagram)
    assert SubstringParser(release_47=True).feed(datagram)


FITTED = {
    "gps": GpsData(lat_deg=35.5, lon_deg=139.5, alt_m=40.0, speed_ms=0.5, course_deg=90.0),
    "compass": CompassData((0.3, -0.05, 0.35)),
    "barometer": BarometerData(101_325.0, 15.5),
    "encoders": EncoderData((120, 118)),
}


def test_extra_keys_follow_all_others_and_are_remembered() -> None:
    vehicle = msgspec.structs.replace(VEHICLE, extra_keys=True)
    writer = RecordWriter(vehicle, P46)
    writer.set_rc([1500])
    writer.write(level_truth(), sensors(**FITTED, battery=BatteryData(7.4, 0.5)), 10_000)
    record = json.loads(writer.write(level_truth(), None, 12_000))
    assert list(record)[-5:] == ["gps", "mag", "baro", "encoders", "sim"]
    assert list(record)[-6] == "battery"
    assert record["gps"] == {"lat": 35.5, "lon": 139.5, "alt": 40.0, "speed": 0.5, "course": 90.0}
    assert record["mag"] == [0.3, -0.05, 0.35]
    assert record["baro"] == {"pressure": 101_325.0, "temperature": 15.5}
    assert record["encoders"] == [120, 118]
    assert record["sim"] == {"epoch": 0, "dt": 0.002}
    assert json.loads(writer.write(level_truth(), None, 2_000))["sim"] == {"epoch": 1, "dt": 0.0}


@pytest.mark.parametrize("release_47", [False, True])
def test_extra_keys_change_nothing_for_ardupilot(release_47: bool) -> None:
    plain = RecordWriter(VEHICLE, P46).write(level_truth(), sensors(), 10_000)
    vehicle = msgspec.structs.replace(VEHICLE, extra_keys=True)
    extra = RecordWriter(vehicle, P46).write(level_truth(), sensors(**FITTED), 10_000)
    seen = []
    for data in (plain, extra):
        parser = SubstringParser(release_47=release_47)
        assert parser.feed(data)
        seen.append(parser.state.values)
    assert seen[0] == seen[1]
    assert len(extra) > len(plain)
    assert decode_state(extra).position_ned_m == decode_state(plain).position_ned_m


def test_an_imu_that_fails_is_measured_until_it_works_again() -> None:
    writer = RecordWriter(VEHICLE, P46)
    measured = sensors(imu=ImuData((1.0, 2.0, 3.0), (0.0, 0.0, 0.0)))

    def imu_of(data: SensorData, time_us: int = 0):
        return decode_state(writer.write(level_truth(), data, time_us)).imu

    healthy = imu_of(measured)
    assert healthy.accel_frd_mps2 == pytest.approx((0, 0, -G))
    writer.set_imu_failing(True)
    # It has not said anything since: no turn, no weight.
    assert imu_of(sensors()).accel_frd_mps2 == (0, 0, 0)
    assert imu_of(measured).accel_frd_mps2 == (1, 2, 3)
    # Steps between two samples repeat the last one, but not for ever.
    assert imu_of(sensors(), 50_000).accel_frd_mps2 == (1, 2, 3)
    assert imu_of(sensors(), 50_001).accel_frd_mps2 == (0, 0, 0)
    writer.set_imu_failing(False)
    assert imu_of(measured) == healthy
