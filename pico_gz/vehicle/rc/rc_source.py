"""Radio frames, the source contract, frame timing and stick channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import PWM_MAX_US, PWM_MIN_US, PWM_NEUTRAL_US
from pico_gz.errors import MessageError

RC_CHANNELS = 16
MAX_RC_US = 65535


class RcFrame(msgspec.Struct, frozen=True):
    """Sixteen channels and when they came; a lost link shows as a time that stays.

    Attributes:
        channels_us: pulse widths [us], channel 1 first; 0 = the receiver has no such channel.
        timestamp_us: simulation time of the frame [us].
    """

    channels_us: tuple[int, ...]
    timestamp_us: int


def rc_frame(channels_us: Sequence[int], timestamp_us: int) -> RcFrame:
    """Check up to sixteen pulse widths and fill up with 0 what is missing.

    Raises:
        MessageError: more than sixteen, or not within 0..65535.
    """
    if len(channels_us) > RC_CHANNELS:
        raise MessageError(f"An RC frame has {RC_CHANNELS} channels, not {len(channels_us)}.")
    for number, pulse_us in enumerate(channels_us, start=1):
        if not 0 <= pulse_us <= MAX_RC_US:
            raise MessageError(f"RC channel {number}: {pulse_us} us is outside 0..{MAX_RC_US}.")
    missing = RC_CHANNELS - len(channels_us)
    return RcFrame((*(int(pulse_us) for pulse_us in channels_us), *((0,) * missing)), timestamp_us)


# Receivers give a frame every 20 ms.
FRAME_PERIOD_US = 20_000

STEERING_CHANNEL = 1
THROTTLE_CHANNEL = 3
MODE_CHANNEL = 8
# The middles of the six positions that ArduPilot reads on its mode channel.
MODE_PULSES_US = (1165, 1295, 1425, 1555, 1685, 1815)


class RcSource(Protocol):
    """A radio link into one vehicle; what it gives goes straight to ``platform.inject_rc``."""

    def poll(self, now_us: int) -> Sequence[int] | None:
        """The newest frame at simulation time ``now_us``; never blocks.

        Returns:
            Up to 16 pulse widths [us], channel 1 first, 0 = no such channel; ``None`` when no
            new frame came. A lost link is a source that gives ``None`` from then on.
        """

    def close(self) -> None:
        """Let go of files, sockets and the terminal; harmless when called twice."""

    def save_state(self) -> dict[str, Any]:
        """Everything needed to continue from here, as plain values."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave."""


class FrameClock(Snapshot):
    """Says every 20 ms of simulation time that a frame is due."""

    __slots__ = ("_due_us",)
    _state_fields: ClassVar[tuple[str, ...]] = ("_due_us",)

    def __init__(self) -> None:
        self._due_us = 0

    def is_due(self, now_us: int) -> bool:
        """Whether a frame is due at ``now_us``; asking again at that time says no."""
        if now_us < self._due_us:
            return False
        # From now on rather than from the due time: a pause is not followed by a burst.
        self._due_us = now_us + FRAME_PERIOD_US
        return True


class Sticks(Snapshot):
    """A transmitter: all sticks centred, the mode switch in position 1."""

    __slots__ = ("_channels_us",)
    _state_fields: ClassVar[tuple[str, ...]] = ("_channels_us",)

    def __init__(self) -> None:
        self._channels_us = [PWM_NEUTRAL_US] * RC_CHANNELS
        self.select_mode(0)

    def channels_us(self) -> tuple[int, ...]:
        """All channels [us]."""
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
