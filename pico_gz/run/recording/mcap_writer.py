"""Writes MCAP chunk by chunk, on a thread of its own.

The ``mcap`` library writes every record but messages and their index, of which a fleet makes
tens of thousands a second: for those only the library's framing is used.
"""

from __future__ import annotations

import errno
import logging
import os
import queue
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from pathlib import Path

import msgspec
import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC

from pico_gz import __version__
from pico_gz.bridge.timeline import Marks

LIBRARY = f"pico_gz {__version__}"
EARLY_END = "pico_gz.early_end"  # metadata of a recording that its run outlived
# Metadata where a run was taken back to a snapshot: the chunks that are still on its time line.
TAKEN_BACK = "pico_gz.taken_back"
COMPRESSION = "zstd"
_LEVEL = 1  # higher levels gain little on numbers and cost the run its second core

RECORD_HEAD = struct.Struct("<BQ")  # opcode, length of what follows
# The same, then channel, sequence, log time, publish time. ``mcap.records.Message`` takes four
# times as long to write and to read.
MESSAGE_HEAD = struct.Struct("<BQHIQQ")
_MESSAGE_FIXED_BYTES = MESSAGE_HEAD.size - RECORD_HEAD.size

log = logging.getLogger(__name__)


def as_bytes(*records: McapRecord) -> bytes:
    """Records as the file holds them."""
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    data: bytes = builder.end()
    return data


