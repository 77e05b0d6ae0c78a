"""Cutting bytes into frames so that one bad frame costs only itself."""

from __future__ import annotations

from dataclasses import dataclass

from pico_gz.mavlink import codec

# After this many false starts the rest of a datagram is not worth the time.
_MAX_FALSE_STARTS = 256
# A frame that does not complete within this time was never one (a stray magic byte).
_STALE_US = 500_000


@dataclass(slots=True)
class SplitCounters:
    """What was found between the good frames."""

    bad_crc: int = 0
    unknown_id: int = 0
    bad_flags: int = 0
    truncated: int = 0

    @property
    def total(self) -> int:
        """Return the number of false starts of all kinds."""
        return self.bad_crc + self.unknown_id + self.bad_flags + self.truncated


def _next_magic(data: bytes, start: int) -> int:
    """Return the position of the next magic byte, or -1."""
    v2 = data.find(codec.MAGIC_V2, start)
    v1 = data.find(codec.MAGIC_V1, start, v2 if v2 >= 0 else len(data))
    return v1 if v1 >= 0 else v2


def _claimed_bytes(data: bytes, start: int) -> int:
    """Return the length the frame at ``start`` claims; needs three bytes of it."""
    length = data[start + 1]
    if data[start] == codec.MAGIC_V1:
        return codec.HEADER_V1 + length + codec.CRC_BYTES
    signature = codec.SIGNATURE_BYTES if data[start + 2] & codec.FLAG_SIGNED else 0
    return codec.HEADER_V2 + length + codec.CRC_BYTES + signature


def _refusal(raw: bytes, counters: SplitCounters) -> bool:
    """Count and tell whether a complete candidate is no good frame."""
    if raw[0] == codec.MAGIC_V2 and raw[2] & ~codec.FLAG_SIGNED:
        counters.bad_flags += 1
    elif not codec.is_known(codec.message_id(raw)):
        counters.unknown_id += 1
    elif not codec.has_good_crc(raw):
        counters.bad_crc += 1
    else:
        return False
    return True


def split_datagram(data: bytes, counters: SplitCounters) -> list[bytes]:
    """Return the good frames of one datagram; nothing is carried over to the next one.

    After a false start the search goes on at the byte after its magic, never after its
    claimed length, because a wrong length byte would swallow good frames.
    """
    frames: list[bytes] = []
    false_starts = 0
    at = _next_magic(data, 0)
    while at >= 0 and false_starts < _MAX_FALSE_STARTS:
        end = at + _claimed_bytes(data, at) if len(data) - at >= 3 else len(data) + 1
        if end > len(data):
            counters.truncated += 1
        elif not _refusal(raw := data[at:end], counters):
            frames.append(raw)
            at = _next_magic(data, end)
            continue
        false_starts += 1
        at = _next_magic(data, at + 1)
    return frames


class StreamSplitter:
    """Cuts a TCP stream into good frames; keeps at most one unfinished frame."""

    def __init__(self, counters: SplitCounters) -> None:
        self._counters = counters
        self._buffer = b""
        self._waiting_since_us = 0

    @property
    def pending_bytes(self) -> int:
        """Return how many bytes wait for the rest of their frame (at most 280)."""
        return len(self._buffer)

    def feed(self, data: bytes, now_us: int) -> list[bytes]:
        """Take received bytes and return the frames they complete, at wall time ``now_us``."""
        stale = bool(self._buffer) and now_us - self._waiting_since_us > _STALE_US
        held, self._buffer = self._buffer, b""
        data = held + data
        frames: list[bytes] = []
        at = _next_magic(data, 0)
        while at >= 0:
            end = at + _claimed_bytes(data, at) if len(data) - at >= 3 else len(data) + 1
            if end > len(data) and not (stale and at < len(held)):
                self._buffer = data[at:]
                if not held or at > 0:
                    self._waiting_since_us = now_us
                break
            if end > len(data):
                self._counters.truncated += 1
                at = _next_magic(data, at + 1)
            elif _refusal(raw := data[at:end], self._counters):
                at = _next_magic(data, at + 1)
            else:
                frames.append(raw)
                at = _next_magic(data, end)
        return frames
