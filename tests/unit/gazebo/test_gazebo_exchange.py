"""The client's half of the wire, without a wire."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.gazebo.exchange import PicoExchange, RetryTimer, ServoExchange, Verdict
from pico_gz.wire.pico_json import decode_actuators
from pico_gz.wire.servo import decode_servo
from pico_gz.wire.state import encode_state
from pico_gz.wire.state_record import ImuRecord, StateRecord

NEUTRAL = (1500, 0, 1500) + (0,) * 13


def state(time_s: float) -> bytes:
    return encode_state(
        StateRecord(
            timestamp_s=time_s,
            imu=ImuRecord((0.0, 0.0, 0.0), (0.0, 0.0, -9.8)),
            position_ned_m=(0.0, 0.0, 0.0),
            quat_wxyz=(1.0, 0.0, 0.0, 0.0),
            velocity_ned_mps=(0.0, 0.0, 0.0),
        )
    )


def exchange(first_frame: int = 1) -> ServoExchange:
    made = ServoExchange(1, 1000, first_frame=first_frame)
    made.set_pwm(NEUTRAL)
    return made


def test_a_new_frame_only_after_the_record_of_the_previous_one() -> None:
    x = exchange()
    assert decode_servo(x.start(0.0)).frame_count == 1
    assert x.waiting
    assert x.feed(state(1.0), 0.001) is Verdict.NEW
    assert not x.waiting
    assert decode_servo(x.start(0.002)).frame_count == 2


def test_a_retry_is_the_same_packet_even_if_the_command_has_changed() -> None:
    x = exchange()
    first = x.start(0.0)
    x.set_pwm((2000,) * 16)
    assert x.retry(0.0005) is None
    assert x.retry(0.5) == first
    assert x.stats.retries == 1


def test_frame_rate_is_that_of_the_simulator() -> None:
    assert decode_servo(exchange().start(0.0)).frame_rate_hz == 1000


def test_frame_count_wraps_at_32_bits() -> None:
    x = exchange(first_frame=0xFFFFFFFF)
    assert decode_servo(x.start(0.0)).frame_count == 0xFFFFFFFF
    x.feed(state(1.0), 0.0)
    assert decode_servo(x.start(0.0)).frame_count == 0


def test_an_empty_reply_is_a_finished_step() -> None:
    x = exchange()
    x.start(0.0)
    assert x.feed(b"", 0.001) is Verdict.EMPTY
    assert not x.waiting
    assert x.clock.time_us == 0
    assert decode_servo(x.start(0.002)).frame_count == 2


@pytest.mark.parametrize("data", [b"x", b"\n{}\n", b"\xff" * 4097, b"[" * 4000])
def test_what_cannot_be_read_changes_nothing(data: bytes) -> None:
    x = exchange()
    x.start(0.0)
    x.feed(state(1.0), 0.0)
    x.start(0.0)
    good = x.record
    for count in range(1, 7):
        assert x.feed(data, 0.001) is Verdict.BROKEN
        assert x.invalid_in_a_row == count
    assert x.waiting
    assert x.record is good
    assert x.feed(state(1.001), 0.002) is Verdict.NEW
    assert x.invalid_in_a_row == 0


def test_duplicates_and_late_records_do_not_finish_a_frame() -> None:
    x = exchange()
    x.start(0.0)
    x.feed(state(1.0), 0.0)
    x.start(0.0)
    assert x.feed(state(1.0), 0.001) is Verdict.DUPLICATE
    assert x.feed(state(0.9), 0.002) is Verdict.OLD
    assert x.waiting
    assert (x.stats.duplicate, x.stats.old, x.stats.accepted) == (1, 1, 1)


def test_retries_follow_the_round_trip_time_within_limits() -> None:
    timer = RetryTimer()
    now = 0.0
    for _ in range(100):
        timer.start(now)
        timer.stop(now + 0.0001, now)
        now += 1.0
    timer.start(now)
    assert not timer.is_due(now + 0.0019)
    assert timer.is_due(now + 0.0021)


def test_the_round_trip_counts_from_the_last_packet_of_the_fleet() -> None:
    timer = RetryTimer()
    now = 0.0
    for _ in range(100):
        timer.start(now)
        timer.stop(now + 0.0081, now + 0.008)
        now += 1.0
    timer.start(now)
    assert timer.is_due(now + 0.0021)


def test_a_slow_simulator_is_not_bombarded() -> None:
    timer = RetryTimer()
    now = 0.0
    for _ in range(100):
        timer.start(now)
        timer.repeat(now + 0.010)
        timer.note_duplicate()
        timer.stop(now + 0.025, now + 0.010)
        now += 1.0
    timer.start(now)
    assert not timer.is_due(now + 0.049)
    assert timer.is_due(now + 0.051)


def test_a_stalled_simulator_is_asked_every_50_ms() -> None:
    timer = RetryTimer()
    timer.start(0.0)
    timer.repeat(0.2)
    assert not timer.is_due(0.249)
    assert timer.is_due(0.2501)


@given(st.lists(st.binary(max_size=200) | st.floats(0, 100).map(state), max_size=30))
def test_time_never_goes_back_whatever_arrives(datagrams: list[bytes]) -> None:
    x = exchange()
    now_s, last_us = 0.0, 0
    for data in datagrams:
        if not x.waiting:
            x.start(now_s)
        x.feed(data, now_s)
        assert x.clock.time_us >= last_us
        last_us = x.clock.time_us
        now_s += 0.1


def pico(time_us: int, vehicle_id: int = 4) -> bytes:
    imu = {"linear_acceleration": [0, 0, -9.81], "angular_velocity": [0, 0, 0]}
    return json.dumps({"vehicle_id": vehicle_id, "timestamp": time_us, "imu": imu}).encode()


def test_pico_json_exchange() -> None:
    x = PicoExchange(4, 2000)
    x.set_pwm((1500, 1600))
    sent = decode_actuators(x.start(0.0))
    assert (sent.vehicle_id, sent.motors) == (4, (1500, 1600))
    assert x.feed(pico(5_000), 0.0) is Verdict.NEW
    assert x.feed(pico(7_000), 0.0) is Verdict.NEW
    assert x.clock.time_us == 2000
    assert decode_actuators(x.start(0.0)).timestamp == 7_000
    assert x.feed(pico(9_000, vehicle_id=5), 0.0) is Verdict.FOREIGN
    assert (x.stats.foreign, x.stats.broken) == (1, 0)
    assert x.waiting