class SealedChunk(msgspec.Struct, frozen=True):
    """A chunk for the file.

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

    def write_index(self, builder: RecordBuilder, start: int) -> dict[int, int]:
        """Write a message index per channel; returns where in the file each begins.

        Args:
            builder: takes the records.
            start: place in the file of what ``builder`` holds.
        """
        channels = np.array(self.channels, np.int64)
        order = np.argsort(channels, kind="stable")
        entries = np.array([self.times_ns, self.offsets], "<u8").T[order]
        known, starts = np.unique(channels[order], return_index=True)
        places = {}
        for channel, part in zip(known.tolist(), np.split(entries, starts[1:]), strict=True):
            places[channel] = start + builder.count
            builder.start_record(Opcode.MESSAGE_INDEX)
            builder.write2(channel)
            builder.write4(part.nbytes)
            builder.write(part.tobytes())
            builder.finish_record()
        return places


class Snapshotted(msgspec.Struct, frozen=True):
    """Between two chunks: a snapshot was taken, or the run was taken back to it."""

    moment: str
    taken_back: bool


class ChunkBuilder:
    """The chunk that is being filled; one per recording, empty again after ``seal``."""

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

    def add_record(self, record: Schema | Channel) -> None:
        """Add what messages refer to."""
        self._data += as_bytes(record)

    def add_messages(
        self, channels: Sequence[int], sequence: int, time_ns: int, payloads: Sequence[bytes]
    ) -> None:
        """Add one message per channel; called for the whole fleet in every step."""
        data, note_offset, pack = self._data, self._offsets.append, MESSAGE_HEAD.pack
        opcode = int(Opcode.MESSAGE)
        for channel, payload in zip(channels, payloads, strict=True):
            note_offset(len(data))
            size = _MESSAGE_FIXED_BYTES + len(payload)
            data += pack(opcode, size, channel, sequence, time_ns, time_ns)
            data += payload
        self._channels.extend(channels)
        self._times_ns.extend(repeat(time_ns, len(channels)))

    def peek(self) -> SealedChunk:
        """A copy of what there is so far."""
        return SealedChunk(
            bytes(self._data), self._channels[:], self._times_ns[:], self._offsets[:]
        )

    def seal(self) -> SealedChunk:
        """Take the chunk and begin the next; nothing is copied."""
        sealed = SealedChunk(self._data, self._channels, self._times_ns, self._offsets)
        self._data = bytearray()
        self._channels, self._times_ns, self._offsets = [], [], []
        return sealed


class McapFile:
    """One file that is being written. Same chunks, same bytes.

    A chunk may be written early, as far as it goes (``write_draft``); the whole chunk then takes
    the place of its draft, so the bytes of a finished file do not depend on when drafts were
    written.

    Attributes:
        written: the end of the last whole chunk.

    Raises:
        OSError: from every method that writes; ``cut`` then leaves a file that ends at
            ``written``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._compress = zstandard.ZstdCompressor(level=_LEVEL).compress
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []  # of the time line
        self._numbers: list[int] = []  # theirs, counted from the start of the file
        self._chunk_count = 0
        self._metadata: list[MetadataIndex] = []
        self._message_counts: Counter[int] = Counter()
        self._marks: Marks[tuple[list[ChunkIndex], list[int], Counter[int]]] = Marks()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self.written = 0
        self._end = 0  # of the file: behind a draft
        self._append(MCAP0_MAGIC + as_bytes(Header(profile="", library=LIBRARY)))

    def note_schema(self, schema: Schema) -> None:
        """Repeat this schema in the summary."""
        self._schemas.append(schema)

    def note_channel(self, channel: Channel) -> None:
        """Repeat this channel in the summary."""
        self._channels.append(channel)
        self._message_counts.setdefault(channel.id, 0)

    def write(self, chunk: SealedChunk) -> None:
        """Write a finished chunk with its indexes."""
        data, index = self._encode(chunk)
        self._append(data)
        self._chunks.append(index)
        self._numbers.append(self._chunk_count)
        self._chunk_count += 1
        self._message_counts.update(chunk.channels)

    def mark(self, moment: str) -> None:
        """Note that a snapshot was taken after the last chunk."""
        counts = self._message_counts.copy()
        self._marks.note(moment, (self._chunks.copy(), self._numbers.copy(), counts))

    def go_back(self, moment: str) -> None:
        """Leave only the chunks before a snapshot on the time line, and say so in the file."""
        chunks, numbers, counts = self._marks.get(moment, ([], [], Counter()))
        self._chunks, self._numbers = chunks.copy(), numbers.copy()
        self._message_counts = Counter({one.id: counts[one.id] for one in self._channels})
        self._append_metadata(TAKEN_BACK, {"chunks": _ranges(numbers)})

    def write_draft(self, chunk: SealedChunk) -> None:
        """Write the chunk under way as far as it goes; the next ``write`` replaces it."""
        self._put(self._encode(chunk)[0])

    def finish(self, early_end: str | None = None) -> None:
        """Write the summary, which lets readers jump; the file is complete then.

        Args:
            early_end: why the recording ends before its run does, if it does; in words.
        """
        if early_end:
            self._append_metadata(EARLY_END, {"reason": early_end})
        # No CRC over all of the data, because every chunk has its own.
        self._append(as_bytes(DataEnd(data_section_crc=0)))
        summary, offsets_start = self._summary()
        footer = Footer(
            summary_start=self.written, summary_offset_start=offsets_start, summary_crc=0
        )
        # The CRC covers the footer, too, up to itself.
        footer.summary_crc = zlib.crc32(as_bytes(footer)[:-4], zlib.crc32(summary))
        self._append(summary + as_bytes(footer) + MCAP0_MAGIC)

    def require_present(self) -> None:
        """Notice that the file was removed, which writing to it would not."""
        if os.fstat(self._fd).st_nlink == 0:
            raise FileNotFoundError(errno.ENOENT, "it was removed", str(self.path))

    def cut(self, end: int) -> None:
        """Let the file end after ``end`` bytes."""
        os.ftruncate(self._fd, end)
        self.written = self._end = end

    def close(self) -> None:
        """Close it; harmless when called twice."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _encode(self, chunk: SealedChunk) -> tuple[bytes, ChunkIndex]:
        """The chunk with its message indexes, and its entry in the summary."""
        record = Chunk(
            compression=COMPRESSION,
            data=self._compress(chunk.data),
            message_start_time=min(chunk.times_ns, default=0),
            message_end_time=max(chunk.times_ns, default=0),
            uncompressed_crc=zlib.crc32(chunk.data),
            uncompressed_size=len(chunk.data),
        )
        builder = RecordBuilder()
        record.write(builder)
        length = builder.count
        index_offsets = chunk.write_index(builder, self.written)
        index = ChunkIndex(
            message_start_time=record.message_start_time,
            message_end_time=record.message_end_time,
            chunk_start_offset=self.written,
            chunk_length=length,
            message_index_offsets=index_offsets,
            message_index_length=builder.count - length,
            compression=COMPRESSION,
            compressed_size=len(record.data),
            uncompressed_size=record.uncompressed_size,
        )
        return builder.end(), index

    def _summary(self) -> tuple[bytes, int]:
        """The summary with its offsets, and where in the file the offsets begin."""
        groups: tuple[tuple[Opcode, Sequence[McapRecord]], ...] = (
            (Opcode.SCHEMA, self._schemas),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [self._statistics()]),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.METADATA_INDEX, self._metadata),
        )
        summary, offsets = b"", b""
        for opcode, records in groups:
            if records:
                group, start = as_bytes(*records), self.written + len(summary)
                offsets += as_bytes(SummaryOffset(opcode, start, len(group)))
                summary += group
        return summary + offsets, self.written + len(summary)

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=dict(sorted(self._message_counts.items())),
            chunk_count=len(self._chunks),
            message_count=self._message_counts.total(),
            message_start_time=min((c.message_start_time for c in self._chunks), default=0),
            message_end_time=max((c.message_end_time for c in self._chunks), default=0),
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )

    def _append_metadata(self, name: str, metadata: dict[str, str]) -> None:
        note = as_bytes(Metadata(name=name, metadata=metadata))
        index = MetadataIndex(offset=self.written, length=len(note), name=name)
        self._append(note)
        self._metadata.append(index)

    def _append(self, data: bytes) -> None:
        self._put(data)
        self.written += len(data)

    def _put(self, data: bytes) -> None:
        view, end = memoryview(data), self.written
        while view:
            count = os.pwrite(self._fd, view, end)
            view, end = view[count:], end + count
        if end < self._end:  # rests of a longer draft
            os.ftruncate(self._fd, end)
        self._end = end


def _ranges(numbers: Sequence[int]) -> str:
    """Rising whole numbers as ``0-17,20-25``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(f"{first}-{last}" for first, last in found)


