"""The autopilot's reader: real replies, our writer, and the mistakes it is known for."""

import json
import math
from pathlib import Path

import pytest

from pico_gz.testing.autopilot_twin import SubstringParser
from pico_gz.wire.state import encode_state
from pico_gz.wire.state_record import BatteryRecord, ImuRecord, StateRecord, WindvaneRecord

CAPTURE = Path(__file__).parents[2] / "golden" / "captures" / "plugin_exchange.jsonl"
FULL = StateRecord(
    timestamp_s=1.5,
    imu=ImuRecord((1e-9, 0.2, 0.3), (0.4, 0.5, -9.8)),
    position_ned_m=(1.0, 2.0, 3.0),
    quat_wxyz=(1.0, 0.0, 0.0, 0.0),
    velocity_ned_mps=(4.0, 5.0, 6.0),
    latitude_deg=35.5,
    longitude_deg=139.5,
    altitude_m=40.0,
    rng_1=1.25,
    rng_2=2.5,
    wind_ned_mps=(7.0, 8.0, 9.0),
    windvane=WindvaneRecord(0.25, 3.5),
    airspeed_mps=2.5,
    rc={"rc_1": 1500.0, "rc_2": 1600.0},
    battery=BatteryRecord(12.5, 1.5),
    no_time_sync=True,
    no_lockstep=True,
)
BOTH = pytest.mark.parametrize("release_47", [False, True], ids=["4.6", "4.7"])


@BOTH
def test_every_real_reply_is_accepted_and_read_exactly(release_47: bool) -> None:
    parser = SubstringParser(release_47=release_47)
    for line in CAPTURE.read_text().splitlines():
        reply = json.loads(line)["reply"]
        raw = json.loads(reply)
        assert parser.feed(reply.encode())
        assert parser.state.values["timestamp"] == raw["timestamp"]
        assert parser.state.values["imu.gyro"] == tuple(raw["imu"]["gyro"])
        assert parser.state.values["quaternion"] == tuple(raw["quaternion"])
        assert parser.state.values["velocity"] == tuple(raw["velocity"])


@BOTH
def test_all_that_our_writer_writes_is_understood(release_47: bool) -> None:
    parser = SubstringParser(release_47=release_47)
    assert parser.feed(encode_state(FULL))
    got = parser.state.values
    assert got["imu.accel_body"] == (0.4, 0.5, -9.8)
    assert got["velocity"] == (4.0, 5.0, 6.0)
    assert got["velocity_wind"] == (7.0, 8.0, 9.0)
    assert (got["rng_1"], got["rng_2"]) == (1.25, 2.5)
    assert (got["windvane.direction"], got["windvane.speed"], got["airspeed"]) == (0.25, 3.5, 2.5)
    assert (got["rc.rc_1"], got["rc.rc_2"]) == (1500.0, 1600.0)
    assert (got["battery.voltage"], got["battery.current"]) == (12.5, 1.5)
    assert got["no_time_sync"] is True
    assert ("latitude" in got) is release_47
    assert parser.state.complaint == ""


def text(**changes: str) -> str:
    parts = {
        "timestamp": "1.5",
        "imu": '{"gyro":[1,2,3],"accel_body":[4,5,6]}',
        "position": "[1,2,3]",
        "quaternion": "[1,0,0,0]",
        "velocity": "[4,5,6]",
        **changes,
    }
    return "{" + ",".join(f'"{k}":{v}' for k, v in parts.items() if v) + "}"


def test_default_python_json_fails_up_to_46_only() -> None:
    record = json.dumps(json.loads(text()))
    assert not SubstringParser().parse(record)
    assert SubstringParser(release_47=True).parse(record)


@BOTH
def test_a_blank_before_the_colon_zeroes_numbers(release_47: bool) -> None:
    parser = SubstringParser(release_47=release_47)
    parser.parse(text().replace('"timestamp":', '"timestamp" :'))
    assert parser.state.values["timestamp"] == 0.0


@BOTH
def test_a_blank_makes_a_flag_false(release_47: bool) -> None:
    parser = SubstringParser(release_47=release_47)
    parser.parse(text(no_time_sync=" true"))
    assert parser.state.values["no_time_sync"] is False


