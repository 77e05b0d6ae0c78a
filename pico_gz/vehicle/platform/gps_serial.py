"""GPS receivers that talk NMEA or UBX on a UART."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import xor

from pico_gz.core.board_options import SerialFormat, SerialOutput
from pico_gz.core.messages import GpsData, GpsFixType
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import US_PER_S
from pico_gz.vehicle.platform.peripherals import UartPeer

KNOTS_PER_MPS = 3600.0 / 1852.0
# Five decimals of a minute are 2 cm; a degree has sixty minutes of them.
_PARTS_PER_MINUTE = 100_000
_PARTS_PER_DEGREE = 60 * _PARTS_PER_MINUTE

_GGA_QUALITY = {
    GpsFixType.NO_FIX: 0,
    GpsFixType.FIX_2D: 1,
    GpsFixType.FIX_3D: 1,
    GpsFixType.RTK_FLOAT: 5,
    GpsFixType.RTK_FIXED: 4,
}
_RMC_MODE = {
    GpsFixType.NO_FIX: "N",
    GpsFixType.FIX_2D: "A",
    GpsFixType.FIX_3D: "A",
    GpsFixType.RTK_FLOAT: "F",
    GpsFixType.RTK_FIXED: "R",
}


def encode_gga(gps: GpsData, utc: datetime) -> bytes:
    """Position, quality, satellites, HDOP and altitude; without a fix the position is empty.

    The altitude stands for the one above sea level; the geoid separation is given as 0.
    """
    fields = ["GPGGA", _time(utc), *_position(gps), str(_GGA_QUALITY[gps.fix_type])]
    fields += [f"{gps.satellites:02d}", f"{gps.hdop:.2f}"]
    altitude = "" if gps.fix_type is GpsFixType.NO_FIX else f"{gps.alt_m:.1f}"
    return sentence(",".join([*fields, altitude, "M", "0.0", "M", "", ""]))


def encode_rmc(gps: GpsData, utc: datetime) -> bytes:
    """Position, speed over ground [knots], course over ground [degrees true] and date."""
    speed = course = ""
    if gps.fix_type is not GpsFixType.NO_FIX:
        speed = f"{gps.speed_ms * KNOTS_PER_MPS:.3f}"
        # Rounded first: 359.999 is a course of 0.00, never of 360.00.
        course = f"{round(gps.course_deg, 2) % 360.0:.2f}"
    status = "V" if gps.fix_type is GpsFixType.NO_FIX else "A"
    fields = ["GPRMC", _time(utc), status, *_position(gps), speed, course]
    return sentence(",".join([*fields, f"{utc:%d%m%y}", "", "", _RMC_MODE[gps.fix_type]]))


def sentence(body: str) -> bytes:
    """Frame a body: ``$``, checksum (exclusive or of the body) and line end."""
    data = body.encode("ascii")
    return b"$%b*%02X\r\n" % (data, reduce(xor, data, 0))


def _time(utc: datetime) -> str:
    return f"{utc:%H%M%S}.{utc.microsecond // 10_000:02d}"


def _position(gps: GpsData) -> list[str]:
    if gps.fix_type is GpsFixType.NO_FIX:
        return ["", "", "", ""]
    return [
        *_angle(gps.lat_deg, degree_digits=2, letters="NS"),
        *_angle(gps.lon_deg, degree_digits=3, letters="EW"),
    ]


def _angle(angle_deg: float, degree_digits: int, letters: str) -> tuple[str, str]:
    """Degrees and minutes; counted in whole parts, so that 60.00000 minutes cannot appear."""
    parts = round(abs(angle_deg) * _PARTS_PER_DEGREE)
    degrees, rest = divmod(parts, _PARTS_PER_DEGREE)
    minutes, fraction = divmod(rest, _PARTS_PER_MINUTE)
    letter = letters[1] if angle_deg < 0.0 else letters[0]
    return f"{degrees:0{degree_digits}d}{minutes:02d}.{fraction:05d}", letter


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
# Metres of horizontal accuracy per unit of HDOP, as receivers report it.
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


class SerialOutputs(Snapshot):
    """Writes each fix to every configured port, no faster than the port's rate.

    Time of day is ``utc_start_s`` plus simulation time, so that runs repeat.
    """

    _state_fields = ("_due_us",)

    def __init__(
        self,
        outputs: Mapping[int, SerialOutput],
        ends: Mapping[int, UartPeer],
        utc_start_s: int,
    ) -> None:
        self._outputs = dict(sorted(outputs.items()))
        self._ends = ends
        self._utc_start = datetime.fromtimestamp(utc_start_s, tz=UTC)
        self._due_us = dict.fromkeys(self._outputs, 0)

    def report(self, gps: GpsData, now_us: int) -> None:
        """Write the fix of ``now_us`` where a report is due."""
        for port, output in self._outputs.items():
            if now_us < self._due_us[port]:
                continue
            period_us = round(US_PER_S / output.rate_hz)
            # On the grid while the samples keep up, so that 5 Hz stays 5 Hz.
            on_grid_us = self._due_us[port] + period_us
            self._due_us[port] = on_grid_us if on_grid_us > now_us else now_us + period_us
            utc = self._utc_start + timedelta(microseconds=now_us)
            self._ends[port].write(encode_report(output.format, gps, utc))


def encode_report(kind: SerialFormat, gps: GpsData, utc: datetime) -> bytes:
    """One report of a receiver: the two sentences, or the one frame."""
    if kind is SerialFormat.UBX:
        return encode_nav_pvt(gps, utc)
    return encode_gga(gps, utc) + encode_rmc(gps, utc)
