from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pico_gz.core.board_options import PlatformOptions, SerialOutput
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
from pico_gz.core.vehicle_config import PICO_TRAIL_CHANNELS, DriveKind
from pico_gz.errors import ConfigError, MessageError
from pico_gz.vehicle.platform.peripherals import GpioDirection
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.platform.sensor_inputs import IMU_FIFO_SAMPLES

GPS = GpsData(lat_deg=35.0, lon_deg=139.0, alt_m=40.0, speed_ms=1.0, course_deg=90.0)
IMU = ImuData((0.1, 0.2, -9.8), (0.01, 0.02, 0.03))
SAMPLES: dict[str, Any] = {
    "gps": GPS,
    "compass": CompassData((0.3, -0.1, 0.35)),
    "barometer": BarometerData(101_000.0),
    "rangefinders": (RangefinderData(1.5),),
    "encoders": EncoderData((12, 14)),
    "attitude_quat": (1.0, 0.0, 0.0, 0.0),
}


def record(time_us: int, vehicle_id: int = 1, **samples: Any) -> SensorData:
    return SensorData(timestamp_us=time_us, vehicle_id=vehicle_id, **samples)


# --- time ---------------------------------------------------------------------------------


def test_time_is_that_of_the_records_and_stands_while_the_simulator_stands() -> None:
    platform = SitlPlatform(1)
    assert platform.timer.now_us() == 0
    for time_us in (10_000, 20_000, 20_000, 20_000):
        platform.inject_sensors(record(time_us))
    assert platform.timer.now_us() == 20_000
    assert platform.timer.elapsed_us(5_000) == 15_000
    platform.inject_sensors(record(1_000_000))
    assert platform.timer.now_us() == 1_000_000
    assert platform.collect_actuator_commands().timestamp_us == 1_000_000


def test_a_record_at_time_zero_is_new() -> None:
    platform = SitlPlatform(1)
    platform.inject_sensors(record(0, gps=GPS))
    assert platform.read_gps() == GPS


def test_the_processor_is_an_rp2040() -> None:
    assert SitlPlatform(1).system_clock_hz() == 125_000_000


# --- new samples --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_is_given_once(name: str) -> None:
    platform = SitlPlatform(1)
    read = getattr(platform, f"read_{name}")
    assert read() is None
    platform.inject_sensors(record(10_000, **{name: SAMPLES[name]}))
    platform.inject_sensors(record(20_000))
    assert read() == SAMPLES[name]
    assert read() is None


def test_a_record_seen_before_or_older_is_ignored() -> None:
    platform = SitlPlatform(1)
    platform.inject_sensors(record(20_000, gps=GPS, imu=IMU))
    platform.read_gps()
    platform.read_imu()
    platform.inject_sensors(record(20_000, gps=GPS, imu=IMU))
    platform.inject_sensors(record(10_000, gps=GPS, imu=IMU))
    assert platform.read_gps() is None
    assert platform.read_imu() == []
    assert platform.stale_records == 2
    assert platform.timer.now_us() == 20_000


def test_imu_samples_queue_with_their_times_and_the_oldest_give_way() -> None:
    platform = SitlPlatform(1)
    for step in range(1, 4):
        platform.inject_sensors(record(step * 10_000, imu=IMU))
    assert platform.read_imu() == [(10_000, IMU), (20_000, IMU), (30_000, IMU)]
    assert platform.read_imu() == []
    for step in range(4, 4 + IMU_FIFO_SAMPLES + 5):
        platform.inject_sensors(record(step * 10_000, imu=IMU))
    assert platform.imu_overruns == 5
    waiting = platform.read_imu()
    assert len(waiting) == IMU_FIFO_SAMPLES
    assert waiting[0][0] == 90_000


def test_a_record_of_another_vehicle_is_refused() -> None:
    with pytest.raises(MessageError, match="Vehicle 1 was given a record of vehicle 2"):
        SitlPlatform(1).inject_sensors(record(0, vehicle_id=2))


