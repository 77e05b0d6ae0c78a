"""State records: what the real plugin sent, the writer's rules, and all that is refused."""

import json
import math
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.errors import DecodeError, EncodeError
from pico_gz.wire.state import (
    decode_state,
    encode_plain_state,
    encode_state,
    quaternion_from_euler,
    read_state,
)
from pico_gz.wire.state_record import (
    BatteryRecord,
    ImuRecord,
    SlowKeys,
    StateRecord,
    WindvaneRecord,
)

CAPTURES = Path(__file__).parents[2] / "golden" / "captures"
LEVEL = ImuRecord((0.0, 0.0, 0.0), (0.0, 0.0, -9.81))
PLAIN = StateRecord(
    timestamp_s=1.5,
    imu=LEVEL,
    position_ned_m=(1.0, 2.0, -0.2),
    quat_wxyz=(1.0, 0.0, 0.0, 0.0),
    velocity_ned_mps=(0.1, 0.2, 0.0),
)
FULL = msgspec.structs.replace(
    PLAIN,
    latitude_deg=35.681236,
    longitude_deg=139.767125,
    altitude_m=40.0,
    rng_1=1.25,
    rng_2=3.5,
    wind_ned_mps=(3.0, -1.0, 0.0),
    windvane=WindvaneRecord(0.5, 3.2),
    airspeed_mps=3.3,
    rc={"rc_1": 1500.0, "rc_2": 1501.0},
    battery=BatteryRecord(7.4, 1.2),
    no_time_sync=False,
    no_lockstep=True,
)


def plugin_replies() -> list[bytes]:
    lines = (CAPTURES / "plugin_exchange.jsonl").read_text().splitlines()
    return [json.loads(line)["reply"].encode() for line in lines]


@pytest.mark.parametrize(
    "slow",
    [
        {},
        {"rng_1": 1.25},
        {"rng_2": 0.5, "rng_6": 4.0, "battery": BatteryRecord(7.4, 1.2)},
        {"rc": {"rc_1": 1500.0, "rc_2": 1501.0}, "battery": BatteryRecord(12.4, 0.0)},
        {"no_lockstep": True},
    ],
)
def test_a_record_written_quickly_has_the_same_bytes(slow: dict[str, object]) -> None:
    record = msgspec.structs.replace(PLAIN, **slow)
    assert record.quat_wxyz is not None
    quick = encode_plain_state(
        record.timestamp_s,
        record.imu,
        record.position_ned_m,
        record.quat_wxyz,
        record.velocity_ned_mps,
        SlowKeys(**slow).encode(),  # type: ignore[arg-type]
    )
    assert quick == encode_state(record)


def test_a_slow_key_that_is_not_finite_is_refused() -> None:
    slow = SlowKeys(battery=BatteryRecord(math.nan, 0.0)).encode()
    with pytest.raises(EncodeError, match="not finite"):
        encode_plain_state(0.0, LEVEL, (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3, slow)


def test_every_reply_of_the_real_plugin_is_read_exactly() -> None:
    replies = plugin_replies()
    assert len(replies) == 544
    for reply in replies:
        record = decode_state(reply)
        raw = json.loads(reply)
        assert record.timestamp_s == raw["timestamp"]
        assert list(record.imu.gyro_frd_radps) == raw["imu"]["gyro"]
        assert list(record.imu.accel_frd_mps2) == raw["imu"]["accel_body"]
        assert list(record.position_ned_m) == raw["position"]
        assert record.quat_wxyz is not None
        assert list(record.quat_wxyz) == raw["quaternion"]
        assert list(record.velocity_ned_mps) == raw["velocity"]


def test_replies_of_the_real_plugin_survive_our_writer() -> None:
    for reply in plugin_replies():
        record = decode_state(reply)
        assert decode_state(encode_state(record)) == record


def test_writer_writes_the_keys_in_the_plugins_order() -> None:
    raw = (CAPTURES / "plugin_raw_reply.bin").read_bytes()
    ours = encode_state(decode_state(raw))
    keys = re.compile(rb'"(\w+)":')
    assert keys.findall(ours) == keys.findall(raw)
    assert json.loads(ours) == json.loads(raw)


@pytest.mark.parametrize("record", [PLAIN, FULL], ids=["plain", "full"])
def test_writer_obeys_the_substring_scanner(record: StateRecord) -> None:
    data = encode_state(record)
    assert data.startswith(b"\n{")
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 2
    assert not re.search(rb"\s:|:\s|\s\[", data[1:-1])
    assert len(data) < 1400
    assert decode_state(data) == record


def test_velocity_is_ahead_of_its_wind_and_sections_ahead_of_members() -> None:
    text = encode_state(FULL).decode()
    assert text.index('"velocity":') < text.index('"velocity_wind":')
    for section, member in (
        ("imu", "gyro"),
        ("windvane", "direction"),
        ("rc", "rc_1"),
        ("battery", "voltage"),
    ):
        assert text.index(f'"{section}":') < text.index(f'"{member}":')
    assert "_s" not in text.replace("no_time_sync", "")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["timestamp_s", "position_ned_m", "rng_1", "battery"])
def test_writer_refuses_what_is_not_finite(field: str, bad: float) -> None:
    value = {
        "timestamp_s": bad,
        "position_ned_m": (0.0, bad, 0.0),
        "rng_1": bad,
        "battery": BatteryRecord(bad, 0.0),
    }[field]
    with pytest.raises(EncodeError):
        encode_state(msgspec.structs.replace(PLAIN, **{field: value}))


def test_writer_needs_an_attitude() -> None:
    with pytest.raises(EncodeError):
        encode_state(msgspec.structs.replace(PLAIN, quat_wxyz=None))


