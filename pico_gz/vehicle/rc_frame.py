"""What a radio receiver hands to the vehicle."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

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
