"""Writes MCAP chunk by chunk, on a thread of its own."""

from __future__ import annotations

import errno
import logging
import os
import queue
import threading
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pico_gz import __version__
from pico_gz.run.recording import mcap_format as mcap
from pico_gz.run.recording.mcap_format import Opcode, SealedChunk, best_compression

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


log = logging.getLogger(__name__)

DRAFT_PERIOD_S = 0.4  # what a kill may cost; below the second that is promised
_WAITING_CHUNKS = 8
_PATIENCE_S = 5.0
_CLOSE_S = 2.0
_TOO_SLOW = "the disk is too slow"


class ChunkWriter:
    """Writes what it is given, in order; when nothing comes, the chunk under way as a draft.

    Attributes:
        problem: why nothing is written any more, in words; empty while all is well.
    """

    def __init__(
        self,
        file: McapFile,
        peek: Callable[[], SealedChunk | None],
        *,
        draft_period_s: float = DRAFT_PERIOD_S,
    ) -> None:
        """Start writing.

        Args:
            file: where to; closed by ``close``.
            peek: gives the chunk under way, ``None`` when it has nothing new; any thread.
            draft_period_s: how long a quiet run may keep its last chunk to itself.
        """
        self.problem = ""
        self._file = file
        self._peek = peek
        self._draft_period_s = draft_period_s
        self._waiting: queue.Queue[SealedChunk | None] = queue.Queue(_WAITING_CHUNKS)
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def put(self, chunk: SealedChunk) -> None:
        """Hand over a finished chunk; waits only when the disk is far behind."""
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
            chunk = self._waiting.get(timeout=self._draft_period_s)
        except queue.Empty:
            draft = self._peek()
            if draft is not None:
                self._file.require_present()
                self._file.write_draft(draft)
            return True
        if chunk is not None:
            self._file.require_present()
            self._file.write(chunk)
        return chunk is not None

    def _give_up(self, error: OSError) -> None:
        """Leave a file that ends after a whole chunk and, if there is room, says so."""
        self._note(_reason(error))
        end = self._file.written
        try:
            self._file.cut(end)
            self._file.finish(self.problem)
        except OSError as second:
            log.debug("%s has no summary: %s", self._file.path, second)
            self._cut(end)
        self._let_go()

    def _let_go(self) -> None:
        """Free whoever waits for room; what they bring is not written any more."""
        while True:
            try:
                self._waiting.get_nowait()
            except queue.Empty:
                return

    def _cut(self, end: int) -> None:
        try:
            self._file.cut(end)
        except OSError as error:
            log.debug("%s cannot be cut: %s", self._file.path, error)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