def plain_dict() -> dict[str, object]:
    return json.loads(encode_state(PLAIN))


def broken(key: str, value: object) -> bytes:
    return json.dumps({**plain_dict(), key: value}).encode()


REFUSED = {
    "nan": encode_state(PLAIN).replace(b"1.5", b"NaN"),
    "infinity": encode_state(PLAIN).replace(b"1.5", b"Infinity"),
    "overflow": encode_state(PLAIN).replace(b"1.5", b"1e999"),
    "huge": broken("position", [1e308, 0, 0]),
    "huge_optional": broken("rng_1", 1e308),
    "null": broken("velocity", [None, 0, 0]),
    "string_for_number": broken("timestamp", "1.5"),
    "bool_for_number": broken("timestamp", True),
    "short_vector": broken("position", [1, 2]),
    "long_vector": broken("position", [1, 2, 3, 4]),
    "negative_time": broken("timestamp", -1e-6),
    "double_key": encode_state(PLAIN).replace(b'{"timestamp"', b'{"timestamp":1.0,"timestamp"'),
    "double_optional": encode_state(PLAIN).replace(b'{"time', b'{"rng_1":1,"rng_1":2,"time'),
    "deep": encode_state(PLAIN).replace(b'{"time', b'{"x":' + b"[" * 900 + b"]" * 900 + b',"time'),
    "very_deep": b'{"x":' + b"[" * 10_000,
    "bad_utf8": encode_state(PLAIN).replace(b'{"time', b'{"x":"\xff","time'),
    "no_unit_quaternion": broken("quaternion", [1, 1, 0, 0]),
    "zero_quaternion": broken("quaternion", [0, 0, 0, 0]),
    "oversize": encode_state(PLAIN).replace(b'{"time', b'{"x":"' + b"a" * 5000 + b'","time'),
    "empty": b"",
    "one_byte": b"\n",
    "not_an_object": b"\n[1,2]\n",
    "truncated": encode_state(PLAIN)[:-20],
}
for name in ("timestamp", "imu", "position", "velocity", "quaternion"):
    REFUSED[f"missing_{name}"] = json.dumps(
        {k: v for k, v in plain_dict().items() if k != name}
    ).encode()


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
def test_refused_as_a_whole(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_state(data)


def test_unknown_keys_are_ignored_and_blanks_are_fine_for_us() -> None:
    text = json.dumps({"extra": {"a": [1, 2]}, **plain_dict(), "note": "a:b"}, indent=1)
    assert decode_state(text.encode()) == PLAIN


def test_keys_of_newer_plugins_are_read() -> None:
    data = broken("no_time_sync", True)
    assert decode_state(data).no_time_sync is True


def test_attitude_alone_becomes_a_quaternion() -> None:
    raw = {k: v for k, v in plain_dict().items() if k != "quaternion"}
    record = decode_state(json.dumps({**raw, "attitude": [0, 0, math.pi / 2]}).encode())
    assert record.quat_wxyz == pytest.approx((math.sqrt(0.5), 0, 0, math.sqrt(0.5)))


def test_quaternion_wins_over_attitude() -> None:
    record = decode_state(broken("attitude", [0.0, 0.0, 1.0]))
    assert record.quat_wxyz == (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("euler", "quat"),
    [
        ((0, 0, 0), (1, 0, 0, 0)),
        ((math.pi, 0, 0), (0, 1, 0, 0)),
        ((0, math.pi, 0), (0, 0, 1, 0)),
        ((0, 0, math.pi), (0, 0, 0, 1)),
    ],
)
def test_euler_angles(euler: tuple[float, ...], quat: tuple[float, ...]) -> None:
    assert quaternion_from_euler(*euler) == pytest.approx(quat, abs=1e-15)


def test_each_rangefinder_alone_may_be_missing() -> None:
    assert FULL.rangefinders_m() == (1.25, 3.5)
    assert msgspec.structs.replace(FULL, rng_1=None).rangefinders_m() == (None, 3.5)
    assert msgspec.structs.replace(FULL, rng_1=-1.0).rangefinders_m() == (None, 3.5)
    assert msgspec.structs.replace(FULL, rng_2=-1.0).rangefinders_m() == (1.25,)
    assert msgspec.structs.replace(FULL, rng_1=-1.0, rng_2=None).rangefinders_m() == ()


def test_a_reader_is_told_of_optional_keys() -> None:
    assert read_state(encode_state(FULL))[1]
    plain = encode_plain_state(
        1.0, FULL.imu, FULL.position_ned_m, (1.0, 0.0, 0.0, 0.0), FULL.velocity_ned_mps
    )
    assert not read_state(plain)[1]


finite = st.floats(-1e5, 1e5)
vector = st.tuples(finite, finite, finite)


@given(st.floats(0, 1e8), vector, vector, vector, vector)
def test_round_trip_is_exact(t: float, g: tuple, a: tuple, p: tuple, v: tuple) -> None:  # type: ignore[type-arg]
    record = StateRecord(
        timestamp_s=t,
        imu=ImuRecord(g, a),
        position_ned_m=p,
        quat_wxyz=(0.0, 1.0, 0.0, 0.0),
        velocity_ned_mps=v,
    )
    data = encode_state(record)
    assert decode_state(data) == record
    assert len(data) < 1400
    for number in re.findall(rb"[\[,:]([^\[\]{},:\"]+)", data):
        assert number[:1] in b"-0123456789"


@given(st.binary(max_size=500))
def test_garbage_is_refused_and_nothing_else_is_raised(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_state(data)


@given(st.data())
def test_one_changed_byte_is_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(encode_state(FULL))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        record = decode_state(bytes(raw))
    except DecodeError:
        return
    assert record.quat_wxyz is not None
