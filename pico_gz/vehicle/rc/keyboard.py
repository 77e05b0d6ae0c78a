"""Driving with the keys of a terminal."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Mapping, Sequence
from typing import Any

from pico_gz.errors import ConfigError
from pico_gz.vehicle.rc.base import MODE_PULSES_US, STEERING_CHANNEL, THROTTLE_CHANNEL
from pico_gz.vehicle.rc.frame_clock import FrameClock
from pico_gz.vehicle.rc.sticks import Sticks

STEP_US = 50
_READ_BYTES = 256
_ESCAPE = b"\x1b"
# Arrow keys come as three bytes, with "[" or, in application mode, "O" in the middle.
_ARROWS = {b"A": b"w", b"B": b"s", b"C": b"d", b"D": b"a"}

KEYS_HELP = (
    "W/S or up/down: throttle, A/D or left/right: steering, C: centre the steering, "
    "space or X: stop, 1..6: mode switch"
)


class KeyboardRcSource:
    """Each press moves a stick by 50 us, and it stays there; space centres both.

    The terminal goes into character mode, where Ctrl-C still works, and is put back by
    ``close`` and in any case at exit.
    """

    def __init__(self, fd: int | None = None) -> None:
        self._fd = sys.stdin.fileno() if fd is None else fd
        self._sticks = Sticks()
        self._clock = FrameClock()
        self._pending = b""
        self._open = True
        try:
            self._saved_mode = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        except termios.error as exc:
            raise ConfigError(
                "The keyboard can drive only from a terminal.",
                hint="Use --rc udp or --rc script:FILE here.",
            ) from exc
        atexit.register(self.close)

    def poll(self, now_us: int) -> Sequence[int] | None:
        """Where the sticks are, every 20 ms; ``None`` once closed."""
        if not self._open:
            return None
        self._read_keys()
        return self._sticks.channels_us() if self._clock.is_due(now_us) else None

    def close(self) -> None:
        """Put the terminal back as it was; harmless when called twice."""
        if self._open:
            self._open = False
            atexit.unregister(self.close)
            # The terminal may have been closed before us.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._saved_mode)

    def save_state(self) -> dict[str, Any]:
        """Where the sticks are, as plain values."""
        return {"sticks": self._sticks.save_state(), "clock": self._clock.save_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._sticks.load_state(state["sticks"])
        self._clock.load_state(state["clock"])

    def _read_keys(self) -> None:
        readable, _, _ = select.select([self._fd], [], [], 0)
        if not readable:
            return
        try:
            data = self._pending + os.read(self._fd, _READ_BYTES)
        except OSError:
            # A terminal that was hung up moves no stick any more.
            return
        keys, self._pending = split_keys(data)
        for key in keys:
            self._press(key)

    def _press(self, key: bytes) -> None:
        sticks = self._sticks
        if key == b"w":
            sticks.move_us(THROTTLE_CHANNEL, STEP_US)
        elif key == b"s":
            sticks.move_us(THROTTLE_CHANNEL, -STEP_US)
        elif key == b"d":
            sticks.move_us(STEERING_CHANNEL, STEP_US)
        elif key == b"a":
            sticks.move_us(STEERING_CHANNEL, -STEP_US)
        elif key == b"c":
            sticks.centre(STEERING_CHANNEL)
        elif key in (b" ", b"x"):
            sticks.centre(STEERING_CHANNEL)
            sticks.centre(THROTTLE_CHANNEL)
        elif key.isdigit() and 1 <= int(key) <= len(MODE_PULSES_US):
            sticks.select_mode(int(key) - 1)


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
