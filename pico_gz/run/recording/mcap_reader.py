"""Reads MCAP files, also those that were cut off."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import stat
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path

import msgspec
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    Footer,
    MessageIndex,
    Metadata,
    MetadataIndex,
)
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
# What all chunks may unpack to. Every message has an index entry that is not compressed, so that a
# recorder's files grow by no more than some 30 times.
_ALLOWED_BYTES = 64 * 1024 * 1024
_ALLOWED_RATIO = 50

_INDEX_ENTRY_BYTES = 16  # a time and a place
_FOOTER_BYTES = RECORD_HEAD.size + 20

# Chunks by number, such as 0-17,20-25; of a file with fewer than a million of them.
_RANGES = re.compile(r"(\d{1,6}-\d{1,6}(,|$)){0,1000}")

# What the library raises about records that are none.
_DAMAGE = (McapError, struct.error, UnicodeDecodeError, OverflowError)


class RecordingError(ConfigError):
    """A recording that is not there, or is no recording."""


def open_regular(path: Path) -> int:
    """Open a file of a recording for reading: a regular file, no link, no pipe, no device.

    Raises:
        OSError: it cannot be opened; ``FileNotFoundError`` when it is not there.
        RecordingError: it is something else.
    """
    if path.is_symlink():
        raise RecordingError(
            f"{path} is a link; a recording has files only.", hint="Copy the recording whole."
        )
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise RecordingError(f"{path} is no regular file.")
    return fd


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The bytes of a small file of a recording; raises like ``open_regular``."""
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise RecordingError(f"{path} is larger than {max_bytes} bytes.")
    return data


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
        self._unpacked_bytes = 0
        try:
            with os.fdopen(open_regular(path), "rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except RecordingError:
            raise
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
        places = [place for i, place in chunk.message_index_offsets.items() if i in channels]
        entries = sum(self._length_of(place) // _INDEX_ENTRY_BYTES for place in places)
        if entries > len(data) // MESSAGE_HEAD.size:
            raise RecordingError(f"{self.path} is damaged: an index of {entries} messages.")
        starts = sorted(
            offset
            for place in places
            for _, offset in MessageIndex.read(self._stream(place, Opcode.MESSAGE_INDEX)).records
        )
        return self._apart(starts, data)

    def _apart(self, starts: Iterable[int], data: memoryview) -> Iterator[int]:
        """The same places; no message begins inside another, or twice."""
        end = 0
        for start in starts:
            if start < end:
                raise RecordingError(f"{self.path} is damaged: messages overlap.")
            end = start + RECORD_HEAD.size + RECORD_HEAD.unpack_from(data, start)[1]
            yield start

    def _scan(self) -> None:
        """Read the summary of a finished file: channels and places of chunks."""
        view = memoryview(self._data)
        end = len(view) - _FOOTER_BYTES - len(MCAP0_MAGIC)
        if end < len(MCAP0_MAGIC) or view[end + _FOOTER_BYTES :] != MCAP0_MAGIC:
            return
        opcode, length = RECORD_HEAD.unpack_from(view, end)
        if opcode != Opcode.FOOTER or length != _FOOTER_BYTES - RECORD_HEAD.size:
            return
        footer = Footer.read(_stream_of(view[end + RECORD_HEAD.size :]))
        if not len(MCAP0_MAGIC) <= footer.summary_start <= end or footer.summary_crc != zlib.crc32(
            view[footer.summary_start : end + _FOOTER_BYTES - 4]
        ):
            return  # what it describes may still be read, as of a file that was cut off
        for opcode, first, last in _records(view[:end], footer.summary_start):
            content = view[first:last]
            if opcode == Opcode.CHUNK_INDEX:
                self._add_chunk(ChunkIndex.read(_stream_of(content)), footer.summary_start)
            elif opcode == Opcode.CHANNEL:
                self._note_channel(content)
            elif opcode == Opcode.METADATA_INDEX:
                name = MetadataIndex.read(_stream_of(content)).name
                self.ended_early |= name == EARLY_END
        self.complete = True

    def _add_chunk(self, chunk: ChunkIndex, summary_start: int) -> None:
        """Refuse a summary that names a chunk twice, or more bytes than a recorder writes."""
        last = self.chunks[-1] if self.chunks else None
        start = len(MCAP0_MAGIC) if last is None else last.chunk_start_offset + last.chunk_length
        if not start <= chunk.chunk_start_offset <= summary_start - chunk.chunk_length:
            raise RecordingError(f"{self.path} is damaged: chunks overlap.")
        self._count_bytes(chunk.uncompressed_size)
        self.chunks.append(chunk)

    def _count_bytes(self, size: int) -> None:
        self._unpacked_bytes += size
        if self._unpacked_bytes > _ALLOWED_BYTES + _ALLOWED_RATIO * len(self._data):
            raise RecordingError(
                f"{self.path} is no recording of this kit: its {len(self._data)} bytes claim to"
                f" hold more than {self._unpacked_bytes}."
            )

    def _scan_cut_off(self) -> None:
        """Find chunks and channels without a summary, up to the last whole chunk."""
        view = memoryview(self._data)
        self._unpacked_bytes = 0
        every: list[ChunkIndex] = []
        taken_back: tuple[Metadata, int] | None = None  # the last one, and the chunks before it
        problem: RecordingError | None = None
        for opcode, start, end in _records(view, len(MCAP0_MAGIC)):
            if opcode == Opcode.METADATA:
                note = Metadata.read(_stream_of(view[start:end]))
                if note.name == TAKEN_BACK:
                    taken_back = note, len(every)
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
            self._count_bytes(len(data))
            for inner, first, last in _records(data, 0):
                if inner == Opcode.CHANNEL:
                    self._note_channel(data[first:last])
            every.append(
                ChunkIndex(
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
            )
        self.chunks = every
        if taken_back is not None:
            note, count = taken_back
            self.chunks = [*self._kept(note, every[:count]), *every[count:]]

    def _kept(self, note: Metadata, every: Sequence[ChunkIndex]) -> list[ChunkIndex]:
        """The chunks that were on the time line when the run was taken back."""
        ranges = note.metadata.get("chunks", "")
        if not _RANGES.fullmatch(ranges):
            raise RecordingError(f"{self.path} is damaged: {ranges[:40]!r} names no chunks.")
        bounds = [part.split("-") for part in ranges.split(",") if part]
        kept: set[int] = set()
        for first, last in bounds:
            kept.update(range(int(first), min(int(last) + 1, len(every))))
        return [chunk for number, chunk in enumerate(every) if number in kept]

    def _note_channel(self, content: memoryview) -> None:
        channel = Channel.read(_stream_of(content))
        self.topics[channel.id] = channel.topic

    def _load(self, index: ChunkIndex) -> memoryview:
        chunk = self._read_chunk(index.chunk_start_offset)
        if chunk.uncompressed_size != index.uncompressed_size:
            raise RecordingError(f"{self.path} is damaged: a chunk and its index differ in size.")
        return self._unpack(chunk)

    def _read_chunk(self, place: int) -> Chunk:
        chunk: Chunk = Chunk.read(self._stream(place, Opcode.CHUNK))
        return chunk

    def _length_of(self, place: int) -> int:
        """How long the record at this place of the file claims to be."""
        length: int = RECORD_HEAD.unpack_from(self._data, place)[1]
        return length

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
