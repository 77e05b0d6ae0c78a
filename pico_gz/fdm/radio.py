"""The radio receiver of a vehicle that an external autopilot drives: the ``rc`` key. Pure.

The wire has no word for a lost link: the autopilot would keep the last sticks for ever, or, with
a throttle below its failsafe pulse, drive backwards when that failsafe is off. So the sticks go
to the middle when no frame has come for a second, as a receiver does whose failsafe is set so;
switches stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pico_gz.units import PWM_NEUTRAL_US, US_PER_S

LOST_AFTER_US = US_PER_S
STICK_CHANNELS = 4
# A record has no room for more.
MAX_RC_CHANNELS = 12


class ExternalRadio:
    """Takes radio frames of one vehicle and hands on what has changed.

    Args:
        vehicle_id: whose it is.
        send: takes the channels that go out from now on [us].
        tell: takes what people should know, as half a sentence.
    """

    def __init__(
        self, vehicle_id: int, send: Callable[[Sequence[int]], None], tell: Callable[[str], None]
    ) -> None:
        self.vehicle_id = vehicle_id
        self._send = send
        self._tell = tell
        self._sent: tuple[int, ...] = ()
        self._heard_us: int | None = None
        self._lost = False

    def inject_rc(self, channels_us: Sequence[int], now_us: int) -> None:
        """Take a frame: channel 1 first, 0 = the receiver has no such channel."""
        if self._lost:
            self._tell("its radio is back.")
        self._lost = False
        self._heard_us = now_us
        self._hand_on(without_holes(channels_us))

    def check(self, now_us: int) -> None:
        """Notice a link that is lost; to be called every step."""
        if self._heard_us is None or self._lost:
            return
        if now_us - self._heard_us > LOST_AFTER_US:
            self._lost = True
            sticks = min(STICK_CHANNELS, len(self._sent))
            self._hand_on((PWM_NEUTRAL_US,) * sticks + self._sent[sticks:])
            self._tell("its radio is lost; its sticks are in the middle.")

    def _hand_on(self, channels_us: tuple[int, ...]) -> None:
        if channels_us and channels_us != self._sent:
            self._sent = channels_us
            self._send(channels_us)


def without_holes(channels_us: Sequence[int]) -> tuple[int, ...]:
    """Return what the wire can carry: twelve channels, the missing ones before the last neutral.

    The autopilot looks for substrings, so that ``rc_10`` without ``rc_1`` is read as both.
    """
    present = list(channels_us[:MAX_RC_CHANNELS])
    while present and not present[-1]:
        present.pop()
    return tuple(pulse_us or PWM_NEUTRAL_US for pulse_us in present)
