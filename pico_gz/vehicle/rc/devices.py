"""Driving by keyboard and by joystick."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import logging
import os
import select
import stat
import struct
import sys
import termios
import tty
from collections.abc import Mapping, Sequence
from pathlib import Path

from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import PWM_NEUTRAL_US
from pico_gz.errors import ConfigError
from pico_gz.vehicle.rc.rc_source import (
    MODE_PULSES_US,
    STEERING_CHANNEL,
    THROTTLE_CHANNEL,
    FrameClock,
    Sticks,
)

STEP_US = 50
_READ_BYTES = 256
_ESCAPE = b"\x1b"
# Arrow keys come as three bytes, with "[" or, in application mode, "O" in the middle.
_ARROWS = {b"A": b"w", b"B": b"s", b"C": b"d", b"D": b"a"}

KEYS_HELP = (
    "W/S or up/down: throttle, A/D or left/right: steering, C: centre the steering, "
    "space or X: stop, 1..6: mode switch"
)


class KeyboardRcSource(Snapshot):
    """Each press moves a stick by 50 us, and it stays there; space centres both.

    The terminal goes into character mode, where Ctrl-C still works, and is put back by
    ``close`` and in any case at exit.
    """

    _state_fields = ("_clock", "_sticks")

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


logger = logging.getLogger(__name__)

# Kernel, joystick API: struct js_event { u32 time; s16 value; u8 type; u8 number; }
JS_EVENT = struct.Struct("=IhBB")
JS_BUTTON = 0x01
JS_AXIS = 0x02
# Set on the events that report all positions when the device is opened.
JS_INIT = 0x80
AXIS_MAX = 32767

# _IOR('j', 0x01, u32): which version of the joystick API the driver speaks.
_JSIOCGVERSION = 0x80046A01

_EVENTS_PER_POLL = 64

# Axis -> (channel, direction): left stick, where up is negative and means forward.
DEFAULT_AXES: Mapping[int, tuple[int, int]] = {
    0: (STEERING_CHANNEL, 1),
    1: (THROTTLE_CHANNEL, -1),
    2: (2, 1),
    3: (4, -1),
}


def _speaks_joystick(fd: int) -> bool:
    """Whether events come from here: a joystick's driver, or a pipe that another program fills."""
    if stat.S_ISFIFO(os.fstat(fd).st_mode):
        return True
    try:
        fcntl.ioctl(fd, _JSIOCGVERSION, bytes(4))
    except OSError:
        return False
    return True


class JoystickRcSource(Snapshot):
    """Left stick drives (steering 1, throttle 3), right stick is 2 and 4, buttons 0..5 modes.

    A device that is unplugged is a lost link. After a restore the next movement counts again.
    """

    _state_fields = ("_clock", "_sticks")

    def __init__(
        self, path: str | Path, axes: Mapping[int, tuple[int, int]] = DEFAULT_AXES
    ) -> None:
        self._path = str(path)
        self._axes = dict(axes)
        self._sticks = Sticks()
        self._clock = FrameClock()
        self._pending = b""
        self._gone = False
        try:
            self._fd: int | None = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as exc:
            raise ConfigError(
                f"Joystick {path} cannot be opened: {exc.strerror}.",
                hint="ls /dev/input/js* shows what is there; reading may need the group 'input'.",
            ) from exc
        if not _speaks_joystick(self._fd):
            self.close()
            raise ConfigError(
                f"{path} is no joystick.", hint="ls /dev/input/js* shows what is there."
            )

    def poll(self, now_us: int) -> Sequence[int] | None:
        """Where the sticks are, every 20 ms; ``None`` once the device is gone."""
        self._read_events()
        if self._gone or not self._clock.is_due(now_us):
            return None
        return self._sticks.channels_us()

    def close(self) -> None:
        """Close the device; harmless when called twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._gone = True

    def _read_events(self) -> None:
        if self._gone or self._fd is None:
            return
        try:
            data = os.read(self._fd, JS_EVENT.size * _EVENTS_PER_POLL)
        except BlockingIOError:
            return
        except OSError as exc:
            self._lose(exc.strerror or "read error")
            return
        if not data:
            self._lose("end of file")
            return
        data = self._pending + data
        whole = len(data) - len(data) % JS_EVENT.size
        self._pending = data[whole:]
        for _, value, kind, number in JS_EVENT.iter_unpack(data[:whole]):
            self._take(value, kind & ~JS_INIT, number)

    def _take(self, value: int, kind: int, number: int) -> None:
        if kind == JS_AXIS and number in self._axes:
            channel, direction = self._axes[number]
            offset_us = round(direction * value / AXIS_MAX * 500)
            self._sticks.set_us(channel, PWM_NEUTRAL_US + offset_us)
        elif kind == JS_BUTTON and value and number < len(MODE_PULSES_US):
            self._sticks.select_mode(number)

    def _lose(self, reason: str) -> None:
        self._gone = True
        logger.warning("Joystick %s is gone (%s): the RC link is lost.", self._path, reason)
