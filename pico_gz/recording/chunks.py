"""Messages gathered into chunks: what is written, checked and lost as a whole."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable

import msgspec

from pico_gz.recording.mcap_records import MESSAGE_FIXED_BYTES, MESSAGE_HEAD, Opcode


class SealedChunk(msgspec.Struct, frozen=True):
    """A chunk as it goes to the file.

    Attributes:
        data: records, uncompressed.
        start_ns: earliest log time.
        end_ns: latest log time.
        index: channel -> log time [ns] and offset in ``data`` of every message, in turn.
    """

    data: bytes | bytearray
    start_ns: int
    end_ns: int
    index: dict[int, array[int]]

    def crc(self) -> int:
        """CRC-32 of the uncompressed data."""
        return zlib.crc32(self.data)


class ChunkBuilder:
    """The chunk that is being filled; one per recording, begun again after ``seal``."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._index: dict[int, array[int]] = {}
        self._start_ns = 0
        self._end_ns = 0
        self._pack: Callable[..., bytes] = MESSAGE_HEAD.pack

    def __len__(self) -> int:
        return len(self._data)

    @property
    def start_ns(self) -> int:
        """Log time of the first message."""
        return self._start_ns

    @property
    def has_messages(self) -> bool:
        """Whether there is anything worth writing."""
        return bool(self._index)

    def add_record(self, record: bytes) -> None:
        """Add a schema or a channel."""
        self._data += record

    def add_message(self, channel_id: int, sequence: int, time_ns: int, payload: bytes) -> None:
        """Add one message; called for every vehicle in every step."""
        data = self._data
        try:
            index = self._index[channel_id]
        except KeyError:
            if not self._index:
                self._start_ns = self._end_ns = time_ns
            index = self._index[channel_id] = array("Q")
        index.append(time_ns)
        index.append(len(data))
        if time_ns > self._end_ns:
            self._end_ns = time_ns
        elif time_ns < self._start_ns:
            self._start_ns = time_ns
        data += self._pack(
            Opcode.MESSAGE,
            MESSAGE_FIXED_BYTES + len(payload),
            channel_id,
            sequence,
            time_ns,
            time_ns,
        )
        data += payload

    def peek(self) -> SealedChunk:
        """What there is so far; the chunk goes on."""
        index = {channel_id: entries[:] for channel_id, entries in self._index.items()}
        return SealedChunk(bytes(self._data), self._start_ns, self._end_ns, index)

    def seal(self) -> SealedChunk:
        """Take the chunk and begin the next; nothing is copied."""
        sealed = SealedChunk(self._data, self._start_ns, self._end_ns, self._index)
        self._data = bytearray()
        self._index = {}
        return sealed
