"""Reads MCAP files, also those that were cut off."""

from __future__ import annotations

import contextlib
import mmap
import re
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path

import msgspec
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, ChunkIndex, MessageIndex, Metadata
from mcap.stream_reader import CRCValidationError, get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC

from pico_gz.errors import ConfigError
from pico_gz.run.recording.mcap_writer import (
    COMPRESSION,
    EARLY_END,
    MESSAGE_HEAD,
    RECORD_HEAD,
    TAKEN_BACK,
)

# What a chunk may claim to unpack to: a recorder's chunks have at most some 5 MB.
_MAX_CHUNK_BYTES = 64 * 1024 * 1024
_MAX_RATIO = 1000

# Chunks by number, such as 0-17,20-25; of a file with fewer than a million of them.
_RANGES = re.compile(r"(\d{1,6}-\d{1,6}(,|$)){0,1000}")

# What the library raises about records that are none.
_DAMAGE = (McapError, struct.error, UnicodeDecodeError, OverflowError)


class RecordingError(ConfigError):
    """A recording that is not there, or is no recording."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message as it was recorded."""

    channel_id: int
    sequence: int
    log_ns: int
    payload: memoryview


class McapReader:
    """An open MCAP file.

    Attributes:
        complete: whether the file was finished; otherwise it was cut off.
        ended_early: whether its metadata say that its run continued, as after a full disk.
        chunks: in the order of the file; where the run was taken back to a snapshot, those of
            its last time line.
        topics: channel id -> topic.

    Raises:
        RecordingError: it is no MCAP file, or is damaged before its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complete = False
        self.ended_early = False
        self.chunks: list[ChunkIndex] = []
        self.topics: dict[int, str] = {}
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as exc:  # ValueError: an empty file cannot be mapped
            raise RecordingError(f"{path} cannot be read: {exc}.") from exc
        try:
            if self._data[: len(MCAP0_MAGIC)] != MCAP0_MAGIC:
                raise RecordingError(f"{path} is no MCAP file.")
            self._scan()
            if not self.complete:
                self._scan_cut_off()
        except BaseException as exc:
            self.close()
            if isinstance(exc, _DAMAGE):
                raise RecordingError(f"{path} is damaged: {exc}.") from exc
            raise

    def __enter__(self) -> McapReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; harmless when called twice."""
        # A message that is still held keeps the file mapped until it is released.
        with contextlib.suppress(BufferError):
            self._data.close()

    def messages(
        self, chunk: ChunkIndex, channels: Collection[int] | None = None
    ) -> Iterator[Message]:
        """The messages of a chunk, in the order in which they were recorded.

        Args:
            chunk: one of ``chunks``.
            channels: only these, found without looking at the others; ``None``: all of them.
        """
        try:
            data = self._load(chunk)
            for start in self._message_starts(chunk, data, channels):
                opcode, length, channel_id, sequence, log_ns, _ = MESSAGE_HEAD.unpack_from(
                    data, start
                )
                if opcode != Opcode.MESSAGE:
                    raise RecordingError(f"{self.path} is damaged: an index points astray.")
                if channels is None or channel_id in channels:
                    payload = data[start + MESSAGE_HEAD.size : start + RECORD_HEAD.size + length]
                    yield Message(channel_id, sequence, log_ns, payload)
        except _DAMAGE as exc:
            raise RecordingError(f"{self.path} is damaged: {exc}.") from exc

    def _message_starts(
        self, chunk: ChunkIndex, data: memoryview, channels: Collection[int] | None
    ) -> Iterable[int]:
        if channels is None or not chunk.message_index_offsets:
            return (
                start - RECORD_HEAD.size
                for opcode, start, _ in _records(data, 0)
                if opcode == Opcode.MESSAGE
            )
        return sorted(
            offset
            for channel_id, place in chunk.message_index_offsets.items()
            if channel_id in channels
            for _, offset in MessageIndex.read(self._stream(place, Opcode.MESSAGE_INDEX)).records
        )

    def _scan(self) -> None:
        """Read what the summary of a finished file repeats: channels and places of chunks."""
        view = memoryview(self._data)
        for opcode, start, end in _records(view, len(MCAP0_MAGIC)):
            if opcode == Opcode.CHUNK_INDEX:
                self.chunks.append(ChunkIndex.read(_stream_of(view[start:end])))
            elif opcode == Opcode.CHANNEL:
                self._note_channel(view[start:end])
            elif opcode == Opcode.METADATA:
                self.ended_early |= Metadata.read(_stream_of(view[start:end])).name == EARLY_END
            elif opcode == Opcode.FOOTER:
                self.complete = view[end:] == MCAP0_MAGIC
                return

    def _scan_cut_off(self) -> None:
        """Find chunks and channels without a summary, up to the last whole chunk."""
        view = memoryview(self._data)
        self.chunks = []
        every: list[ChunkIndex] = []
        problem: RecordingError | None = None
        for opcode, start, end in _records(view, len(MCAP0_MAGIC)):
            if opcode == Opcode.METADATA:
                self._take_back(Metadata.read(_stream_of(view[start:end])), every)
            if opcode != Opcode.CHUNK:
                continue
            if problem is not None:  # only the last chunk may be half written
                raise problem
            chunk = self._read_chunk(start - RECORD_HEAD.size)
            try:
                data = self._unpack(chunk)
            except RecordingError as exc:
                problem = exc
                continue
            for inner, first, last in _records(data, 0):
                if inner == Opcode.CHANNEL:
                    self._note_channel(data[first:last])
            index = ChunkIndex(
                message_start_time=chunk.message_start_time,
                message_end_time=chunk.message_end_time,
                chunk_start_offset=start - RECORD_HEAD.size,
                chunk_length=end - start + RECORD_HEAD.size,
                message_index_offsets={},  # some may be missing
                message_index_length=0,
                compression=chunk.compression,
                compressed_size=len(chunk.data),
                uncompressed_size=chunk.uncompressed_size,
            )
            every.append(index)
            self.chunks.append(index)

    def _take_back(self, note: Metadata, every: Sequence[ChunkIndex]) -> None:
        """Keep the chunks that were on the time line when the run was taken back."""
        if note.name != TAKEN_BACK:
            return
        ranges = note.metadata.get("chunks", "")
        if not _RANGES.fullmatch(ranges):
            raise RecordingError(f"{self.path} is damaged: {ranges[:40]!r} names no chunks.")
        bounds = [part.split("-") for part in ranges.split(",") if part]
        self.chunks = [
            chunk
            for number, chunk in enumerate(every)
            if any(int(first) <= number <= int(last) for first, last in bounds)
        ]

    def _note_channel(self, content: memoryview) -> None:
        channel = Channel.read(_stream_of(content))
        self.topics[channel.id] = channel.topic

    def _load(self, index: ChunkIndex) -> memoryview:
        return self._unpack(self._read_chunk(index.chunk_start_offset))

    def _read_chunk(self, place: int) -> Chunk:
        chunk: Chunk = Chunk.read(self._stream(place, Opcode.CHUNK))
        return chunk

    def _stream(self, place: int, expected: Opcode) -> ReadDataStream:
        """The content of the record at this place of the file."""
        opcode, length = RECORD_HEAD.unpack_from(self._data, place)
        if opcode != expected:
            raise RecordingError(f"{self.path} is damaged: an index points astray.")
        start = place + RECORD_HEAD.size
        return _stream_of(memoryview(self._data)[start : start + length])

    def _unpack(self, chunk: Chunk) -> memoryview:
        """The records of a chunk, after its sizes were checked.

        Raises:
            RecordingError: it is damaged, or its sizes cannot be true.
        """
        at = f"{self.path} is damaged at {chunk.message_start_time / 1e9:.1f} s"
        _check_sizes(chunk, at)
        try:
            stream, length = get_chunk_data_stream(chunk, validate_crc=True)
        except CRCValidationError as exc:
            raise RecordingError(f"{at}: wrong checksum.") from exc
        except (zstandard.ZstdError, OverflowError, MemoryError) as exc:
            raise RecordingError(f"{at}: {exc}.") from exc
        if length != chunk.uncompressed_size:
            raise RecordingError(f"{at}: {length} bytes instead of {chunk.uncompressed_size}.")
        return memoryview(stream.read(length))


