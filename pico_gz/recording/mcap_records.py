"""MCAP records as bytes: one function per kind of record. No I/O (the format is at mcap.dev)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import IntEnum

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
