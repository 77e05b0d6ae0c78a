"""New, doubled, late and restarted: what the times of records mean."""

import pytest

from pico_gz.gazebo.exchange import Verdict, WireClock


def make_clock() -> WireClock:
    clock = WireClock(physics_step_us=1000)
    assert clock.judge(2_500_000, 0.0) is Verdict.NEW
    return clock


def test_the_first_record_starts_at_zero_wherever_the_world_is() -> None:
    assert make_clock().time_us == 0


def test_time_rises_with_the_records() -> None:
    clock = make_clock()
    assert clock.judge(2_501_000, 0.1) is Verdict.NEW
    assert clock.time_us == 1000
    assert clock.odd_steps == 0


@pytest.mark.parametrize(
    ("wire_us", "verdict"),
    [(2_499_999, Verdict.OLD), (2_500_000, Verdict.DUPLICATE), (12_500_000, Verdict.GAP)],
)
def test_minus_one_equal_and_ten_seconds_more(wire_us: int, verdict: Verdict) -> None:
    clock = make_clock()
    assert clock.judge(wire_us, 0.1) is verdict
    assert clock.time_us == (1000 if verdict is Verdict.GAP else 0)


def test_late_datagrams_are_no_restart_while_newer_ones_arrive() -> None:
    clock = make_clock()
    for i in range(100):
        now_s = 0.01 * i
        assert clock.judge(2_500_000 + 1000 * (i + 1), now_s) is Verdict.NEW
        assert clock.judge(2_500_000 + 1000 * i - 40_000, now_s) is Verdict.OLD
    assert clock.epoch == 0


def test_lower_times_for_long_are_a_restart_and_time_goes_on() -> None:
    clock = make_clock()
    clock.judge(2_600_000, 0.0)
    before_us = clock.time_us
    assert clock.judge(1000, 1.0) is Verdict.OLD
    assert clock.judge(1000, 1.199) is Verdict.OLD
    assert clock.judge(1000, 1.201) is Verdict.RESTART
    assert (clock.epoch, clock.time_us) == (1, before_us)
    assert clock.judge(2000, 1.3) is Verdict.NEW
    assert clock.time_us == before_us + 1000


def test_steps_of_another_length_are_counted() -> None:
    clock = make_clock()
    for i in range(1, 4):
        clock.judge(2_500_000 + 4000 * i, 0.0)
    assert (clock.odd_steps, clock.last_delta_us) == (3, 4000)
    assert clock.time_us == 12_000


def test_times_that_jump_about_are_no_other_step() -> None:
    clock = make_clock()
    wire_us = 2_500_000
    for delta_us in (4000, 30_001, 7, 4000, 900, 4000, 2_000_000, 4000):
        wire_us += delta_us
        clock.judge(wire_us, 0.0)
        assert clock.odd_steps == 1
    for rounded_us in (3333, 3333, 3334, 3333):
        wire_us += rounded_us
        clock.judge(wire_us, 0.0)
    assert clock.odd_steps == 4
    clock.judge(wire_us + 1000, 0.0)
    assert clock.odd_steps == 0
