"""What wrong and garbage values look like, sensor by sensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pico_gz.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    GpsData,
    ImuData,
    RangefinderData,
)
from pico_gz.messages.sensors import Vector3

# Number k of this moment's draws, 0 <= x < 1.
Draw = Callable[[int], float]

_GYRO_SPAN, _ACCEL_SPAN, _MAG_SPAN = 35.0, 160.0, 2.0
_GPS_JUMP_DEG = 1.0e-3  # about 110 m
_PRESSURE_JUMP_PA = 500.0  # about 42 m


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A sensor that can fail.

    Attributes:
        field: of ``SensorData``.
        sample_type: what ``read`` gives, for snapshots.
        wrong: makes a biased and scaled sample.
        garbage: makes any sample from a source of draws.
        read: takes the unit's own part out of the field; ``write`` puts it back.
        is_half: whether the field holds something else beside it.
    """

    field: str
    sample_type: Any
    wrong: Callable[[Any], Any]
    garbage: Callable[[Any, Draw], Any]
    read: Callable[[Any], Any] = lambda whole: whole
    write: Callable[[Any, Any], Any] = lambda _whole, part: part
    is_half: bool = False


def _span3(draw: Draw, span: float) -> Vector3:
    return tuple(span * (2.0 * draw(axis) - 1.0) for axis in range(3))  # type: ignore[return-value]


def _bent3(vector: Vector3, scale: float, bias: float) -> Vector3:
    x, y, z = vector
    return scale * x + bias, scale * y + bias, scale * z + bias


def _wrong_gps(fix: GpsData) -> GpsData:
    return msgspec.structs.replace(
        fix,
        lat_deg=_near(fix.lat_deg, _GPS_JUMP_DEG, 90.0),
        lon_deg=_near(fix.lon_deg, _GPS_JUMP_DEG, 180.0),
    )


def _near(angle_deg: float, jump_deg: float, limit_deg: float) -> float:
    return angle_deg + jump_deg if angle_deg + jump_deg <= limit_deg else angle_deg - jump_deg


def _garbage_gps(fix: GpsData, draw: Draw) -> GpsData:
    return msgspec.structs.replace(
        fix,
        lat_deg=180.0 * draw(0) - 90.0,
        lon_deg=360.0 * draw(1) - 180.0,
        alt_m=10_000.0 * draw(2),
        speed_ms=100.0 * draw(3),
        course_deg=360.0 * draw(4),
        velocity_ned_mps=_span3(lambda k: draw(5 + k), 100.0),
    )


def _wrong_ranges(ranges: tuple[RangefinderData, ...]) -> tuple[RangefinderData, ...]:
    return tuple(
        msgspec.structs.replace(r, distance_m=max(r.min_m, 0.5 * r.distance_m)) for r in ranges
    )


def _garbage_ranges(ranges: tuple[RangefinderData, ...], draw: Draw) -> tuple[RangefinderData, ...]:
    return tuple(
        msgspec.structs.replace(r, distance_m=r.min_m + (r.max_m - r.min_m) * draw(k))
        for k, r in enumerate(ranges)
    )


UNITS: Mapping[str, Unit] = {
    "gyro": Unit(
        field="imu",
        sample_type=Vector3,
        wrong=lambda rates: _bent3(rates, 1.5, 0.3),
        garbage=lambda _, draw: _span3(draw, _GYRO_SPAN),
        read=lambda imu: imu.gyro_rads,
        write=lambda imu, part: ImuData(imu.accel_mss, part, imu.temperature_c),
        is_half=True,
    ),
    "accel": Unit(
        field="imu",
        sample_type=Vector3,
        wrong=lambda force: _bent3(force, 1.2, 1.0),
        garbage=lambda _, draw: _span3(draw, _ACCEL_SPAN),
        read=lambda imu: imu.accel_mss,
        write=lambda imu, part: ImuData(part, imu.gyro_rads, imu.temperature_c),
        is_half=True,
    ),
    "mag": Unit(
        field="compass",
        sample_type=CompassData,
        wrong=lambda sample: CompassData(_bent3(sample.mag_gauss, 0.7, 0.2)),
        garbage=lambda _, draw: CompassData(_span3(draw, _MAG_SPAN)),
    ),
    "baro": Unit(
        field="barometer",
        sample_type=BarometerData,
        wrong=lambda s: BarometerData(s.pressure_pa + _PRESSURE_JUMP_PA, s.temperature_c),
        garbage=lambda s, draw: BarometerData(3.0e4 + 8.0e4 * draw(0), s.temperature_c),
    ),
    "gps": Unit(field="gps", sample_type=GpsData, wrong=_wrong_gps, garbage=_garbage_gps),
    "range": Unit(
        field="rangefinders",
        sample_type=tuple[RangefinderData, ...],
        wrong=_wrong_ranges,
        garbage=_garbage_ranges,
    ),
    "encoder": Unit(
        field="encoders",
        sample_type=EncoderData,
        wrong=lambda s: EncoderData((2 * s.ticks[0], 2 * s.ticks[1]), s.ticks_per_turn),
        garbage=lambda s, draw: EncoderData(
            (int(2e6 * draw(0)) - 1_000_000, int(2e6 * draw(1)) - 1_000_000), s.ticks_per_turn
        ),
    ),
    "battery": Unit(
        field="battery",
        sample_type=BatteryData,
        wrong=lambda s: BatteryData(0.8 * s.voltage_v, s.current_a, s.remaining),
        garbage=lambda _, draw: BatteryData(20.0 * draw(0), 50.0 * draw(1), draw(2)),
    ),
}
