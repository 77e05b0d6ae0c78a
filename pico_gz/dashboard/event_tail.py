"""The newest events with numbers, so that every browser gets what it has not seen."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from pico_gz.bridge.events import BridgeEvent

KEPT = 500


class EventTail:
    """A bounded list of numbered events; may be filled by any thread.

    Attributes:
        version: grows with every change.
        began: the version at which it was last emptied; who knows an older one starts anew.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._events: deque[dict[str, Any]] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self.version = 0
        self.began = 0

    def add(self, event: BridgeEvent, text: str = "") -> None:
        """Keep one event, with ``text`` for its own; control characters are made visible."""
        with self._lock:
            self.version += 1
            self._events.append(
                {
                    "n": self.version,
                    "time_s": round(event.time_us / 1e6, 2),
                    "kind": event.kind,
                    "id": event.vehicle_id,
                    "severity": event.severity,
                    "text": _visible(text or event.text),
                }
            )

    def clear(self) -> None:
        """Empty it: what it held lies in the future now."""
        with self._lock:
            self._events.clear()
            self.version += 1
            self.began = self.version

    def after(self, version: int) -> list[dict[str, Any]]:
        """Those that came after ``version``, oldest first."""
        with self._lock:
            return [event for event in self._events if event["n"] > version]

    def news(self, version: int) -> tuple[dict[str, Any], int]:
        """The message for who knows ``version``, and the version it knows then."""
        with self._lock:
            events = [event for event in self._events if event["n"] > version]
            anew = version < self.began
            return {"t": "events", "events": events, "anew": anew}, self.version


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:500])