def _check_sizes(chunk: Chunk, at: str) -> None:
    """Refuse a chunk that would unpack to more than a recorder writes, before it is unpacked."""
    size, stored = chunk.uncompressed_size, len(chunk.data)
    if chunk.compression not in ("", COMPRESSION):
        raise RecordingError(
            f"The compression {chunk.compression!r} is not one that this kit writes."
        )
    if size > _MAX_CHUNK_BYTES or size > stored * _MAX_RATIO:
        raise RecordingError(f"{at}: a chunk of {stored} bytes claims to hold {size}.")
    if chunk.compression == COMPRESSION:
        try:
            # The library trusts this size more than the chunk's; -1: the frame does not say it.
            framed = zstandard.frame_content_size(chunk.data)
        except zstandard.ZstdError as exc:
            raise RecordingError(f"{at}: {exc}.") from exc
        if framed not in (-1, size):
            raise RecordingError(f"{at}: a chunk of {size} bytes claims to unpack to {framed}.")


def _stream_of(content: memoryview) -> ReadDataStream:
    return ReadDataStream(BytesIO(content))


def _records(data: memoryview, start: int) -> Iterator[tuple[int, int, int]]:
    """(opcode, start of the content, its end) of every whole record."""
    end = len(data)
    while start + RECORD_HEAD.size <= end:
        opcode, length = RECORD_HEAD.unpack_from(data, start)
        start += RECORD_HEAD.size
        if start + length > end:
            return
        yield opcode, start, start + length
        start += length
