"""A vehicle's sensors in the memory of the native core."""

from __future__ import annotations

import struct
from typing import Any, Final

from pico_gz.core.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    ImuData,
    RangefinderData,
    SensorData,
    VehicleTruth,
)
from pico_gz.simulator.gps import gps_data
from pico_gz.simulator.models import SensorModel
from pico_gz.simulator.native_layout import (
    FIX_SLOTS,
    OUT,
    RANGE_SECTIONS,
    RANGES,
    SENSORS,
    Section,
)
from pico_gz.simulator.sensor_suite import SensorSuite

_FIRST: Final = struct.Struct("=q7d2q")  # flags, IMU, ticks: new in nearly every step
_FLAGS: Final = struct.Struct("=q")
_FIRST_AT = OUT.offset_of("flags")
_FIX, _FIX_AT = struct.Struct("=11d"), OUT.offset_of("fix")
_MAG, _MAG_AT = struct.Struct("=3d"), OUT.offset_of("mag")
_BARO, _BARO_AT = struct.Struct("=2d"), OUT.offset_of("baro")
_BATTERY, _BATTERY_AT = struct.Struct("=3d"), OUT.offset_of("battery")
_TRUTH, _TRUTH_AT = struct.Struct("=21d"), OUT.offset_of("truth")
_RANGES, _RANGES_AT = struct.Struct(f"={RANGES}d"), OUT.offset_of("ranges")
# Bits of the flags: which sensors have a new sample.
_IMU_NEW: Final = 1
_GPS_NEW: Final = 2
_COMPASS_NEW: Final = 4
_BARO_NEW: Final = 8
_RANGES_NEW: Final = 16
_TICKS_NEW: Final = 32
_BATTERY_NEW: Final = 64


def covers_sensors(sensors: SensorModel) -> bool:
    """Whether the core knows how these sensors measure."""
    if type(sensors) is not SensorSuite or sensors.is_disturbed or len(sensors.ranges) > RANGES:
        return False
    gps = sensors.gps
    if gps is None or gps.latency_us == 0:
        return True
    return gps.latency_us <= (FIX_SLOTS - 3) * gps.period_us and len(gps.waiting) < FIX_SLOTS - 2


def pack_sensors(suite: SensorSuite, buffer: bytearray, start: int) -> None:
    """Write all sensors of a vehicle."""
    for section in SENSORS:
        section.pack(_sensor(suite, section), buffer, start)
    for index, section in enumerate(RANGE_SECTIONS):
        sensor = suite.ranges[index] if index < len(suite.ranges) else None
        section.pack(sensor, buffer, start)


def unpack_sensors(suite: SensorSuite, buffer: bytearray, start: int) -> None:
    """Set what the core changed."""
    for section in SENSORS:
        if (sensor := _sensor(suite, section)) is not None:
            section.unpack(sensor, buffer, start)
    for section, sensor in zip(RANGE_SECTIONS, suite.ranges, strict=False):
        section.unpack(sensor, buffer, start)


def _sensor(suite: SensorSuite, section: Section) -> Any:
    _, _, name = section.owner.partition(".")
    return getattr(suite, name) if name else suite


def has_battery_or_range(outs: bytes, start: int) -> bool:
    """Whether a vehicle's battery or rangefinders were measured in the last step."""
    return bool(_FLAGS.unpack_from(outs, start + _FIRST_AT)[0] & (_BATTERY_NEW | _RANGES_NEW))


def read_record(outs: bytes | bytearray, start: int, suite: Any, now_us: int) -> SensorData:
    """What a vehicle measured in the step that ended at ``now_us``."""
    new, ax, ay, az, gx, gy, gz, celsius, left, right = _FIRST.unpack_from(outs, start + _FIRST_AT)
    gps = compass = barometer = ranges = encoders = battery = None
    imu = ImuData((ax, ay, az), (gx, gy, gz), celsius) if new & _IMU_NEW else None
    if new & _TICKS_NEW:
        encoders = EncoderData((left, right), suite.encoder.per_turn)
    if new & _GPS_NEW:
        *floats, fix, satellites = _FIX.unpack_from(outs, start + _FIX_AT)
        gps = gps_data((*floats, int(fix), int(satellites)))
    if new & _COMPASS_NEW:
        compass = CompassData(_MAG.unpack_from(outs, start + _MAG_AT))
    if new & _BARO_NEW:
        barometer = BarometerData(*_BARO.unpack_from(outs, start + _BARO_AT))
    if new & _BATTERY_NEW:
        battery = BatteryData(*_BATTERY.unpack_from(outs, start + _BATTERY_AT))
    if new & _RANGES_NEW:
        read = _RANGES.unpack_from(outs, start + _RANGES_AT)
        ranges = tuple(
            RangefinderData(distance, sensor.min_m, sensor.max_m, sensor.bearing_deg)
            for distance, sensor in zip(read, suite.ranges, strict=False)
        )
    return SensorData(
        now_us,
        suite.vehicle_id,
        imu,
        gps,
        compass,
        barometer,
        ranges,
        None,
        encoders,
        battery,
    )


def read_truth(outs: bytes, start: int, vehicle_id: int, now_us: int) -> VehicleTruth:
    """Where a vehicle was at the end of the step that ended at ``now_us``."""
    t = _TRUTH.unpack_from(outs, start + _TRUTH_AT)
    return VehicleTruth(
        now_us,
        vehicle_id,
        t[0],
        t[1],
        t[2],
        t[3:7],
        t[7:10],
        t[10:13],
        t[13:16],
        t[16:19],
        (t[19], t[20], 0.0),
    )
