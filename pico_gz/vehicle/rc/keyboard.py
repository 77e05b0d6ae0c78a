"""Driving by keyboard: one transmitter that drives one vehicle at a time."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pico_gz.core.units import PWM_MAX_US, PWM_MIN_US, PWM_NEUTRAL_US
from pico_gz.errors import ConfigError
from pico_gz.vehicle.rc.rc_source import (
    MODE_PULSES_US,
    STEERING_CHANNEL,
    THROTTLE_CHANNEL,
    FrameClock,
    Sticks,
)

STEP_US = 50
# A terminal reports no release of a key, and a held one repeats after up to 0.66 s.
CENTRE_AFTER_S = 0.8
# Held to its stop for longer than the two seconds that arm and disarm by the stick.
GESTURE_S = 2.5
_READ_BYTES = 256
_ESCAPE = b"\x1b"
# Arrow keys come as three bytes, with "[" or, in application mode, "O" in the middle.
_ARROWS = {b"A": b"w", b"B": b"s", b"C": b"d", b"D": b"a"}
_BAR_HALF = 5

KEYS_HELP = "W S throttle  A D steer  X stop  R arm  F disarm  1-6 mode  Tab next rover"

# Arms (True) or disarms a vehicle by its id; returns whether that could be asked.
Arm = Callable[[int, bool], bool]


class Keyboard:
    """Keys of a terminal as the sticks of a transmitter.

    Each press moves a stick by 50 us. The throttle stays; the steering centres by itself. The
    terminal goes into character mode, where Ctrl-C still works, and is put back by ``close``
    and in any case at exit.

    Attributes:
        chosen: id of the vehicle that it drives.
        arm: arms and disarms; without it, or where it returns False, the steering stick is
            held to its stop, as on a transmitter.
    """

    def __init__(
        self,
        vehicle_ids: Sequence[int],
        fd: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ids = tuple(vehicle_ids)
        self._fd = sys.stdin.fileno() if fd is None else fd
        self._now_s = clock
        self._steered_s = 0.0
        self._gesture: tuple[float, int] = (0.0, PWM_NEUTRAL_US)  # until when, steering [us]
        self._pending = b""
        self.sticks = Sticks()
        self.chosen = self._ids[0]
        self.arm: Arm = lambda vehicle_id, wanted: False
        self.is_open = True
        try:
            self._saved_mode = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        except termios.error as exc:
            raise ConfigError(
                "The keyboard can drive only from a terminal.",
                hint="Use --rc udp or --rc script:FILE here.",
            ) from exc
        atexit.register(self.close)

    def close(self) -> None:
        """Put the terminal back as it was; harmless when called twice."""
        if self.is_open:
            self.is_open = False
            atexit.unregister(self.close)
            # The terminal may have been closed before us.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._saved_mode)

    def read(self) -> None:
        """Take the keys that were pressed; the steering goes back when none was."""
        readable, _, _ = select.select([self._fd], [], [], 0)
        if readable:
            try:
                data = self._pending + os.read(self._fd, _READ_BYTES)
            except OSError:  # a terminal that was hung up moves no stick any more
                data = b""
            keys, self._pending = split_keys(data)
            for key in keys:
                self._press(key)
        if self._now_s() - self._steered_s > CENTRE_AFTER_S:
            self.sticks.centre(STEERING_CHANNEL)

    def channels_us(self) -> tuple[int, ...]:
        """Where the sticks are [us]."""
        until_s, steering_us = self._gesture
        channels_us = self.sticks.channels_us()
        if self._now_s() < until_s:
            held = Sticks()
            held.load_state(self.sticks.save_state())
            held.centre(THROTTLE_CHANNEL)
            held.set_us(STEERING_CHANNEL, steering_us)
            channels_us = held.channels_us()
        return channels_us

    def lines(self, name: str) -> list[str]:
        """What a person sees: whom it drives, where the sticks are, and the keys."""
        channels_us = self.channels_us()
        throttle_us = channels_us[THROTTLE_CHANNEL - 1]
        steering_us = channels_us[STEERING_CHANNEL - 1]
        return [
            f"{name}  throttle {_bar(throttle_us)}  steering {_bar(steering_us)}",
            KEYS_HELP,
        ]

    def _press(self, key: bytes) -> None:
        sticks = self.sticks
        if key in _MOVES:
            channel, change_us = _MOVES[key]
            sticks.move_us(channel, change_us)
            if channel == STEERING_CHANNEL:
                self._steered_s = self._now_s()
        elif key in (b"c", b" ", b"x"):
            sticks.centre(STEERING_CHANNEL)
            if key != b"c":
                sticks.centre(THROTTLE_CHANNEL)
        elif key == b"\t":
            self._choose_next()
        elif key in (b"r", b"f"):
            self._arm(wanted=key == b"r")
        elif key.isdigit() and 1 <= int(key) <= len(MODE_PULSES_US):
            sticks.select_mode(int(key) - 1)

    def _choose_next(self) -> None:
        """Put the transmitter down, centred, and take that of the next vehicle."""
        self.sticks = Sticks()
        self._gesture = (0.0, PWM_NEUTRAL_US)
        place = self._ids.index(self.chosen)
        self.chosen = self._ids[(place + 1) % len(self._ids)]

    def _arm(self, *, wanted: bool) -> None:
        self.sticks.centre(THROTTLE_CHANNEL)
        self.sticks.centre(STEERING_CHANNEL)
        if not self.arm(self.chosen, wanted):
            until_s = self._now_s() + GESTURE_S
            self._gesture = (until_s, PWM_MAX_US if wanted else PWM_MIN_US)


_MOVES = {
    b"w": (THROTTLE_CHANNEL, STEP_US),
    b"s": (THROTTLE_CHANNEL, -STEP_US),
    b"d": (STEERING_CHANNEL, STEP_US),
    b"a": (STEERING_CHANNEL, -STEP_US),
}


def _bar(pulse_us: int) -> str:
    """A stick as ``[--###|-----]``: how far it is from its middle, and to which side."""
    length = round(_BAR_HALF * abs(pulse_us - PWM_NEUTRAL_US) / (PWM_MAX_US - PWM_NEUTRAL_US))
    if pulse_us != PWM_NEUTRAL_US:
        length = max(1, length)
    filled, empty = "#" * length, "-" * _BAR_HALF
    low = empty if pulse_us >= PWM_NEUTRAL_US else filled.rjust(_BAR_HALF, "-")
    high = empty if pulse_us <= PWM_NEUTRAL_US else filled.ljust(_BAR_HALF, "-")
    return f"[{low}|{high}]"


class KeyboardRcSource:
    """The radio link of one vehicle; silent until it is chosen, centred while another one is."""

    def __init__(self, keyboard: Keyboard, vehicle_id: int) -> None:
        self._keyboard = keyboard
        self._id = vehicle_id
        self._clock = FrameClock()
        self._used = False

    def poll(self, now_us: int) -> Sequence[int] | None:
        """Where the sticks are, every 20 ms; ``None`` once closed."""
        keyboard = self._keyboard
        if not keyboard.is_open:
            return None
        keyboard.read()
        is_chosen = keyboard.chosen == self._id
        self._used = self._used or is_chosen
        if not self._used or not self._clock.is_due(now_us):
            return None
        return keyboard.channels_us() if is_chosen else Sticks().channels_us()

    def close(self) -> None:
        """Put the terminal back as it was; harmless when called twice."""
        self._keyboard.close()

    def save_state(self) -> dict[str, Any]:
        """Where the sticks are, as plain values."""
        return {
            "sticks": self._keyboard.sticks.save_state(),
            "clock": self._clock.save_state(),
            "used": self._used,
            "chosen": self._keyboard.chosen,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._keyboard.sticks.load_state(state["sticks"])
        self._keyboard.chosen = state["chosen"]
        self._clock.load_state(state["clock"])
        self._used = state["used"]


def split_keys(data: bytes) -> tuple[list[bytes], bytes]:
    """Turn what a terminal sent into single lower-case keys and the unfinished rest."""
    keys: list[bytes] = []
    index = 0
    while index < len(data):
        if data[index : index + 1] != _ESCAPE:
            keys.append(data[index : index + 1].lower())
            index += 1
            continue
        if len(data) - index < 3 and data[index + 1 : index + 2] in (b"", b"[", b"O"):
            return keys, data[index:]
        if data[index + 1 : index + 2] in (b"[", b"O"):
            arrow = _ARROWS.get(data[index + 2 : index + 3])
            keys.extend([arrow] if arrow else [])
            index += 3
        else:
            index += 1
    return keys, b""
