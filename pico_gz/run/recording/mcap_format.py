"""MCAP records, chunks and compression as bytes."""

from __future__ import annotations

import importlib
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from itertools import repeat
from typing import Any

import msgspec
import numpy as np

from pico_gz.errors import ConfigError, MissingExtraError


class RecordingError(ConfigError):
    """A recording that is not there, or is no recording."""


MAGIC = b"\x89MCAP0\r\n"
PROFILE = ""

RECORD_HEAD = struct.Struct("<BQ")  # opcode, length of what follows
MESSAGE_HEAD = struct.Struct("<BQHIQQ")  # ... channel, sequence, log time, publish time
MESSAGE_FIXED_BYTES = 22
CHUNK_HEAD = struct.Struct("<QQQI")  # start time, end time, uncompressed size, CRC


class Opcode(IntEnum):
    """What a record is."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    MESSAGE_INDEX = 0x07
    CHUNK_INDEX = 0x08
    STATISTICS = 0x0B
    METADATA = 0x0C
    METADATA_INDEX = 0x0D
    SUMMARY_OFFSET = 0x0E
    DATA_END = 0x0F


def record(opcode: Opcode, content: bytes) -> bytes:
    """A whole record."""
    return RECORD_HEAD.pack(opcode, len(content)) + content


def text(value: str) -> bytes:
    """A string with its length."""
    encoded = value.encode()
    return struct.pack("<I", len(encoded)) + encoded


def header(library: str) -> bytes:
    """The first record of a file."""
    return record(Opcode.HEADER, text(PROFILE) + text(library))


def schema(schema_id: int, name: str, data: bytes) -> bytes:
    """What messages of a channel look like, as a JSON Schema."""
    content = struct.pack("<H", schema_id) + text(name) + text("jsonschema")
    return record(Opcode.SCHEMA, content + struct.pack("<I", len(data)) + data)


def channel(channel_id: int, schema_id: int, topic: str) -> bytes:
    """A topic with JSON messages."""
    content = struct.pack("<HH", channel_id, schema_id) + text(topic) + text("json")
    return record(Opcode.CHANNEL, content + struct.pack("<I", 0))


def chunk(
    start_ns: int, end_ns: int, size: int, crc: int, compression: str, stored: bytes
) -> bytes:
    """Many records in one, with their CRC-32."""
    content = CHUNK_HEAD.pack(start_ns, end_ns, size, crc) + text(compression)
    return record(Opcode.CHUNK, content + struct.pack("<Q", len(stored)) + stored)


def message_index(channel_id: int, entries: bytes) -> bytes:
    """Where a chunk's messages of one channel are: log time [ns] and offset, in turn."""
    content = struct.pack("<HI", channel_id, len(entries)) + entries
    return record(Opcode.MESSAGE_INDEX, content)


def chunk_index(
    times_ns: tuple[int, int],
    place: tuple[int, int],
    index_offsets: Mapping[int, int],
    index_length: int,
    compression: str,
    sizes: tuple[int, int],
) -> bytes:
    """Where a chunk is: its times, (offset, length), its message indexes, (stored, real) size."""
    content = struct.pack("<QQQQ", *times_ns, *place)
    content += _map("<HQ", index_offsets)
    content += struct.pack("<Q", index_length) + text(compression) + struct.pack("<QQ", *sizes)
    return record(Opcode.CHUNK_INDEX, content)


def metadata(name: str, values: Mapping[str, str]) -> bytes:
    """Words about the whole file."""
    pairs = b"".join(text(key) + text(value) for key, value in sorted(values.items()))
    return record(Opcode.METADATA, text(name) + struct.pack("<I", len(pairs)) + pairs)


def metadata_index(offset: int, length: int, name: str) -> bytes:
    """Where the words about the file are."""
    return record(Opcode.METADATA_INDEX, struct.pack("<QQ", offset, length) + text(name))


def statistics(
    *,
    schemas: int,
    chunks: int,
    metadata: int,
    times_ns: tuple[int, int],
    messages: Mapping[int, int],
) -> bytes:
    """How much there is of everything; ``messages`` counts by channel."""
    total, channels, attachments = sum(messages.values()), len(messages), 0
    content = struct.pack(
        "<QHIIIIQQ", total, schemas, channels, attachments, metadata, chunks, *times_ns
    )
    return record(Opcode.STATISTICS, content + _map("<HQ", messages))


def summary_offset(group: Opcode, start: int, length: int) -> bytes:
    """Where the summary keeps the records of one kind."""
    return record(Opcode.SUMMARY_OFFSET, struct.pack("<BQQ", group, start, length))


def data_end() -> bytes:
    """The end of the data; no CRC over all of it, because every chunk has its own."""
    return record(Opcode.DATA_END, struct.pack("<I", 0))


def footer_head(summary_start: int, offsets_start: int) -> bytes:
    """The last record without its CRC, which covers these bytes too."""
    return RECORD_HEAD.pack(Opcode.FOOTER, 20) + struct.pack("<QQ", summary_start, offsets_start)


def _map(item: str, values: Mapping[int, int]) -> bytes:
    packer = struct.Struct(item)
    packed = b"".join(packer.pack(*pair) for pair in sorted(values.items()))
    return struct.pack("<I", len(packed)) + packed


NONE = ""
ZSTD = "zstd"
_LEVEL = 1  # higher levels gain little on numbers and cost the run its second core

Compress = Callable[[bytes | bytearray], bytes]


def best_compression() -> tuple[str, Compress]:
    """The compression to write with here, by its MCAP name."""
    try:
        compressor = _zstandard().ZstdCompressor(level=_LEVEL)
    except ImportError:
        return NONE, bytes
    return ZSTD, compressor.compress


def decompress(kind: str, data: bytes, size: int) -> bytes:
    """The bytes of a stored chunk.

    Raises:
        MissingExtraError: they are compressed and the extra is not installed.
        RecordingError: they are damaged, or nobody here knows this compression.
    """
    if kind == NONE:
        return data
    if kind != ZSTD:
        raise RecordingError(f"The compression {kind!r} is not one that this kit writes.")
    try:
        zstandard = _zstandard()
    except ImportError as exc:
        raise MissingExtraError("mcap", "Reading a compressed recording") from exc
    try:
        whole: bytes = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except (zstandard.ZstdError, OverflowError, MemoryError) as exc:  # the size may lie, too
        raise RecordingError(f"A chunk cannot be decompressed: {exc}") from exc
    return whole


def _zstandard() -> Any:
    """The library, which the extra brings along; absent without it."""
    return importlib.import_module("zstandard")


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