@pytest.mark.parametrize("vehicle_id", [0, 256, True])
def test_impossible_vehicle_ids_are_refused(vehicle_id: int) -> None:
    with pytest.raises(MessageError):
        SitlPlatform(vehicle_id)


# --- actuators ----------------------------------------------------------------------------


def test_nobody_commands_so_all_is_neutral() -> None:
    platform = SitlPlatform(7)
    commands = platform.collect_actuator_commands()
    assert (commands.vehicle_id, commands.motors, commands.servos) == (7, (0.0, 0.0), ())
    assert platform.servo_outputs_us() == (0,) * 16


def test_skid_channels_of_both_maps() -> None:
    for options in ({}, {"channels": PICO_TRAIL_CHANNELS}):
        platform = SitlPlatform(1, **options)
        platform.create_pwm(platform.channels.left).set_pulse_us(2000)
        platform.create_pwm(platform.channels.right).set_pulse_us(1250)
        assert platform.collect_actuator_commands().motors == (1.0, -0.5)


def test_ackermann_is_throttle_and_steering() -> None:
    platform = SitlPlatform(1, drive=DriveKind.ACKERMANN)
    platform.create_pwm(1).set_pulse_us(1750)
    platform.create_pwm(3).set_pulse_us(1600)
    commands = platform.collect_actuator_commands()
    assert (commands.motors, commands.servos) == ((0.2,), (0.5,))


def test_unchanged_outputs_are_reused_and_stamped_with_the_time() -> None:
    platform = SitlPlatform(1)
    platform.create_pwm(1).set_pulse_us(1600)
    platform.inject_sensors(record(10_000))
    first = platform.collect_actuator_commands()
    platform.inject_sensors(record(20_000))
    second = platform.collect_actuator_commands()
    assert second.motors is first.motors
    assert (first.timestamp_us, second.timestamp_us) == (10_000, 20_000)


def test_servo_outputs_show_claimed_channels_only() -> None:
    platform = SitlPlatform(1)
    platform.create_pwm(2)
    platform.create_pwm(16).set_pulse_us(1900)
    platform.create_pwm(32).set_pulse_us(1100)
    assert platform.servo_outputs_us() == (0, 1500, *((0,) * 13), 1900)


