"""Simulated servo outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pico_gz.errors import ConfigError
from pico_gz.state import Stateful
from pico_gz.units import PWM_NEUTRAL_US, PWM_VALID_MAX_US, US_PER_S

PWM_CHANNELS = range(1, 33)
DEFAULT_FREQUENCY_HZ = 50
# Faster, and the longest servo pulse would not fit into a period.
MAX_FREQUENCY_HZ = US_PER_S // PWM_VALID_MAX_US


class PwmBank(Stateful):
    """Pulse widths of every channel by number; 0 = nobody has claimed it, no pulse."""

    __slots__ = ("frequencies_hz", "pulses_us")

    def __init__(self) -> None:
        # Index 0 is unused, so that SERVO1 is at 1.
        self.pulses_us = [0] * PWM_CHANNELS.stop
        self.frequencies_hz = [0] * PWM_CHANNELS.stop

    def open(self, channel: int, frequency_hz: int) -> None:
        """Begin to output neutral: a fresh channel never means full reverse."""
        self.pulses_us[channel] = PWM_NEUTRAL_US
        self.frequencies_hz[channel] = frequency_hz

    def close(self, channel: int) -> None:
        """Stop the pulses."""
        self.pulses_us[channel] = 0
        self.frequencies_hz[channel] = 0

    def save_state(self) -> dict[str, Any]:
        """Pulses and frequencies, as plain values."""
        return {"pulses_us": list(self.pulses_us), "frequencies_hz": list(self.frequencies_hz)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; channels must be claimed as they were then.

        Raises:
            ConfigError: a channel of the snapshot is not claimed now.
        """
        frequencies = state["frequencies_hz"]
        for channel in PWM_CHANNELS:
            if frequencies[channel] and not self.frequencies_hz[channel]:
                raise ConfigError(
                    f"The snapshot drives PWM channel {channel}, which nobody has claimed.",
                    hint="Start the autopilot before restoring.",
                )
        for channel in PWM_CHANNELS:
            if frequencies[channel]:
                self.pulses_us[channel] = state["pulses_us"][channel]
                self.frequencies_hz[channel] = frequencies[channel]
            elif self.frequencies_hz[channel]:
                self.pulses_us[channel] = PWM_NEUTRAL_US


class SitlPwm:
    """One servo output, held by one driver until ``close``; a fresh one gives 1500 us.

    Pulse widths are whole microseconds. Duty is the part of a period that the pulse is high:
    at 50 Hz neutral is 0.075, and 0 is no pulse at all, which a motor takes as neutral.
    """

    __slots__ = ("_bank", "_release", "channel")

    def __init__(
        self, channel: int, frequency_hz: int, bank: PwmBank, release: Callable[[], None]
    ) -> None:
        self.channel = channel
        self._bank = bank
        self._release: Callable[[], None] | None = release
        bank.open(channel, frequency_hz)

    def set_pulse_us(self, pulse_us: int) -> None:
        """Set the pulse width [us]; 0 stops the pulses.

        Raises:
            ConfigError: it does not fit into a period, or the channel is closed.
        """
        self._require_open()
        if not 0 <= pulse_us * self.frequency_hz <= US_PER_S:
            raise ConfigError(
                f"PWM {self.channel}: a pulse of {pulse_us} us does not fit into a period of "
                f"{US_PER_S // self.frequency_hz} us."
            )
        self._bank.pulses_us[self.channel] = int(pulse_us)

    def pulse_us(self) -> int:
        """The pulse width [us]."""
        return self._bank.pulses_us[self.channel]

    def set_duty(self, duty: float) -> None:
        """Set the duty, 0..1, to the nearest whole microsecond.

        Raises:
            ConfigError: outside 0..1, not a number, or the channel is closed.
        """
        self._require_open()
        if not 0.0 <= duty <= 1.0:
            raise ConfigError(f"PWM {self.channel}: duty {duty} is outside 0..1.")
        # The last microsecond may round beyond a period that is no whole number of them.
        period_us = US_PER_S / self.frequency_hz
        self.set_pulse_us(min(math.floor(duty * period_us + 0.5), math.floor(period_us)))

    def get_duty(self) -> float:
        """The duty, 0..1."""
        return self.pulse_us() * self.frequency_hz / US_PER_S

    @property
    def frequency_hz(self) -> int:
        """Pulses per second; 0 once closed."""
        return self._bank.frequencies_hz[self.channel]

    def set_frequency(self, frequency_hz: int) -> None:
        """Change the rate of the pulses; their width stays, so the servo does.

        Raises:
            ConfigError: the pulse does not fit into the new period, or the channel is closed.
        """
        self._require_open()
        check_frequency(self.channel, frequency_hz)
        if self.pulse_us() * frequency_hz > US_PER_S:
            raise ConfigError(
                f"PWM {self.channel}: {self.pulse_us()} us do not fit into {frequency_hz} Hz."
            )
        self._bank.frequencies_hz[self.channel] = frequency_hz

    def close(self) -> None:
        """Stop the pulses and release the channel; harmless when called twice."""
        if self._release is not None:
            self._bank.close(self.channel)
            self._release()
            self._release = None

    def _require_open(self) -> None:
        if self._release is None:
            raise ConfigError(f"PWM {self.channel} is closed.", hint="Claim it with create_pwm.")


def check_frequency(channel: int, frequency_hz: int) -> None:
    """Refuse a rate that cannot carry servo pulses."""
    if not 1 <= frequency_hz <= MAX_FREQUENCY_HZ:
        raise ConfigError(
            f"PWM {channel}: {frequency_hz} Hz is outside 1..{MAX_FREQUENCY_HZ}.",
            hint="Servo pulses of up to 2200 us must fit into a period.",
        )
