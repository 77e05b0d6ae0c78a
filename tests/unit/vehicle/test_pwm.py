from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.core.units import normalized_from_pwm
from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.platform.pwm import MAX_FREQUENCY_HZ

frequencies = st.integers(min_value=1, max_value=MAX_FREQUENCY_HZ)


def test_a_fresh_channel_is_neutral() -> None:
    platform = SitlPlatform(1)
    left = platform.create_pwm(1)
    assert left.pulse_us() == 1500
    assert left.get_duty() == pytest.approx(0.075)
    assert platform.collect_actuator_commands().motors == (0.0, 0.0)


def test_duty_zero_is_no_pulse_and_neutral_never_full_reverse() -> None:
    platform = SitlPlatform(1)
    left, right = platform.create_pwm(1), platform.create_pwm(3)
    left.set_duty(0.0)
    right.set_duty(1.0)
    assert left.pulse_us() == 0
    assert platform.collect_actuator_commands().motors == (0.0, 0.0)


@given(frequency_hz=frequencies, duty=st.floats(min_value=0.0, max_value=1.0))
def test_duty_comes_back_to_half_a_microsecond(frequency_hz: int, duty: float) -> None:
    pwm = SitlPlatform(1).create_pwm(5, frequency_hz)
    pwm.set_duty(duty)
    assert 0.0 <= pwm.get_duty() <= 1.0
    # The very end of a period that is no whole number of microseconds is cut off.
    assert abs(pwm.get_duty() - duty) <= 1.01e-6 * frequency_hz
    if duty < 1.0 - 1e-6 * frequency_hz:
        assert abs(pwm.get_duty() - duty) <= 0.501e-6 * frequency_hz


@given(frequency_hz=frequencies, pulse_us=st.integers(min_value=-10, max_value=1_000_010))
def test_a_pulse_is_taken_exactly_or_refused(frequency_hz: int, pulse_us: int) -> None:
    pwm = SitlPlatform(1).create_pwm(1, frequency_hz)
    if 0 <= pulse_us * frequency_hz <= 1_000_000:
        pwm.set_pulse_us(pulse_us)
        assert pwm.pulse_us() == pulse_us
    else:
        with pytest.raises(ConfigError):
            pwm.set_pulse_us(pulse_us)
        assert pwm.pulse_us() == 1500


@given(left_us=st.integers(0, 20_000), right_us=st.integers(0, 20_000))
def test_commands_follow_the_pulse_rule(left_us: int, right_us: int) -> None:
    platform = SitlPlatform(1)
    left, right = platform.create_pwm(1), platform.create_pwm(3)
    left.set_pulse_us(left_us)
    right.set_pulse_us(right_us)
    motors = platform.collect_actuator_commands().motors
    assert motors == (normalized_from_pwm(left_us), normalized_from_pwm(right_us))
    if left_us < 800 or left_us > 2200:
        assert motors[0] == 0.0


@pytest.mark.parametrize("duty", [-0.01, 1.01, math.nan, math.inf])
def test_impossible_duties_are_refused(duty: float) -> None:
    pwm = SitlPlatform(1).create_pwm(1)
    with pytest.raises(ConfigError, match="duty"):
        pwm.set_duty(duty)
    assert pwm.pulse_us() == 1500


def test_the_frequency_changes_and_the_servo_stays() -> None:
    pwm = SitlPlatform(1).create_pwm(1)
    pwm.set_pulse_us(1700)
    pwm.set_frequency(400)
    assert (pwm.frequency_hz, pwm.pulse_us()) == (400, 1700)
    assert pwm.get_duty() == pytest.approx(0.68)
    pwm.set_frequency(50)
    pwm.set_pulse_us(20_000)
    with pytest.raises(ConfigError, match="do not fit"):
        pwm.set_frequency(51)


@pytest.mark.parametrize("frequency_hz", [0, -50, 455, 20_000])
def test_frequencies_that_carry_no_servo_pulse_are_refused(frequency_hz: int) -> None:
    platform = SitlPlatform(1)
    with pytest.raises(ConfigError, match="Hz"):
        platform.create_pwm(1, frequency_hz)
    platform.create_pwm(1)


def test_a_closed_channel_is_silent_and_free_again() -> None:
    platform = SitlPlatform(1)
    pwm = platform.create_pwm(1)
    pwm.set_pulse_us(2000)
    pwm.close()
    pwm.close()
    assert platform.servo_outputs_us()[0] == 0
    assert platform.collect_actuator_commands().motors == (0.0, 0.0)
    with pytest.raises(ConfigError, match="PWM 1 is closed"):
        pwm.set_pulse_us(1500)
    with pytest.raises(ConfigError, match="PWM 1 is closed"):
        pwm.set_duty(0.075)
    with pytest.raises(ConfigError, match="PWM 1 is closed"):
        pwm.set_frequency(100)
    assert platform.create_pwm(1).pulse_us() == 1500


def test_a_pulse_may_be_a_float_and_is_cut_to_whole_microseconds():
    pin = SitlPlatform(1).create_pwm(1)
    pin.set_pulse_us(1600.9)
    assert pin.pulse_us() == 1600
    assert isinstance(pin.pulse_us(), int)
    with pytest.raises(ConfigError, match="a pulse of 30000 us does not fit"):
        pin.set_pulse_us(30_000)
    with pytest.raises(ConfigError, match=r"duty 2 is outside 0\.\.1"):
        pin.set_duty(2)
