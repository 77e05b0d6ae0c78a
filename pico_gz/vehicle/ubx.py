"""The UBX NAV-PVT message of a u-blox receiver. Pure, no I/O."""

from __future__ import annotations

import math
import struct
from datetime import datetime

from pico_gz.messages import GpsData, GpsFixType

SYNC = b"\xb5\x62"
NAV_PVT = b"\x01\x07"
# GPS time began on 1980-01-06 and is 18 leap seconds ahead of UTC.
_GPS_EPOCH_S = 315_964_800
_LEAP_S = 18
_WEEK_S = 604_800

# Interface description, NAV-PVT: 92 bytes, little endian.
_PAYLOAD = struct.Struct("<IHBBBBBBIiBBBBiiiiIIiiiiiIIHH4xihH")

_VALID_DATE_TIME_RESOLVED = 0x07
_FIX_OK = 0x01
_FIX_TYPE = {
    GpsFixType.NO_FIX: 0,
    GpsFixType.FIX_2D: 2,
    GpsFixType.FIX_3D: 3,
    GpsFixType.RTK_FLOAT: 3,
    GpsFixType.RTK_FIXED: 3,
}
_CARRIER = {GpsFixType.RTK_FLOAT: 0x40, GpsFixType.RTK_FIXED: 0x80}
# Metres of horizontal accuracy per unit of HDOP, as receivers tell it.
_ACCURACY_M = {GpsFixType.RTK_FLOAT: 0.2, GpsFixType.RTK_FIXED: 0.02}
_DEFAULT_ACCURACY_M = 1.5
_SPEED_ACCURACY_MMPS = 50
_HEADING_ACCURACY_E5 = 30_000
_TIME_ACCURACY_NS = 30
_NO_FIX_ACCURACY_MM = 0xFFFFFFFF


def encode_nav_pvt(gps: GpsData, utc: datetime) -> bytes:
    """Position, velocity and time in one frame: 92 bytes of payload, 100 in all.

    Both heights are ``alt_m``; vertical accuracy and PDOP are 1.7 times the horizontal ones.
    """
    has_fix = gps.fix_type is not GpsFixType.NO_FIX
    horizontal_mm = _scaled(gps.hdop * _ACCURACY_M.get(gps.fix_type, _DEFAULT_ACCURACY_M), 1e3)
    height_mm = _scaled(gps.alt_m, 1e3)
    north, east, down = gps.velocity_ned_mps
    payload = _PAYLOAD.pack(
        _time_of_week_ms(utc),
        utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second,
        _VALID_DATE_TIME_RESOLVED,
        _TIME_ACCURACY_NS,
        utc.microsecond * 1000,
        _FIX_TYPE[gps.fix_type],
        (_FIX_OK if has_fix else 0) | _CARRIER.get(gps.fix_type, 0),
        0,
        gps.satellites,
        _scaled(gps.lon_deg, 1e7), _scaled(gps.lat_deg, 1e7),
        height_mm, height_mm,
        horizontal_mm if has_fix else _NO_FIX_ACCURACY_MM,
        _scaled(horizontal_mm, 1.7) if has_fix else _NO_FIX_ACCURACY_MM,
        _scaled(north, 1e3), _scaled(east, 1e3), _scaled(down, 1e3),
        _scaled(gps.speed_ms, 1e3),
        _scaled(gps.course_deg % 360.0, 1e5),
        _SPEED_ACCURACY_MMPS,
        _HEADING_ACCURACY_E5,
        min(9999, _scaled(gps.hdop, 170.0)),
        0,
        0, 0, 0,
    )  # fmt: skip
    return frame(NAV_PVT, payload)


def frame(message: bytes, payload: bytes) -> bytes:
    """Add the sync bytes, the length and the Fletcher checksum to class, id and payload."""
    body = message + struct.pack("<H", len(payload)) + payload
    sum_a = sum_b = 0
    for byte in body:
        sum_a = (sum_a + byte) & 0xFF
        sum_b = (sum_b + sum_a) & 0xFF
    return SYNC + body + bytes((sum_a, sum_b))


def _scaled(value: float, scale: float) -> int:
    return math.floor(value * scale + 0.5)


def _time_of_week_ms(utc: datetime) -> int:
    whole_s = int(utc.replace(microsecond=0).timestamp())
    week_s = (whole_s - _GPS_EPOCH_S + _LEAP_S) % _WEEK_S
    return week_s * 1000 + utc.microsecond // 1000
