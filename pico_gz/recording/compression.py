"""Chunks are stored compressed when the extra ``mcap`` is here, and as they are otherwise."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from pico_gz.errors import MissingExtraError
from pico_gz.recording.errors import RecordingError

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
