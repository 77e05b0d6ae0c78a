import pytest

from pico_gz.bridge.clock import FreeRunning, Lockstep, Pacer, Scaled, speed_of, with_speed
from pico_gz.errors import ConfigError


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lockstep(0),
        lambda: Scaled(1.0, -5),
        lambda: Scaled(0.0),
        lambda: Scaled(float("inf")),
        lambda: FreeRunning(float("nan")),
    ],
)
def test_impossible_clocks_are_refused(make):
    with pytest.raises(ConfigError):
        make()


def test_speed_changes_the_kind_of_clock():
    assert with_speed(Lockstep(20_000), 3.0) == Scaled(3.0, 20_000)
    assert with_speed(Scaled(3.0, 20_000), None) == Lockstep(20_000)
    assert with_speed(FreeRunning(), 2.0) == FreeRunning(2.0)
    assert speed_of(Lockstep()) is None
    with pytest.raises(ConfigError):
        with_speed(FreeRunning(), None)


def test_lockstep_never_waits():
    assert Pacer().delay_s(Lockstep(), 10**9, 0.0) == 0.0


@pytest.mark.parametrize("factor", [0.2, 1.0, 10.0])
def test_scaled_time_keeps_to_the_wall_clock(factor):
    pacer, mode = Pacer(), Scaled(factor, 10_000)
    assert pacer.delay_s(mode, 0, 100.0) == 0.0
    assert pacer.delay_s(mode, 50_000, 100.0) == pytest.approx(0.05 / factor)


def test_after_a_stall_at_most_five_steps_are_caught_up():
    pacer, mode = Pacer(), Scaled(1.0, 10_000)
    pacer.delay_s(mode, 0, 0.0)
    burst, sim_us = 0, 0
    while pacer.delay_s(mode, sim_us, 10.0) == 0.0:
        sim_us += 10_000
        burst += 1
    assert burst == Pacer.MAX_BURST_STEPS + 1  # the one that is due, and five more
