"""Brings chunks to the disk on a thread of its own, and gives up when the disk does."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from pico_gz.recording.chunks import SealedChunk
from pico_gz.recording.mcap_file import McapFile

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
