"""Radio frames from a script file or from UDP.

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
import errno
import logging
import math
import socket
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import us_from_seconds
from pico_gz.errors import ConfigError, PortClashError
from pico_gz.vehicle.rc.rc_source import MAX_RC_US, RC_CHANNELS, FrameClock

KEEP = "-"
LOST = "lost"


class RcScriptLine(msgspec.Struct, frozen=True):
    """What holds from ``time_us`` on; ``channels_us`` is ``None`` while the link is lost."""

    time_us: int
    channels_us: tuple[int, ...] | None


class ScriptRcSource(Snapshot):
    """Plays a script, one frame every 20 ms; silent before its first line."""

    _state_fields = ("_clock",)

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
        except OSError as exc:
            reason = (exc.strerror or str(exc)).lower()
            raise ConfigError(f"RC script {path} cannot be read: {reason}.") from exc
        except UnicodeDecodeError as exc:
            raise ConfigError(f"RC script {path} cannot be read: it is no text.") from exc
        return cls(parse_script(text.splitlines(), str(path)))

    def poll(self, now_us: int) -> Sequence[int] | None:
        """The frame that the script holds at ``now_us``, when one is due."""
        index = bisect.bisect_right(self._times_us, now_us) - 1
        if index < 0 or self._lines[index].channels_us is None:
            return None
        return self._lines[index].channels_us if self._clock.is_due(now_us) else None

    def close(self) -> None:
        """Holds no resources."""


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


logger = logging.getLogger(__name__)

# One datagram: 8 or 16 little-endian uint16, microseconds, channel 1 first.
FRAME_SIZES = (16, 32)
# One poll reads no more than this, so that a flood cannot hold the simulation.
MAX_DATAGRAMS_PER_POLL = 64
_RECEIVE_BYTES = 2048


class UdpRcSource(Snapshot):
    """Takes the newest datagram; a value of 0 leaves that channel as it was.

    Attributes:
        port: where it listens; useful after asking for port 0.
        bad_datagrams: how many were dropped for their size.
    """

    _state_fields = ("_channels_us",)

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._socket = _bound_socket(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.bad_datagrams = 0
        self._channels_us = [0] * RC_CHANNELS

    def poll(self, now_us: int) -> Sequence[int] | None:
        """The newest frame, ``None`` when no datagram has come since the last call."""
        fresh = False
        for _ in range(MAX_DATAGRAMS_PER_POLL):
            datagram = self._receive()
            if datagram is None:
                break
            fresh = self._take(datagram) or fresh
        return tuple(self._channels_us) if fresh else None

    def close(self) -> None:
        """Close the socket; harmless when called twice."""
        self._socket.close()

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(_RECEIVE_BYTES)
        except OSError as exc:
            if exc.errno == errno.EBADF:
                raise ConfigError(f"RC port {self.port} is closed.") from exc
            # Nothing there; a refused datagram of another socket shows up here as well.
            return None

    def _take(self, datagram: bytes) -> bool:
        if len(datagram) not in FRAME_SIZES:
            self.bad_datagrams += 1
            if self.bad_datagrams == 1:
                logger.warning(
                    "RC port %d: a datagram of %d bytes was dropped, expected 16 or 32.",
                    self.port,
                    len(datagram),
                )
            return False
        for index, pulse_us in enumerate(struct.unpack(f"<{len(datagram) // 2}H", datagram)):
            if pulse_us:
                self._channels_us[index] = pulse_us
        return True


def _bound_socket(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise ConfigError(f"RC port {port} is outside 0..65535.")
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.bind((host, port))
    except OSError as exc:
        sock.close()
        if exc.errno == errno.EADDRINUSE:
            raise PortClashError(
                f"UDP port {port} on {host} for RC input is in use.",
                hint="Stop the program that holds it, or use --port-offset auto.",
            ) from exc
        raise ConfigError(f"UDP {host}:{port} for RC input cannot be opened: {exc}.") from exc
    return sock
