"""Cuts bytes into frames and counts what arrives."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

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


@dataclass(slots=True)
class MavlinkCounters:
    """Totals since ``open``; plain integers, read from any thread.

    Attributes:
        frames_in: good frames taken.
        frames_out: frames handed to a link.
        rate_limited: frames refused because their sender is over its rate.
        signed_dropped: signed frames refused because we have no key.
        signature_refused: unsigned or wrongly signed frames refused because we have one.
        oversized: datagrams longer than any sensible bundle.
        echoes: frames that carry our own vehicle's id.
        peers_refused: senders refused because all places are taken by live peers.
        send_dropped: datagrams the kernel would not take at once.
        send_errors: datagrams that could not be sent at all.
        tcp_refused: connections beyond the limit.
        tcp_dropped: telemetry frames dropped from a full queue.
        tcp_cut: clients cut because they took nothing for too long.
        handler_errors: messages whose handling raised.
        encode_errors: messages that could not be packed.
        split: what was found between good frames.
    """

    frames_in: int = 0
    frames_out: int = 0
    rate_limited: int = 0
    signed_dropped: int = 0
    signature_refused: int = 0
    oversized: int = 0
    echoes: int = 0
    peers_refused: int = 0
    send_dropped: int = 0
    send_errors: int = 0
    tcp_refused: int = 0
    tcp_dropped: int = 0
    tcp_cut: int = 0
    handler_errors: int = 0
    encode_errors: int = 0
    split: SplitCounters = field(default_factory=SplitCounters)

    def as_dict(self) -> dict[str, int]:
        """Return all totals by name."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "split"}
        return own | {f.name: getattr(self.split, f.name) for f in fields(self.split)}