DRAFT_PERIOD_S = 0.4  # what a kill may cost; below the second that is promised
_WAITING_CHUNKS = 8
_PATIENCE_S = 5.0
_CLOSE_S = 2.0
_TOO_SLOW = "the disk is too slow"


class ChunkWriter:
    """Writes the chunks it gets, in order; while none comes, the one under way as a draft.

    Attributes:
        problem: why nothing is written any more, in words; ``None`` while all is well.
    """

    def __init__(self, file: McapFile, peek: Callable[[], SealedChunk | None]) -> None:
        """Start writing.

        Args:
            file: where to; closed by ``close``.
            peek: gives the chunk under way, ``None`` when it has nothing new; any thread.
        """
        self.problem: str | None = None
        self._file = file
        self._peek = peek
        self._waiting: queue.Queue[SealedChunk | Snapshotted | None] = queue.Queue(_WAITING_CHUNKS)
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def put(self, chunk: SealedChunk | Snapshotted) -> None:
        """Hand over a finished chunk or a snapshot; waits only when the disk is far behind."""
        if self.problem:
            return
        try:
            self._waiting.put(chunk, timeout=_PATIENCE_S)
        except queue.Full:
            self._note(_TOO_SLOW)

    def close(self) -> None:
        """Write the rest and the summary, then close; harmless when called twice."""
        if not self._thread.is_alive():
            return
        try:
            self._waiting.put(None, timeout=_CLOSE_S)
        except queue.Full:
            self._note(_TOO_SLOW)
        self._thread.join(_CLOSE_S)
        if self._thread.is_alive():
            self._note(_TOO_SLOW)

    def _run(self) -> None:
        try:
            while self._write_next():
                pass
            self._file.finish(self.problem)
        except OSError as error:
            self._give_up(error)
        try:
            self._file.close()
        except OSError as error:
            self._note(_reason(error))

    def _note(self, problem: str) -> None:
        """Keep the first problem: what follows comes from it."""
        self.problem = self.problem or problem

    def _write_next(self) -> bool:
        try:
            chunk = self._waiting.get(timeout=DRAFT_PERIOD_S)
        except queue.Empty:
            draft = self._peek()
            if draft is not None:
                self._file.require_present()
                self._file.write_draft(draft)
            return True
        if isinstance(chunk, Snapshotted):
            (self._file.go_back if chunk.taken_back else self._file.mark)(chunk.moment)
        elif chunk is not None:
            self._file.require_present()
            self._file.write(chunk)
        return chunk is not None

    def _give_up(self, error: OSError) -> None:
        """Leave a file that ends after a whole chunk, with a summary if there is room."""
        self._note(_reason(error))
        end = self._file.written
        try:
            self._file.cut(end)
            self._file.finish(self.problem)
        except OSError as second:
            log.debug("%s has no summary: %s", self._file.path, second)
            try:
                self._file.cut(end)
            except OSError as third:
                log.debug("%s cannot be cut: %s", self._file.path, third)
        # The simulation may wait for room in the queue; its chunks are not written any more.
        while not self._waiting.empty():
            self._waiting.get_nowait()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
