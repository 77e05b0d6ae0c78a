"""Reads MCAP files, also those that were cut off."""

from __future__ import annotations

import contextlib
import mmap
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from pico_gz.run.recording.mcap_format import (
    CHUNK_HEAD,
    MAGIC,
    MESSAGE_FIXED_BYTES,
    MESSAGE_HEAD,
    RECORD_HEAD,
    Opcode,
    RecordingError,
    decompress,
)
from pico_gz.run.recording.mcap_writer import EARLY_END

_LENGTH = struct.Struct("<I")
_CHANNEL = struct.Struct("<H")
_INDEX_ENTRY = struct.Struct("<QQ")  # log time, offset in the chunk


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message as it was recorded."""

    channel_id: int
    sequence: int
    log_ns: int
    payload: memoryview


class ChunkPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a chunk is in the file, what it spans, and where its messages are noted.

    ``indexes`` is channel -> place in the file of that channel's message index.
    """

    start_ns: int
    end_ns: int
    size: int
    crc: int
    compression: str
    offset: int
    stored_bytes: int
    indexes: dict[int, int]


class McapReader:
    """An open MCAP file.

    Attributes:
        complete: whether the file was finished; otherwise it was cut off.
        ended_early: whether it says that its run went on, as after a full disk.
        chunks: in the order of the file.
        topics: channel id -> topic.

    Raises:
        RecordingError: it is no MCAP file, or is damaged before its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complete = False
        self.ended_early = False
        self.chunks: list[ChunkPlace] = []
        self.topics: dict[int, str] = {}
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as exc:  # ValueError: an empty file cannot be mapped
            raise RecordingError(f"{path} cannot be read: {exc}.") from exc
        if self._data[: len(MAGIC)] != MAGIC:
            self.close()
            raise RecordingError(f"{path} is no MCAP file.")
        try:
            self._scan()
            if not self.complete:
                self._scan_cut_off()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> McapReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; harmless when called twice."""
        # A message that somebody still holds keeps the file mapped until it is let go.
        with contextlib.suppress(BufferError):
            self._data.close()

    def messages(
        self, chunk: ChunkPlace, channels: Collection[int] | None = None
    ) -> Iterator[Message]:
        """The messages of a chunk, in the order in which they were recorded.

        Args:
            chunk: one of ``chunks``.
            channels: only these, found without looking at the others; ``None``: all of them.
        """
        data = self._load(chunk)
        for start in self._message_starts(chunk, data, channels):
            try:
                opcode, length, channel_id, sequence, log_ns, _ = MESSAGE_HEAD.unpack_from(
                    data, start
                )
            except (struct.error, OverflowError):
                opcode = 0
            if opcode != Opcode.MESSAGE:
                raise RecordingError(f"{self.path} is damaged: an index points astray.")
            if channels is not None and channel_id not in channels:
                continue
            end = start + RECORD_HEAD.size + length
            payload = data[start + RECORD_HEAD.size + MESSAGE_FIXED_BYTES : end]
            yield Message(channel_id, sequence, log_ns, payload)

    def _message_starts(
        self, chunk: ChunkPlace, data: memoryview, channels: Collection[int] | None
    ) -> Iterable[int]:
        # A file that was cut off may have a chunk and lack its indexes.
        if channels is not None and self.complete:
            return sorted(
                offset
                for channel_id, place in chunk.indexes.items()
                if channel_id in channels
                for offset in self._offsets(place)
            )
        return (
            start - RECORD_HEAD.size
            for opcode, start, _ in _records(data, 0)
            if opcode == Opcode.MESSAGE
        )

    def _offsets(self, place: int) -> list[int]:
        """Where in its chunk an index says that messages begin."""
        try:
            (length,) = _LENGTH.unpack_from(self._data, place + _CHANNEL.size)
            start = place + _CHANNEL.size + _LENGTH.size
            entries = _INDEX_ENTRY.iter_unpack(self._data[start : start + length])
            return [offset for _, offset in entries]
        except struct.error as exc:
            raise RecordingError(f"{self.path} is damaged: {exc}.") from exc

    def _scan(self) -> None:
        for opcode, start, length in _records(memoryview(self._data), len(MAGIC)):
            if opcode == Opcode.CHUNK:
                self.chunks.append(self._place(start))
            elif opcode == Opcode.MESSAGE_INDEX and self.chunks and length >= _CHANNEL.size:
                (channel_id,) = _CHANNEL.unpack_from(self._data, start)
                self.chunks[-1].indexes[channel_id] = start
            elif opcode == Opcode.CHANNEL:
                self._note_channel(memoryview(self._data)[start : start + length])
            elif opcode == Opcode.METADATA:
                self.ended_early |= self._metadata_name(start) == EARLY_END
            elif opcode == Opcode.FOOTER:
                self.complete = self._data[start + length :] == MAGIC
                return

    def _scan_cut_off(self) -> None:
        """Find the channels in the chunks, and leave out a last chunk that is half written."""
        for number, chunk in enumerate(self.chunks):
            try:
                data = self._load(chunk)
            except RecordingError:
                if number + 1 < len(self.chunks):
                    raise
                self.chunks.pop()
                return
            for opcode, start, length in _records(data, 0):
                if opcode == Opcode.CHANNEL:
                    self._note_channel(data[start : start + length])

    def _place(self, start: int) -> ChunkPlace:
        try:
            start_ns, end_ns, size, crc = CHUNK_HEAD.unpack_from(self._data, start)
            compression, place = _text(self._data, start + CHUNK_HEAD.size)
            (stored,) = struct.unpack_from("<Q", self._data, place)
        except (struct.error, UnicodeDecodeError) as exc:
            raise RecordingError(f"{self.path} is damaged at byte {start}: {exc}.") from exc
        return ChunkPlace(
            start_ns=start_ns,
            end_ns=end_ns,
            size=size,
            crc=crc,
            compression=compression,
            offset=place + 8,
            stored_bytes=stored,
            indexes={},
        )

    def _metadata_name(self, start: int) -> str:
        try:
            return _text(self._data, start)[0]
        except (struct.error, UnicodeDecodeError) as exc:
            raise RecordingError(f"{self.path} is damaged at byte {start}: {exc}.") from exc

    def _load(self, chunk: ChunkPlace) -> memoryview:
        stored = self._data[chunk.offset : chunk.offset + chunk.stored_bytes]
        data = decompress(chunk.compression, stored, chunk.size)
        if chunk.crc and zlib.crc32(data) != chunk.crc:
            at_s = chunk.start_ns / 1e9
            raise RecordingError(f"{self.path} is damaged at {at_s:.1f} s: wrong checksum.")
        return memoryview(data)

    def _note_channel(self, content: memoryview) -> None:
        try:
            (channel_id,) = _CHANNEL.unpack_from(content)
            self.topics[channel_id], _ = _text(content, 4)
        except (struct.error, UnicodeDecodeError) as exc:
            raise RecordingError(f"{self.path} is damaged: {exc}.") from exc


def _records(data: memoryview, start: int) -> Iterator[tuple[int, int, int]]:
    """(opcode, start of the content, its length) of every whole record."""
    end = len(data)
    while start + RECORD_HEAD.size <= end:
        opcode, length = RECORD_HEAD.unpack_from(data, start)
        start += RECORD_HEAD.size
        if start + length > end:
            return
        yield opcode, start, length
        start += length


def _text(data: memoryview | mmap.mmap, start: int) -> tuple[str, int]:
    """A string, and where the next field begins."""
    (length,) = _LENGTH.unpack_from(data, start)
    start += _LENGTH.size
    return bytes(data[start : start + length]).decode(), start + length
