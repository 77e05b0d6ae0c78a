"""Sixteen channels that a person moves."""

from __future__ import annotations

from typing import ClassVar

from pico_gz.state import Stateful
from pico_gz.units import PWM_MAX_US, PWM_MIN_US, PWM_NEUTRAL_US
from pico_gz.vehicle.rc.base import MODE_CHANNEL, MODE_PULSES_US
from pico_gz.vehicle.rc_frame import RC_CHANNELS


class Sticks(Stateful):
    """The transmitter in somebody's hands: all centred, the mode switch in position 1."""

    __slots__ = ("_channels_us",)
    _state_fields: ClassVar[tuple[str, ...]] = ("_channels_us",)

    def __init__(self) -> None:
        self._channels_us = [PWM_NEUTRAL_US] * RC_CHANNELS
        self.select_mode(0)

    def channels_us(self) -> tuple[int, ...]:
        """Where everything stands [us]."""
        return tuple(self._channels_us)

    def set_us(self, channel: int, pulse_us: int) -> None:
        """Put a channel (1-based) somewhere, within 1000..2000 us."""
        self._channels_us[channel - 1] = max(PWM_MIN_US, min(PWM_MAX_US, pulse_us))

    def move_us(self, channel: int, by_us: int) -> None:
        """Move a channel by some microseconds."""
        self.set_us(channel, self._channels_us[channel - 1] + by_us)

    def centre(self, channel: int) -> None:
        """Let go of a channel."""
        self.set_us(channel, PWM_NEUTRAL_US)

    def select_mode(self, position: int) -> None:
        """Turn the mode switch to position 0..5."""
        self.set_us(MODE_CHANNEL, MODE_PULSES_US[position])
