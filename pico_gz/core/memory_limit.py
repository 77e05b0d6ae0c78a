"""The address space that ``ulimit -v`` leaves to this process.

An interpreter that gets no memory for the handling of an error can abort or, up to Python 3.11,
repeat that handling for ever with its lock held. So a run under a limit ends while some is left.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

if sys.platform != "win32":  # where there is no such limit
    import resource

_RESERVE_BYTES = 32 << 20  # three threads' stacks, and what closing a fleet of 255 needs
_SIZES = Path("/proc/self/statm")
_M_ARENA_MAX = -8  # of mallopt(3)


def address_space_limit() -> int | None:
    """The limit in bytes; ``None`` without one, or where its use cannot be read."""
    if sys.platform == "win32":
        return None
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit_bytes == resource.RLIM_INFINITY or _used_bytes() is None:
        return None
    return limit_bytes


def share_one_heap() -> None:
    """Under a limit, let threads use one heap: each would reserve 64 MB of addresses."""
    if address_space_limit() is None:
        return
    import ctypes

    with contextlib.suppress(AttributeError):  # a C library without it reserves nothing
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def require_memory(*_: object) -> None:
    """Raise while there is still memory to end a run with.

    Raises:
        MemoryError: less than the reserve is left of a limit.
    """
    limit_bytes = address_space_limit()
    if limit_bytes is None:
        return
    left_bytes = limit_bytes - (_used_bytes() or 0)
    if left_bytes < _RESERVE_BYTES:
        raise MemoryError(
            f"{max(left_bytes, 0) >> 20} MB are left of the limit of {limit_bytes >> 20} MB."
        )


def _used_bytes() -> int | None:
    if sys.platform == "win32":
        return None
    try:
        with _SIZES.open("rb", buffering=0) as sizes:
            pages = int(sizes.read(64).split()[0])
    except OSError:
        return None
    return pages * resource.getpagesize()
