"""What waits to be taken by a TCP client: bounded, telemetry goes first when it is full."""

from __future__ import annotations

import threading
from collections import deque


class Outbox:
    """A queue of frames between the simulation thread and the network thread.

    Order is kept among the frames that survive. When it is full the oldest telemetry is
    dropped; answers are dropped only by one another.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._number = 0
        self._telemetry: deque[tuple[int, bytes]] = deque()
        self._answers: deque[tuple[int, bytes]] = deque()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Return how much waits."""
        return self._size_bytes

    def put(self, raw: bytes, *, keep: bool) -> int:
        """Queue a frame and return how many frames were lost by that."""
        with self._lock:
            dropped = 0
            # Room is made first, so that no reader ever sees more than the limit.
            while self._size_bytes + len(raw) > self._limit_bytes and self._size_bytes:
                if not self._telemetry and not keep:
                    return dropped + 1  # telemetry makes no answer go: it stays out itself
                oldest = self._telemetry or self._answers
                self._size_bytes -= len(oldest.popleft()[1])
                dropped += 1
            self._number += 1
            (self._answers if keep else self._telemetry).append((self._number, raw))
            self._size_bytes += len(raw)
            return dropped

    def take(self, max_bytes: int) -> bytes:
        """Take the oldest frames, whole ones, about ``max_bytes``."""
        chunks: list[bytes] = []
        size = 0
        with self._lock:
            while size < max_bytes and (self._telemetry or self._answers):
                raw = self._older().popleft()[1]
                chunks.append(raw)
                size += len(raw)
            self._size_bytes -= size
        return b"".join(chunks)

    def _older(self) -> deque[tuple[int, bytes]]:
        if not self._answers:
            return self._telemetry
        if not self._telemetry:
            return self._answers
        return self._answers if self._answers[0][0] < self._telemetry[0][0] else self._telemetry
