"""The small parts: limits, schedule, queue, clamping, texts, failures, FTP."""

import math

import pytest

from pico_gz.core.ports import Link
from pico_gz.errors import PortClashError
from pico_gz.mavlink.commands import failure_words, integer_in
from pico_gz.mavlink.fleet_mavlink import check_plan
from pico_gz.mavlink.links import TokenBucket
from pico_gz.mavlink.streams import Schedule
from pico_gz.mavlink.tcp_link import FrameQueue
from pico_gz.mavlink.telemetry import i16, i32, status_messages, u16, whole


def test_two_listeners_on_one_port_are_named():
    one, two = Link.parse("udpin:127.0.0.1:14600"), Link.parse("udpin:0.0.0.0:14600")
    with pytest.raises(PortClashError, match=r"Vehicle 1 and vehicle 7 both want .*14600"):
        check_plan([("Vehicle 1", one), ("Vehicle 7", two)])
    check_plan([("Vehicle 1", one), ("Vehicle 7", Link.parse("tcpin:127.0.0.1:14600"))])
    check_plan([("Vehicle 1", Link.parse("udpout:127.0.0.1:14550"))] * 2)


def test_a_bucket_lets_the_rate_through_and_one_burst():
    bucket = TokenBucket(500, 500)
    taken = [sum(bucket.take(now_us) for _ in range(20)) for now_us in range(0, 2_000_000, 1000)]
    assert sum(taken[:1000]) == pytest.approx(1000, abs=2)
    assert sum(taken[1000:]) == pytest.approx(500, abs=2)


def test_a_bucket_ignores_a_clock_that_stands_or_goes_back():
    bucket = TokenBucket(10, 1, now_us=1_000_000)
    assert bucket.take(1_000_000)
    assert not bucket.take(1_000_000)
    assert not bucket.take(0)
    assert bucket.take(1_100_000)


def test_the_schedule_runs_what_is_due_on_either_clock():
    schedule = Schedule()
    ran = []
    schedule.at_sim(100, lambda: ran.append("sim"))
    schedule.at_wall(200, lambda: ran.append("wall"))
    schedule.set_time(99, 199)
    assert not schedule.run_due()
    schedule.set_time(100, 199)
    assert schedule.run_due()
    assert ran == ["sim"]
    schedule.set_time(100, 200)
    schedule.run_due()
    assert ran == ["sim", "wall"]
    assert len(schedule) == 0


def test_an_action_that_reschedules_itself_for_now_runs_once_per_turn():
    schedule = Schedule()
    ran = []

    def again():
        ran.append(schedule.turn)
        schedule.at_wall(0, again)

    schedule.at_wall(0, again)
    for _ in range(3):
        schedule.set_time(0, 0)
        schedule.run_due()
    assert ran == [1, 2, 3]


def test_a_clock_that_is_set_back_does_not_silence_what_is_due():
    schedule = Schedule()
    ran = []
    schedule.set_time(50_000_000, 0)
    schedule.at_sim(51_000_000, lambda: ran.append(schedule.sim_us))
    schedule.set_time(10_000_000, 0)
    schedule.run_due()
    assert ran == []
    schedule.set_time(11_000_000, 0)
    schedule.run_due()
    assert ran == [11_000_000]


def test_a_queue_keeps_the_order():
    box = FrameQueue(1000)
    frames = [bytes([n]) * 3 for n in range(10)]
    for n, raw in enumerate(frames):
        box.put(raw, keep=n % 3 == 0)
    assert box.take(10_000) == b"".join(frames)
    assert box.size_bytes == 0


def test_a_full_queue_drops_the_oldest_telemetry_and_keeps_answers():
    box = FrameQueue(100)
    dropped = sum(box.put(bytes([n]) * 10, keep=n % 2 == 0) for n in range(12))
    assert dropped == 2
    assert box.size_bytes == 100
    content = box.take(1000)
    assert [content[at] for at in range(0, 100, 10)] == [0, 2, 4, 5, 6, 7, 8, 9, 10, 11]


def test_a_queue_full_of_answers_stays_bounded():
    box = FrameQueue(100)
    for n in range(50):
        box.put(bytes([n]) * 10, keep=True)
        assert box.size_bytes <= 100
    assert box.take(1000)[-1] == 49


def test_a_queue_gives_whole_frames():
    box = FrameQueue(1000)
    for n in range(4):
        box.put(bytes([n]) * 10, keep=False)
    assert box.take(15) == bytes([0]) * 10 + bytes([1]) * 10
    assert box.size_bytes == 20


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1e9, 32767),
        (-1e9, -32768),
        (math.nan, 0),
        (math.inf, 32767),
        (1.4, 1),
        (1.5, 2),
        (-1.5, -1),
    ],
)
def test_numbers_are_fitted(value, expected):
    assert i16(value) == expected


def test_more_fitting():
    assert u16(-5.0) == 0
    assert u16(math.nan, nan=65535) == 65535
    assert i32(-1e20) == -(2**31)
    assert whole(300, 0, 255) == 255


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.5, -1.0, 256.0])
def test_what_is_no_integer_in_range(value):
    assert integer_in(value, 0, 255) is None
    assert integer_in(7.0, 0, 255) == 7


def test_short_texts_are_one_message():
    (message,) = status_messages(6, "Throttle armed")
    assert (message.severity, message.text, message.id) == (6, "Throttle armed", 0)


@pytest.mark.parametrize("length", [51, 99, 100, 101, 240])
def test_long_texts_are_cut_and_can_be_joined(length):
    text = "".join(chr(ord("a") + n % 26) for n in range(length))
    chunks = status_messages(2, text)
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].id != 0
    assert [chunk.chunk_seq for chunk in chunks] == list(range(len(chunks)))
    assert "".join(chunk.text for chunk in chunks) == text
    assert len(chunks[-1].text) < 50


def test_hostile_texts_are_made_harmless():
    (message,) = status_messages(99, "a\x1b[2Jb\n\x00é")
    assert message.text == "a?[2Jb???"
    assert message.severity == 7
    assert len(status_messages(0, "x" * 10_000)) <= 6


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((4, 1, 0), (("gps",), "off")),
        ((0, 2, 1), (("gyro",), "stuck")),
        ((101, 1, 0), (("motor_left", "motor_right"), "off")),
        ((101, 1, 2), (("motor_right",), "off")),
        ((7, 7, 0), (("range",), "intermittent")),
        ((101, 1, 3), None),
        ((8, 1, 0), None),
        ((4, 8, 0), None),
        ((4, 1, 2), None),
    ],
)
def test_failure_words(numbers, expected):
    assert failure_words(*numbers) == expected


def test_a_full_queue_keeps_answers_and_never_exceeds_its_limit():
    queue = FrameQueue(100)
    assert queue.put(b"a" * 60, keep=True) == 0
    assert queue.put(b"t" * 40, keep=False) == 0
    assert queue.put(b"b" * 40, keep=True) == 1  # the telemetry went
    assert queue.put(b"u" * 10, keep=False) == 1  # no answer goes for telemetry
    assert queue.size_bytes == 100
    assert queue.take(1000) == b"a" * 60 + b"b" * 40
