"""Writes an MCAP file chunk by chunk, so that whatever is cut off ends after a whole chunk."""

from __future__ import annotations

import errno
import os
import zlib
from collections import Counter
from pathlib import Path

from pico_gz import __version__
from pico_gz.recording import mcap_records as mcap
from pico_gz.recording.chunks import SealedChunk
from pico_gz.recording.compression import best_compression
from pico_gz.recording.mcap_records import Opcode

LIBRARY = f"pico_gz {__version__}"
EARLY_END = "pico_gz.early_end"  # metadata of a recording that its run outlived


class McapFile:
    """One file that is being written. Same chunks, same bytes.

    A chunk may be written early, as far as it goes (``write_draft``); the whole chunk then takes
    the place of its draft, so the bytes of a finished file do not tell when drafts were written.

    Raises:
        OSError: from every method that writes; ``written`` then still tells the end of the last
            whole chunk, and ``cut`` leaves a file that ends there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._compression, self._compress = best_compression()
        self._schemas: list[bytes] = []
        self._channels: list[bytes] = []
        self._chunk_indexes: list[bytes] = []
        self._metadata_indexes: list[bytes] = []
        self._messages: Counter[int] = Counter()
        self._times_ns: tuple[int, int] | None = None
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self.written = 0
        self._end = 0  # of the file: behind a draft
        self._append(mcap.MAGIC + mcap.header(LIBRARY))

    def note_schema(self, record: bytes) -> None:
        """Repeat this schema in the summary."""
        self._schemas.append(record)

    def note_channel(self, channel_id: int, record: bytes) -> None:
        """Repeat this channel in the summary."""
        self._channels.append(record)
        self._messages.setdefault(channel_id, 0)

    def write(self, chunk: SealedChunk) -> None:
        """Write a finished chunk with its indexes."""
        data, index = self._encode(chunk)
        self._append(data)
        self._chunk_indexes.append(index)
        self._messages.update(chunk.channels)
        start_ns, end_ns = chunk.span_ns()
        first, last = self._times_ns or (start_ns, end_ns)
        self._times_ns = min(first, start_ns), max(last, end_ns)

    def write_draft(self, chunk: SealedChunk) -> None:
        """Write the chunk under way as far as it goes; the next ``write`` replaces it."""
        self._put(self._encode(chunk)[0])

    def finish(self, early_end: str = "") -> None:
        """Write the summary, which lets readers jump; the file is complete then.

        Args:
            early_end: why the recording ends before its run does, if it does; in words.
        """
        if early_end:
            note = mcap.metadata(EARLY_END, {"reason": early_end})
            index = mcap.metadata_index(self.written, len(note), EARLY_END)
            self._append(note)
            self._metadata_indexes = [index]
        self._append(mcap.data_end())
        summary, offsets = self._summary(self.written)
        start = self.written if summary else 0
        head = mcap.footer_head(start, self.written + len(summary))
        crc = zlib.crc32(head, zlib.crc32(summary + offsets))
        self._append(summary + offsets + head + crc.to_bytes(4, "little") + mcap.MAGIC)

    def require_present(self) -> None:
        """Notice that somebody removed the file, which writing to it would not."""
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

    def _encode(self, chunk: SealedChunk) -> tuple[bytes, bytes]:
        """The chunk with its message indexes, and its entry in the summary."""
        stored = self._compress(chunk.data)
        times_ns, sizes = chunk.span_ns(), (len(stored), len(chunk.data))
        body = mcap.chunk(*times_ns, len(chunk.data), chunk.crc(), self._compression, stored)
        parts, offsets, end = [body], {}, self.written + len(body)
        for channel_id, entries in chunk.index().items():
            part = mcap.message_index(channel_id, entries)
            offsets[channel_id] = end
            end += len(part)
            parts.append(part)
        index_length = end - self.written - len(body)
        place = (self.written, len(body))
        index = mcap.chunk_index(times_ns, place, offsets, index_length, self._compression, sizes)
        return b"".join(parts), index

    def _summary(self, start: int) -> tuple[bytes, bytes]:
        statistics = mcap.statistics(
            schemas=len(self._schemas),
            chunks=len(self._chunk_indexes),
            metadata=len(self._metadata_indexes),
            times_ns=self._times_ns or (0, 0),
            messages=self._messages,
        )
        groups = (
            (Opcode.SCHEMA, self._schemas),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [statistics]),
            (Opcode.CHUNK_INDEX, self._chunk_indexes),
            (Opcode.METADATA_INDEX, self._metadata_indexes),
        )
        summary, offsets = b"", b""
        for opcode, records in groups:
            if records:
                group = b"".join(records)
                offsets += mcap.summary_offset(opcode, start + len(summary), len(group))
                summary += group
        return summary, offsets

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
