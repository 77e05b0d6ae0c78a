"""Simulated servo outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import PWM_NEUTRAL_US, PWM_VALID_MAX_US, US_PER_S
from pico_gz.errors import ConfigError
from pico_gz.vehicle.platform.peripherals import Claimed

PWM_CHANNELS = range(1, 33)
DEFAULT_FREQUENCY_HZ: Final = 50
# Faster, and the longest servo pulse would not fit into a period.
MAX_FREQUENCY_HZ = US_PER_S // PWM_VALID_MAX_US


class PwmBank(Snapshot):
    """Pulse widths of every channel by number; 0 = not claimed, no pulse."""

    _state_fields = ("frequencies_hz", "pulses_us")
    __slots__ = _state_fields

    def __init__(self) -> None:
        # Index 0 is unused, so that SERVO1 is at 1.
        self.pulses_us = [0] * PWM_CHANNELS.stop
        self.frequencies_hz = [0] * PWM_CHANNELS.stop

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave; channels must be claimed as they were then.

        Raises:
            ConfigError: a channel of the snapshot is not claimed now.
        """
        frequencies = state["frequencies_hz"]
        for channel in PWM_CHANNELS:
            if frequencies[channel] and not self.frequencies_hz[channel]:
                raise ConfigError(
                    f"The snapshot drives PWM channel {channel}, which is not claimed.",
                    hint="Start the autopilot before restoring.",
                )
        for channel in PWM_CHANNELS:
            if frequencies[channel]:
                self.pulses_us[channel] = state["pulses_us"][channel]
                self.frequencies_hz[channel] = frequencies[channel]
            elif self.frequencies_hz[channel]:
                self.pulses_us[channel] = PWM_NEUTRAL_US


class SitlPwm(Claimed):
    """One servo output, held by one driver until ``close``; a fresh one gives 1500 us.

    Pulse widths are whole microseconds. Duty is the part of a period that the pulse is high:
    at 50 Hz neutral is 0.075, and 0 is no pulse at all, which a motor takes as neutral.
    """

    def __init__(
        self, channel: int, frequency_hz: int, bank: PwmBank, release: Callable[[], None]
    ) -> None:
        super().__init__(f"PWM {channel}", release)
        self.channel = channel
        self._bank = bank
        self._is_open = True
        # A fresh channel gives neutral, never full reverse.
        bank.pulses_us[channel] = PWM_NEUTRAL_US
        bank.frequencies_hz[channel] = frequency_hz

    def set_pulse_us(self, pulse_us: int | float) -> None:
        """Set the pulse width [us]; 0 stops the pulses.

        Raises:
            ConfigError: it does not fit into a period, or the channel is closed.
        """
        bank, channel = self._bank, self.channel
        frequency_hz = bank.frequencies_hz[channel]
        if isinstance(pulse_us, int):  # nearly always, and quick when compiled
            fits = 0 <= pulse_us * frequency_hz <= US_PER_S
        else:
            fits = 0.0 <= pulse_us * frequency_hz <= US_PER_S
        if not self._is_open or not fits:
            self._require_open()
            raise ConfigError(
                f"PWM {channel}: a pulse of {pulse_us} us does not fit into a period of "
                f"{US_PER_S // frequency_hz} us."
            )
        bank.pulses_us[channel] = int(pulse_us)

    def pulse_us(self) -> int:
        """The pulse width [us]."""
        return self._bank.pulses_us[self.channel]

    def set_duty(self, duty: int | float) -> None:
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

    def _switch_off(self) -> None:
        self._is_open = False
        self._bank.pulses_us[self.channel] = self._bank.frequencies_hz[self.channel] = 0


def check_frequency(channel: int, frequency_hz: int) -> None:
    """Refuse a rate that cannot carry servo pulses."""
    if not 1 <= frequency_hz <= MAX_FREQUENCY_HZ:
        raise ConfigError(
            f"PWM {channel}: {frequency_hz} Hz is outside 1..{MAX_FREQUENCY_HZ}.",
            hint="Servo pulses of up to 2200 us must fit into a period.",
        )
