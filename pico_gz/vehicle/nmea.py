"""NMEA 0183 sentences of a GPS receiver: GGA and RMC. Pure, no I/O."""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from operator import xor

from pico_gz.messages import GpsData, GpsFixType

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