def test_wind_ahead_of_velocity() -> None:
    swapped = '{"timestamp":1.5,"imu":{"gyro":[1,2,3],"accel_body":[4,5,6]},"position":[1,2,3],'
    swapped += '"quaternion":[1,0,0,0],"velocity_wind":[7,8,9],"velocity":[4,5,6],"rng_1":2}'
    old, new = SubstringParser(), SubstringParser(release_47=True)
    assert old.parse(swapped)
    assert "velocity" not in old.state.values
    assert "rng_1" not in old.state.values
    assert new.parse(swapped)
    assert new.state.values["velocity"] == (7.0, 8.0, 9.0)


@BOTH
def test_a_longer_key_ahead_shadows_a_shorter_one(release_47: bool) -> None:
    parser = SubstringParser(release_47=release_47)
    parser.parse('{"timestamp_us":1500000,' + text()[1:])
    assert parser.state.values["timestamp"] == 0.0


def test_rc_10_alone_reads_as_rc_1_zero() -> None:
    parser = SubstringParser()
    parser.parse(text(rc='{"rc_10":1700}'))
    assert parser.state.values["rc.rc_1"] == 0.0


@BOTH
@pytest.mark.parametrize("missing", ["timestamp", "imu", "velocity"])
def test_mandatory_fields(missing: str, release_47: bool) -> None:
    parser = SubstringParser(release_47=release_47)
    assert not parser.parse(text(**{missing: ""}))
    assert "mandatory" in parser.state.complaint


def test_position_is_mandatory_up_to_46() -> None:
    assert not SubstringParser().parse(text(position=""))
    assert SubstringParser(release_47=True).parse(text(position=""))


@BOTH
def test_an_attitude_is_needed(release_47: bool) -> None:
    parser = SubstringParser(release_47=release_47)
    assert not parser.parse(text(quaternion=""))
    assert parser.parse(text(quaternion="", attitude="[0,0,1]"))


@BOTH
def test_a_malformed_vector_after_the_attitude_is_accepted_with_stale_values(
    release_47: bool,
) -> None:
    parser = SubstringParser(release_47=release_47)
    assert parser.parse(text())
    assert parser.parse(text(velocity="[null,0,0]", rng_1="7"))
    assert parser.state.values["velocity"] == (4.0, 5.0, 6.0)
    assert "rng_1" not in parser.state.values
    assert not parser.parse(text(position="[null,0,0]"))


def test_nan_is_stored_by_46_and_refused_by_47() -> None:
    old, new = SubstringParser(), SubstringParser(release_47=True)
    assert old.parse(text(position="[nan,0,0]"))
    position = old.state.values["position"]
    assert isinstance(position, tuple)
    assert math.isnan(position[0])
    assert not new.parse(text(position="[nan,0,0]"))


def test_a_leading_point_reads_as_5_in_47_vectors() -> None:
    new = SubstringParser(release_47=True)
    new.parse(text(position="[.5,0,0]"))
    assert new.state.values["position"] == (5.0, 0.0, 0.0)


def test_framing_needs_the_line_feeds_and_takes_the_newest() -> None:
    parser = SubstringParser()
    assert not parser.feed(text().encode())
    assert not parser.feed(b"")
    parser = SubstringParser()
    first, second = text(timestamp="1.0"), text(timestamp="2.0")
    assert parser.feed(f"\n{first}\n\n{second}\n".encode())
    assert parser.state.values["timestamp"] == 2.0
    parser = SubstringParser()
    assert not parser.feed(f"{first}\n".encode())
    assert parser.feed(f"\n{first}\n".encode())
    assert parser.feed(f"{second}\n".encode())


def test_pretty_printing_breaks_it() -> None:
    pretty = json.dumps(json.loads(text()), indent=1)
    assert not SubstringParser(release_47=True).feed(f"\n{pretty}\n".encode())


def test_rejected_records_fill_the_buffer_for_good() -> None:
    parser = SubstringParser()
    bad = b"\n" + text(velocity="").encode() + b"\n"
    for _ in range(65000 // len(bad)):
        assert not parser.feed(bad)
    assert not parser.feed(b"\n" + text().encode() + b"\n")
    assert "full" in parser.state.complaint
