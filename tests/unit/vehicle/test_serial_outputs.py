"""NMEA and UBX, read back by parsers of their own."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.core.board_options import PlatformOptions, SerialOutput
from pico_gz.core.messages import GpsData, GpsFixType, SensorData
from pico_gz.vehicle.platform.gps_serial import (
    encode_gga,
    encode_nav_pvt,
    encode_rmc,
    frame,
    sentence,
)
from pico_gz.vehicle.platform.platform import SitlPlatform

TOKYO = GpsData(
    lat_deg=35.681236,
    lon_deg=139.767125,
    alt_m=40.0,
    speed_ms=1.0,
    course_deg=84.4,
    velocity_ned_mps=(0.0976, 0.9952, -0.01),
    satellites=11,
    hdop=0.85,
)
NOON = datetime(2026, 3, 9, 12, 35, 19, 250_000, tzinfo=UTC)

fixes = st.builds(
    GpsData,
    lat_deg=st.floats(-90.0, 90.0),
    lon_deg=st.floats(-180.0, 180.0),
    alt_m=st.floats(-400.0, 9000.0),
    speed_ms=st.floats(0.0, 60.0),
    course_deg=st.floats(0.0, 360.0),
    velocity_ned_mps=st.tuples(*[st.floats(-60.0, 60.0)] * 3),
    fix_type=st.sampled_from(list(GpsFixType)[1:]),
    satellites=st.integers(0, 40),
    hdop=st.floats(0.5, 99.0),
)
times = st.datetimes(datetime(2024, 1, 1), datetime(2038, 1, 1), timezones=st.just(UTC))


def parse_sentence(data: bytes) -> list[str]:
    text = data.decode("ascii")
    assert text.startswith("$")
    assert text.endswith("\r\n")
    assert len(text) <= 82
    body, checksum = text[1:-2].split("*")
    total = 0
    for letter in body:
        total ^= ord(letter)
    assert int(checksum, 16) == total
    return body.split(",")


def parse_angle(value: str, letter: str, degree_digits: int) -> float:
    minutes = float(value[degree_digits:])
    assert minutes < 60.0
    return (int(value[:degree_digits]) + minutes / 60.0) * (-1.0 if letter in "SW" else 1.0)


def parse_frame(data: bytes) -> tuple[int, int, bytes]:
    assert data[:2] == b"\xb5\x62"
    kind, number, length = struct.unpack_from("<BBH", data, 2)
    assert len(data) == length + 8
    a = b = 0
    for byte in data[2:-2]:
        a = (a + byte) % 256
        b = (b + a) % 256
    assert data[-2:] == bytes([a, b])
    return kind, number, data[6:-2]


def field(payload: bytes, layout: str, offset: int) -> int:
    [value] = struct.unpack_from("<" + layout, payload, offset)
    return int(value)


# --- NMEA ---------------------------------------------------------------------------------


def test_checksum_of_a_sentence_from_the_books() -> None:
    body = "GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,"
    assert sentence(body) == b"$" + body.encode() + b"*47\r\n"


def test_gga_of_a_known_fix() -> None:
    fields = parse_sentence(encode_gga(TOKYO, NOON))
    assert fields == [
        "GPGGA", "123519.25", "3540.87416", "N", "13946.02750", "E", "1", "11", "0.85",
        "40.0", "M", "0.0", "M", "", "",
    ]  # fmt: skip


def test_rmc_of_a_known_fix() -> None:
    fields = parse_sentence(encode_rmc(TOKYO, NOON))
    assert fields == [
        "GPRMC", "123519.25", "A", "3540.87416", "N", "13946.02750", "E",
        "1.944", "84.40", "090326", "", "", "A",
    ]  # fmt: skip


@given(gps=fixes, utc=times)
def test_sentences_say_what_the_fix_says(gps: GpsData, utc: datetime) -> None:
    gga, rmc = parse_sentence(encode_gga(gps, utc)), parse_sentence(encode_rmc(gps, utc))
    for latitude, longitude in ((gga[2:4], gga[4:6]), (rmc[3:5], rmc[5:7])):
        assert parse_angle(latitude[0], latitude[1], 2) == pytest.approx(gps.lat_deg, abs=1e-7)
        assert parse_angle(longitude[0], longitude[1], 3) == pytest.approx(gps.lon_deg, abs=1e-7)
    assert float(gga[9]) == pytest.approx(gps.alt_m, abs=0.051)
    assert int(gga[7]) == gps.satellites
    assert float(rmc[7]) * 1852.0 / 3600.0 == pytest.approx(gps.speed_ms, abs=3e-4)
    assert 0.0 <= float(rmc[8]) < 360.0
    assert abs((float(rmc[8]) - gps.course_deg + 180.0) % 360.0 - 180.0) < 0.0051
    assert rmc[9] == utc.strftime("%d%m%y")
    assert gga[1] == rmc[1]
    assert gga[1][:6] == utc.strftime("%H%M%S")


@pytest.mark.parametrize(
    ("fix", "quality", "mode"),
    [
        (GpsFixType.FIX_2D, "1", "A"),
        (GpsFixType.FIX_3D, "1", "A"),
        (GpsFixType.RTK_FLOAT, "5", "F"),
        (GpsFixType.RTK_FIXED, "4", "R"),
    ],
)
def test_quality_of_the_fix(fix: GpsFixType, quality: str, mode: str) -> None:
    gps = GpsData(lat_deg=1, lon_deg=2, alt_m=3, speed_ms=0, course_deg=0, fix_type=fix)
    assert parse_sentence(encode_gga(gps, NOON))[6] == quality
    rmc = parse_sentence(encode_rmc(gps, NOON))
    assert (rmc[2], rmc[12]) == ("A", mode)


def test_without_a_fix_there_is_no_position() -> None:
    gps = GpsData(
        lat_deg=1, lon_deg=2, alt_m=3, speed_ms=1, course_deg=9, fix_type=GpsFixType.NO_FIX
    )
    gga, rmc = parse_sentence(encode_gga(gps, NOON)), parse_sentence(encode_rmc(gps, NOON))
    assert (gga[2:6], gga[6], gga[9]) == ([""] * 4, "0", "")
    assert (rmc[2], rmc[3:9], rmc[12]) == ("V", [""] * 6, "N")


# --- UBX ----------------------------------------------------------------------------------


def test_checksum_of_a_frame_from_the_books() -> None:
    # The poll of MON-VER, as every u-blox tool sends it.
    assert frame(b"\x0a\x04", b"") == bytes.fromhex("b5620a0400000e34")


@given(gps=fixes, utc=times)
def test_nav_pvt_says_what_the_fix_says(gps: GpsData, utc: datetime) -> None:
    kind, number, payload = parse_frame(encode_nav_pvt(gps, utc))
    assert (kind, number, len(payload)) == (0x01, 0x07, 92)
    assert field(payload, "H", 4) == utc.year
    date_time = tuple(payload[6:11])
    assert date_time == (utc.month, utc.day, utc.hour, utc.minute, utc.second)
    assert payload[11] & 0x03 == 0x03
    assert field(payload, "i", 16) == utc.microsecond * 1000
    assert payload[20] in (2, 3)
    assert payload[21] & 0x01
    assert payload[23] == gps.satellites
    assert field(payload, "i", 24) / 1e7 == pytest.approx(gps.lon_deg, abs=5.1e-8)
    assert field(payload, "i", 28) / 1e7 == pytest.approx(gps.lat_deg, abs=5.1e-8)
    assert field(payload, "i", 32) == field(payload, "i", 36)
    assert field(payload, "i", 36) / 1e3 == pytest.approx(gps.alt_m, abs=5.1e-4)
    for offset, velocity in zip((48, 52, 56), gps.velocity_ned_mps, strict=True):
        assert field(payload, "i", offset) / 1e3 == pytest.approx(velocity, abs=5.1e-4)
    assert field(payload, "i", 60) / 1e3 == pytest.approx(gps.speed_ms, abs=5.1e-4)
    course_error = field(payload, "i", 64) / 1e5 - gps.course_deg
    assert abs((course_error + 180.0) % 360.0 - 180.0) < 5.1e-6


def test_time_of_week_counts_from_sunday_in_gps_time() -> None:
    sunday = datetime(2026, 1, 4, tzinfo=UTC)
    _, _, payload = parse_frame(encode_nav_pvt(TOKYO, sunday + timedelta(milliseconds=250)))
    assert field(payload, "I", 0) == 18_250


@pytest.mark.parametrize(
    ("fix", "fix_type", "flags"),
    [
        (GpsFixType.NO_FIX, 0, 0x00),
        (GpsFixType.FIX_2D, 2, 0x01),
        (GpsFixType.FIX_3D, 3, 0x01),
        (GpsFixType.RTK_FLOAT, 3, 0x41),
        (GpsFixType.RTK_FIXED, 3, 0x81),
    ],
)
def test_fix_type_and_flags(fix: GpsFixType, fix_type: int, flags: int) -> None:
    gps = GpsData(lat_deg=1, lon_deg=2, alt_m=3, speed_ms=0, course_deg=0, fix_type=fix)
    _, _, payload = parse_frame(encode_nav_pvt(gps, NOON))
    assert (payload[20], payload[21]) == (fix_type, flags)


# --- on the platform ----------------------------------------------------------------------


def reports(output: SerialOutput, gps_period_us: int, duration_us: int) -> list[bytes]:
    """What a firmware's GPS driver reads after each fix."""
    platform = SitlPlatform(1, options=PlatformOptions(serial_outputs={1: output}))
    uart = platform.create_uart(1, baud=38_400)
    chunks = []
    for time_us in range(0, duration_us, gps_period_us):
        platform.inject_sensors(SensorData(timestamp_us=time_us, vehicle_id=1, gps=TOKYO))
        chunks.append(uart.read())
    return [chunk for chunk in chunks if chunk]


