"""A bounded queue of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pico_gz.errors import ConfigError
from pico_gz.state import Stateful


class RingBuffer(Stateful):
    """First in, first out; what does not fit is lost and counted, as in a UART's FIFO.

    Attributes:
        capacity: most bytes it holds.
        overrun_bytes: how many were refused since the start.
    """

    __slots__ = ("_data", "capacity", "overrun_bytes")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ConfigError(f"A buffer of {capacity} bytes holds nothing.")
        self.capacity = capacity
        self.overrun_bytes = 0
        self._data = bytearray()

    def __len__(self) -> int:
        """Bytes waiting."""
        return len(self._data)

    def push(self, data: bytes) -> int:
        """Append what fits and return how many bytes that was."""
        accepted = min(len(data), self.capacity - len(self._data))
        self._data += data[:accepted]
        self.overrun_bytes += len(data) - accepted
        return accepted

    def pop(self, count: int) -> bytes:
        """Take up to ``count`` bytes, oldest first."""
        if count <= 0:
            return b""
        taken = bytes(self._data[:count])
        del self._data[:count]
        return taken

    def clear(self) -> None:
        """Drop what is waiting; the overrun count stays."""
        self._data.clear()

    def save_state(self) -> dict[str, Any]:
        """Waiting bytes and count, as plain values."""
        return {"data": bytes(self._data), "overrun_bytes": self.overrun_bytes}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._data = bytearray(state["data"])
        self.overrun_bytes = state["overrun_bytes"]
