"""Messages gathered into chunks: what is written, checked and lost as a whole."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import repeat

import msgspec
import numpy as np

from pico_gz.recording.mcap_records import MESSAGE_FIXED_BYTES, MESSAGE_HEAD, Opcode


class SealedChunk(msgspec.Struct, frozen=True):
    """A chunk as it goes to the file.

    Attributes:
        data: records, uncompressed.
        channels: the channel of every message, in order.
        times_ns: the log time of every message.
        offsets: where in ``data`` every message begins.
    """

    data: bytes | bytearray
    channels: list[int]
    times_ns: list[int]
    offsets: list[int]

    def crc(self) -> int:
        """CRC-32 of the uncompressed data."""
        return zlib.crc32(self.data)

    def span_ns(self) -> tuple[int, int]:
        """Earliest and latest log time."""
        return min(self.times_ns, default=0), max(self.times_ns, default=0)

    def index(self) -> dict[int, bytes]:
        """Channel -> log time and offset of its messages, as the file stores them."""
        channels = np.array(self.channels, np.int64)
        order = np.argsort(channels, kind="stable")
        entries = np.array([self.times_ns, self.offsets], "<u8").T[order]
        known, starts = np.unique(channels[order], return_index=True)
        parts = np.split(entries, starts[1:])
        return {int(channel): part.tobytes() for channel, part in zip(known, parts, strict=True)}


class ChunkBuilder:
    """The chunk that is being filled; one per recording, begun again after ``seal``."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._channels: list[int] = []
        self._times_ns: list[int] = []
        self._offsets: list[int] = []

    def __len__(self) -> int:
        return len(self._data)

    @property
    def start_ns(self) -> int:
        """Log time of the first message."""
        return self._times_ns[0] if self._times_ns else 0

    @property
    def has_messages(self) -> bool:
        """Whether there is anything worth writing."""
        return bool(self._offsets)

    def add_record(self, record: bytes) -> None:
        """Add a schema or a channel."""
        self._data += record

    def add_messages(
        self, channels: Sequence[int], sequence: int, time_ns: int, payloads: Sequence[bytes]
    ) -> None:
        """Add one message per channel; called for the whole fleet in every step."""
        data, note_offset, pack = self._data, self._offsets.append, MESSAGE_HEAD.pack
        opcode = int(Opcode.MESSAGE)
        for channel, payload in zip(channels, payloads, strict=True):
            note_offset(len(data))
            size = MESSAGE_FIXED_BYTES + len(payload)
            data += pack(opcode, size, channel, sequence, time_ns, time_ns)
            data += payload
        self._channels.extend(channels)
        self._times_ns.extend(repeat(time_ns, len(channels)))

    def peek(self) -> SealedChunk:
        """What there is so far; the chunk goes on."""
        return SealedChunk(
            bytes(self._data), self._channels[:], self._times_ns[:], self._offsets[:]
        )

    def seal(self) -> SealedChunk:
        """Take the chunk and begin the next; nothing is copied."""
        sealed = SealedChunk(self._data, self._channels, self._times_ns, self._offsets)
        self._data = bytearray()
        self._channels, self._times_ns, self._offsets = [], [], []
        return sealed
