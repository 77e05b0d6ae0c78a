"""Telemetry logs, one file per vehicle."""

from __future__ import annotations

import errno
import logging
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pico_gz.mavlink import codec
from pico_gz.mavlink.links import Peer

_log = logging.getLogger(__name__)

_STAMP = struct.Struct(">Q")
_FLUSH_BYTES = 64 * 1024


def log_end(text: str) -> None:
    """Log that a recording has ended early."""
    _log.error("%s", text)


class TlogWriter(Peer):
    """Writes frames with their time; a full disk ends the recording, never the run.

    Signatures are stripped and SETUP_SIGNING is left out, because both help to find a key.
    """

    def __init__(
        self,
        path: Path,
        stamp_us: Callable[[], int],
        ended_early: Callable[[str], None] = log_end,
    ) -> None:
        """Create the file.

        Args:
            path: the new file; an old one is replaced.
            stamp_us: the Unix time to write for a frame [us].
            ended_early: called once with a sentence when nothing can be written any more.

        Raises:
            OSError: the file cannot be created.
        """
        super().__init__(f"tlog {path.name}", near=True, permanent=True, link_id=0)
        self.path = path
        self._stamp_us = stamp_us
        self._ended_early = ended_early
        self._buffer = bytearray()
        self._written_bytes = 0
        self._file: BinaryIO | None = path.open("wb", buffering=0)

    def write(self, raw: bytes, *, keep: bool = True) -> None:
        """Record one frame."""
        if self._file is None or codec.message_id(raw) == codec.SETUP_SIGNING_ID:
            return
        # The two lowest bits are a link number in this format.
        self._buffer += _STAMP.pack(self._stamp_us() & ~3) + codec.without_signature(raw)
        if len(self._buffer) >= _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Bring what is recorded to the file."""
        if self._file is None or not self._buffer:
            return
        try:
            self._require_present(self._file)
            view = memoryview(self._buffer)
            done = 0
            while done < len(view):
                done += self._file.write(view[done:]) or 0
            view.release()
            self._written_bytes += len(self._buffer)
            self._buffer = bytearray()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Write the rest and close the file; closing twice is fine."""
        self.flush()
        if self._file is not None:
            self._file.close()
        self._file = None
        self.closed = True

    def _require_present(self, file: BinaryIO) -> None:
        """Raise when the file was removed, which writing to it would not."""
        if os.fstat(file.fileno()).st_nlink == 0:
            raise FileNotFoundError(errno.ENOENT, "it was removed", str(self.path))

    def _give_up(self, error: OSError) -> None:
        """Leave a file that ends after a whole record, and stop recording."""
        assert self._file is not None
        try:
            self._file.truncate(self._written_bytes)
            self._file.close()
        except OSError as problem:
            _log.debug("Closing %s: %s", self.path, problem)
        self._file = None
        self._buffer = bytearray()
        self.closed = True
        reason = (error.strerror or str(error)).lower()
        self._ended_early(f"The recording {self.path} ends here: {reason}.")
