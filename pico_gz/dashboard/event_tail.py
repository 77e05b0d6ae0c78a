"""The newest events with numbers, so that every browser gets what it has not seen."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Any

KEPT = 500


class EventTail:
    """A bounded list of numbered events; may be filled by any thread."""

    def __init__(self, kept: int = KEPT) -> None:
        self._events: deque[dict[str, Any]] = deque(maxlen=kept)
        self._numbers = count(1)
        self.version = 0

    def add(self, time_us: int, text: str, *, kind: str, vehicle_id: int, severity: int) -> None:
        """Keep one event; control characters in it are made visible."""
        number = next(self._numbers)
        event = {
            "n": number,
            "time_s": round(time_us / 1e6, 2),
            "kind": kind,
            "id": vehicle_id,
            "severity": severity,
            "text": _visible(text),
        }
        self._events.append(event)
        self.version = number

    def after(self, version: int) -> list[dict[str, Any]]:
        """Those that came after ``version``, oldest first."""
        return [event for event in tuple(self._events) if event["n"] > version]


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:500])