def test_nmea_on_a_uart_is_gga_then_rmc_in_simulation_time() -> None:
    chunks = reports(SerialOutput("nmea"), 200_000, 1_000_000)
    assert len(chunks) == 5
    gga, rmc = (parse_sentence(line) for line in chunks[3].splitlines(keepends=True))
    assert (gga[0], rmc[0]) == ("GPGGA", "GPRMC")
    assert gga[1] == "000000.60"
    assert rmc[9] == "010126"


def test_ubx_on_a_uart() -> None:
    chunks = reports(SerialOutput("ubx"), 200_000, 1_000_000)
    assert [len(chunk) for chunk in chunks] == [100] * 5


@pytest.mark.parametrize(
    ("rate_hz", "gps_period_us", "expected"),
    [(1.0, 200_000, 10), (5.0, 200_000, 50), (10.0, 200_000, 50), (4.0, 100_000, 40)],
)
def test_reports_keep_their_rate(rate_hz: float, gps_period_us: int, expected: int) -> None:
    chunks = reports(SerialOutput("ubx", rate_hz), gps_period_us, 10_000_000)
    assert len(chunks) == pytest.approx(expected, abs=1)


def test_a_port_that_nobody_reads_loses_bytes_and_counts_them() -> None:
    platform = SitlPlatform(1, options=PlatformOptions(serial_outputs={1: SerialOutput("ubx")}))
    for step in range(60):
        platform.inject_sensors(SensorData(timestamp_us=step * 200_000, vehicle_id=1, gps=TOKYO))
    uart = platform.create_uart(1)
    assert uart.available() == 4096
    assert uart.rx_overrun_bytes == 6000 - 4096
