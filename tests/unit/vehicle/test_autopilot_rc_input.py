"""Sticks: scaling, dead zone, overrides and their time-out, mode switch."""

import pytest

from pico_gz.vehicle.autopilot.parameters import ParamStore
from pico_gz.vehicle.autopilot.rc_input import RcInput
from pico_gz.vehicle.platform.platform import SitlPlatform

SECOND = 1_000_000


def make(**params):
    return RcInput({**ParamStore().values, **params}), SitlPlatform(1)


def frame(**channels):
    pulses = [1500] * 16
    for name, value in channels.items():
        pulses[int(name[2:]) - 1] = value
    return pulses


@pytest.mark.parametrize(
    ("pulse", "stick"),
    [(1500, 0.0), (1530, 0.0), (1470, 0.0), (2000, 1.0), (1000, -1.0), (1765, 0.5), (2200, 1.0)],
)
def test_throttle_stick(pulse, stick):
    rc, platform = make()
    platform.inject_rc(frame(ch3=pulse), 0)
    rc.update(platform, 0)
    assert rc.throttle() == pytest.approx(stick)


@pytest.mark.parametrize("pulse", [0, 700, 65535])
def test_no_pulse_is_neutral(pulse):
    rc, platform = make()
    platform.inject_rc(frame(ch1=pulse), 0)
    rc.update(platform, 0)
    assert rc.steering() == 0.0


def test_reversed_and_mapped():
    rc, platform = make(RC1_REVERSED=1, RCMAP_ROLL=2)
    platform.inject_rc(frame(ch2=2000), 0)
    rc.update(platform, 0)
    assert rc.steering() == -1.0


def test_never_seen_is_not_lost():
    rc, platform = make()
    rc.update(platform, 10 * SECOND)
    assert not rc.seen
    assert not rc.lost()
    assert rc.throttle() == 0.0


def test_silence_is_loss_and_sticks_go_neutral():
    rc, platform = make()
    platform.inject_rc(frame(ch3=2000), 0)
    rc.update(platform, 100_000)
    assert not rc.lost()
    rc.update(platform, SECOND)
    assert rc.lost()
    assert rc.throttle() == 0.0


def test_low_throttle_is_the_receivers_alarm():
    rc, platform = make()
    platform.inject_rc(frame(ch3=905), 0)
    rc.update(platform, 0)
    assert rc.lost()


def test_override_beats_the_receiver_until_it_ends():
    rc, platform = make()
    platform.inject_rc(frame(ch3=1000), 0)
    rc.override({3: 2000}, 0)
    rc.update(platform, 0)
    assert rc.throttle() == 1.0
    platform.inject_rc(frame(ch3=1000), 3 * SECOND)
    rc.update(platform, 3 * SECOND)
    assert rc.throttle() == 1.0
    platform.inject_rc(frame(ch3=1000), 4 * SECOND)
    rc.update(platform, 4 * SECOND)
    assert rc.throttle() == -1.0


def test_an_override_that_stops_is_a_loss_but_a_released_one_is_not():
    rc, platform = make()
    rc.override({3: 2000}, 0)
    rc.update(platform, 0)
    assert rc.valid
    rc.update(platform, 4 * SECOND)
    assert rc.lost()
    rc.override({3: 2000}, 5 * SECOND)
    rc.update(platform, 5 * SECOND)
    rc.release([3])
    rc.update(platform, 6 * SECOND)
    assert not rc.lost()


def test_channels_outside_the_frame_are_ignored():
    rc, platform = make()
    rc.override({0: 2000, 17: 2000, -1: 2000}, 0)
    rc.release([0, 99])
    rc.update(platform, 0)
    assert not rc.seen


def test_mode_switch_reports_moves_only():
    rc, platform = make()
    slots = []
    for pulse in (1100, 1100, 1300, 1400, 1550, 1700, 1900, 1900, 0):
        platform.inject_rc(frame(ch8=pulse), 0)
        rc.update(platform, 0)
        slots.append(rc.mode_slot())
    assert slots == [0, 0, 2, 3, 4, 5, 6, 0, 0]