# --- claims -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "kind", "arguments"),
    [
        ("create_uart", "UART", (1,)),
        ("create_spi", "SPI", (1,)),
        ("create_pwm", "PWM", (1,)),
        ("create_gpio", "GPIO", (1, GpioDirection.IN)),
    ],
)
def test_a_second_claim_names_the_owner_until_the_first_lets_go(
    method: str, kind: str, arguments: tuple[Any, ...]
) -> None:
    platform = SitlPlatform(3)
    create = getattr(platform, method)
    first = create(*arguments, owner="the GPS driver")
    with pytest.raises(ConfigError, match=f"Vehicle 3: {kind} 1 is taken by the GPS driver"):
        create(*arguments)
    first.close()
    create(*arguments).close()


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("create_uart", (8,)),
        ("create_uart", (-1,)),
        ("uart_peer", (8,)),
        ("create_spi", (2,)),
        ("create_pwm", (0,)),
        ("create_pwm", (33,)),
        ("create_pwm", (True,)),
        ("create_gpio", (30, GpioDirection.IN)),
        ("drive_gpio", (30, True)),
    ],
)
def test_what_the_board_does_not_have_is_refused(method: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        getattr(SitlPlatform(1), method)(*arguments)


# --- radio and battery --------------------------------------------------------------------


def test_radio_frames_have_sixteen_channels_and_their_time() -> None:
    platform = SitlPlatform(1)
    assert platform.rc_read() is None
    platform.inject_rc([1500, 1600, 1700], 20_000)
    frame = platform.rc_read()
    assert frame is not None
    assert frame.channels_us == (1500, 1600, 1700, *((0,) * 13))
    assert frame.timestamp_us == 20_000


def test_a_lost_link_is_a_frame_that_grows_old() -> None:
    platform = SitlPlatform(1)
    platform.inject_rc([1500] * 16, 20_000)
    platform.inject_sensors(record(2_000_000))
    frame = platform.rc_read()
    assert frame is not None
    assert platform.timer.elapsed_us(frame.timestamp_us) == 1_980_000


@pytest.mark.parametrize("channels_us", [[1500] * 17, [-1], [70_000]])
def test_impossible_radio_frames_are_refused(channels_us: list[int]) -> None:
    platform = SitlPlatform(1)
    with pytest.raises(MessageError):
        platform.inject_rc(channels_us, 0)
    assert platform.rc_read() is None


@pytest.mark.parametrize(
    ("voltage_v", "divider", "reading"),
    [(7.4, 3.95, 2325), (0.0, 3.95, 0), (-1.0, 3.95, 0), (50.0, 3.95, 4095), (3.3, 1.0, 4095),
     (7.4, 11.0, 835)],
)  # fmt: skip
def test_battery_adc(voltage_v: float, divider: float, reading: int) -> None:
    platform = SitlPlatform(1, options=PlatformOptions(battery_divider=divider))
    assert platform.read_battery_adc() == 0
    assert platform.read_battery_current_a() == 0.0
    platform.inject_sensors(record(10_000, battery=BatteryData(voltage_v, 1.25)))
    for _ in range(2):
        assert platform.read_battery_adc() == reading
        assert platform.read_battery_current_a() == 1.25


# --- snapshots ----------------------------------------------------------------------------


def busy_platform() -> SitlPlatform:
    options = PlatformOptions(serial_outputs={2: SerialOutput("nmea", rate_hz=1.0)})
    platform = SitlPlatform(1, options=options)
    platform.create_uart(0).write(b"out")
    platform.uart_peer(0).write(b"in")
    platform.create_pwm(1).set_pulse_us(1700)
    platform.create_pwm(3, 100)
    platform.create_gpio(5, GpioDirection.OUT).write(True)
    platform.drive_gpio(6, True)
    platform.inject_rc([1400, 1500], 15_000)
    battery = BatteryData(7.4, 0.5)
    platform.inject_sensors(record(20_000, imu=IMU, battery=battery, **SAMPLES))
    platform.inject_sensors(record(20_000))
    return platform


def test_a_snapshot_survives_the_trip_and_goes_on_alike() -> None:
    platform = busy_platform()
    saved = msgspec.msgpack.decode(msgspec.msgpack.encode(platform.save_state()))

    other = SitlPlatform(1, options=platform.options)
    other.create_pwm(1)
    other.create_pwm(3)
    other.load_state(saved)
    assert other.save_state() == platform.save_state()
    for step in (SensorData(timestamp_us=20_000, vehicle_id=1), record(1_020_000, gps=GPS)):
        platform.inject_sensors(step)
        other.inject_sensors(step)
    assert other.save_state() == platform.save_state()
    assert other.read_gps() == GPS
    assert other.read_imu() == platform.read_imu()
    assert other.rc_read() == platform.rc_read()
    assert other.collect_actuator_commands() == platform.collect_actuator_commands()
    assert other.gpio_level(5) is True
    assert other.uart_peer(0).read() == b"out"


def test_restoring_undoes_what_came_after() -> None:
    platform = SitlPlatform(1)
    left = platform.create_pwm(1)
    saved = platform.save_state()
    left.set_pulse_us(2000)
    late = platform.create_pwm(5)
    late.set_pulse_us(1900)
    platform.create_uart(4).write(b"late")
    platform.drive_gpio(9, True)
    platform.inject_sensors(record(10_000, gps=GPS))
    platform.load_state(saved)
    assert (left.pulse_us(), late.pulse_us()) == (1500, 1500)
    assert platform.uart_peer(4).read() == b""
    assert platform.gpio_level(9) is False
    assert platform.timer.now_us() == 0
    assert platform.read_gps() is None
    platform.inject_sensors(record(10_000, gps=GPS))
    assert platform.read_gps() == GPS


def test_a_snapshot_with_outputs_nobody_holds_is_refused() -> None:
    saved = busy_platform().save_state()
    with pytest.raises(ConfigError, match="PWM channel 1, which is not claimed"):
        SitlPlatform(1).load_state(saved)
