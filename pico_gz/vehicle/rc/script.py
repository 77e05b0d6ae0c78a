"""Radio frames from a text file, for repeatable runs.

Each line is a time in seconds and the pulse widths from then on, channel 1 first::

    # time_s  ch1   ch2   ch3
    0.0       1500  1500  1500
    2.0       1500  -     1700     # "-" leaves a channel as it was
    6.5       1800                 # so do channels that are left out
    9.0       lost                 # the link is gone from here ...
    12.0      1500  1500  1500     # ... to here

Times rise. A channel that no line has named yet is 0: the receiver does not have it.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.errors import ConfigError
from pico_gz.state import Stateful
from pico_gz.units import us_from_seconds
from pico_gz.vehicle.rc.frame_clock import FrameClock
from pico_gz.vehicle.rc_frame import MAX_RC_US, RC_CHANNELS

KEEP = "-"
LOST = "lost"


class RcScriptLine(msgspec.Struct, frozen=True):
    """What holds from ``time_us`` on; ``channels_us`` is ``None`` while the link is lost."""

    time_us: int
    channels_us: tuple[int, ...] | None


class ScriptRcSource(Stateful):
    """Plays a script, one frame every 20 ms; silent before its first line."""

    def __init__(self, lines: Sequence[RcScriptLine]) -> None:
        self._lines = tuple(lines)
        self._times_us = [line.time_us for line in self._lines]
        self._clock = FrameClock()

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptRcSource:
        """Read a script.

        Raises:
            ConfigError: it cannot be read, or a line of it makes no sense (file and line).
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"RC script {path} cannot be read: {exc}.") from exc
        return cls(parse_script(text.splitlines(), str(path)))

    def poll(self, now_us: int) -> Sequence[int] | None:
        """The frame that the script holds at ``now_us``, when one is due."""
        index = bisect.bisect_right(self._times_us, now_us) - 1
        if index < 0 or self._lines[index].channels_us is None:
            return None
        return self._lines[index].channels_us if self._clock.is_due(now_us) else None

    def close(self) -> None:
        """Nothing to let go of."""

    def save_state(self) -> dict[str, Any]:
        """When the next frame is due, as plain values."""
        return self._clock.save_state()

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._clock.load_state(state)


def parse_script(lines: Iterable[str], name: str = "RC script") -> list[RcScriptLine]:
    """Turn the lines of a script into what holds when.

    Raises:
        ConfigError: naming the line.
    """
    parsed: list[RcScriptLine] = []
    channels_us = [0] * RC_CHANNELS
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        where = f"{name}, line {number}"
        time_us = _time_us(words[0], where)
        if parsed and time_us <= parsed[-1].time_us:
            raise ConfigError(f"{where}: {words[0]} s is not after the line before.")
        if words[1:] == [LOST]:
            parsed.append(RcScriptLine(time_us, None))
            continue
        _update_channels(channels_us, words[1:], where)
        parsed.append(RcScriptLine(time_us, tuple(channels_us)))
    if not parsed:
        raise ConfigError(f"{name} has no line.", hint="For example: 0.0 1500 1500 1500")
    return parsed


def _time_us(word: str, where: str) -> int:
    try:
        time_s = float(word)
    except ValueError:
        time_s = math.nan
    if not 0.0 <= time_s < math.inf:
        raise ConfigError(f"{where}: {word!r} is no time in seconds.")
    return us_from_seconds(time_s)


def _update_channels(channels_us: list[int], words: Sequence[str], where: str) -> None:
    if not 1 <= len(words) <= RC_CHANNELS:
        raise ConfigError(
            f"{where}: {len(words)} channels, expected 1..{RC_CHANNELS}.",
            hint=f"Write '{LOST}' for a lost link.",
        )
    for index, word in enumerate(words):
        if word == KEEP:
            continue
        if not (word.isascii() and word.isdigit() and int(word) <= MAX_RC_US):
            raise ConfigError(
                f"{where}: {word!r} is no pulse width.",
                hint=f"Whole microseconds 0..{MAX_RC_US}, '{KEEP}' or '{LOST}'.",
            )
        channels_us[index] = int(word)
