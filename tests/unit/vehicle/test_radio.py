"""Radio frames on their way into the ``rc`` key."""

import pytest

from pico_gz.vehicle.external.records import LOST_AFTER_US, ExternalRadio, without_holes


class Bench:
    def __init__(self) -> None:
        self.sent: list[tuple[int, ...]] = []
        self.told: list[str] = []
        self.radio = ExternalRadio(3, lambda us: self.sent.append(tuple(us)), self.told.append)


@pytest.mark.parametrize(
    ("given", "carried"),
    [
        ((1100, 1500, 1900), (1100, 1500, 1900)),
        ((1100,) * 16, (1100,) * 12),
        ((1100, 1200, 0, 0), (1100, 1200)),
        ((1100, 0, 1300, 0), (1100, 1500, 1300)),
        ((0,) * 16, ()),
    ],
)
def test_what_the_wire_can_carry(given, carried):
    assert without_holes(given) == carried


def test_only_changes_are_handed_on():
    bench = Bench()
    for now_us in range(0, 200_000, 20_000):
        bench.radio.inject_rc((1500, 1500, 1700), now_us)
    bench.radio.inject_rc((1500, 1500, 1800), 200_000)
    assert bench.sent == [(1500, 1500, 1700), (1500, 1500, 1800)]


def test_a_lost_link_centres_the_sticks_and_leaves_the_switches():
    bench = Bench()
    frame = (1100, 1500, 1900, 1500, 1165)
    bench.radio.inject_rc(frame, 10)
    bench.radio.check(10 + LOST_AFTER_US)
    assert bench.sent == [frame]
    for now_us in (11, 12, 13):
        bench.radio.check(now_us + LOST_AFTER_US)
    assert bench.sent[1:] == [(1500, 1500, 1500, 1500, 1165)]
    assert len(bench.told) == 1
    bench.radio.inject_rc(frame, 20 + LOST_AFTER_US)
    assert bench.sent[-1] == frame
    assert "back" in bench.told[-1]


def test_a_radio_that_never_spoke_is_not_lost():
    bench = Bench()
    bench.radio.check(100 * LOST_AFTER_US)
    bench.radio.inject_rc((0,) * 16, 0)
    assert (bench.sent, bench.told) == ([], [])


def test_the_channels_of_a_restored_moment_go_out_again():
    bench = Bench()
    bench.radio.inject_rc((1500, 1500, 1700), 0)
    saved = bench.radio.save_state()
    bench.radio.check(LOST_AFTER_US + 1)
    assert bench.sent[-1] == (1500, 1500, 1500)
    bench.radio.load_state(saved)
    assert bench.sent[-1] == (1500, 1500, 1700)
    bench.radio.check(LOST_AFTER_US)
    assert len(bench.sent) == 3
