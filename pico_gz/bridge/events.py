"""What happened in a run: structured, counted, bounded."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable

import msgspec

log = logging.getLogger(__name__)

_KEPT_EVENTS = 1000


class BridgeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that people and recordings should know.

    Attributes:
        time_us: simulation time [us].
        kind: a short word: ``stall, rejoin, failed, drop, contact, fallback, ...``.
        text: one plain sentence.
        vehicle_id: whom it concerns, 0 for nobody in particular.
        adapter: where it happened, if anywhere.
        severity: as in syslog, 3 error, 4 warning, 6 information.
    """

    time_us: int
    kind: str
    text: str
    vehicle_id: int = 0
    adapter: str = ""
    severity: int = 4


class EventLog:
    """Keeps the newest events, counts all of them, tells listeners."""

    def __init__(self) -> None:
        self.recent: deque[BridgeEvent] = deque(maxlen=_KEPT_EVENTS)
        self.counts: Counter[str] = Counter()
        self._counting = threading.Lock()  # watchdog and free-running adapters tell as well
        self._listeners: list[Callable[[BridgeEvent], None]] = []

    def listen(self, listener: Callable[[BridgeEvent], None]) -> None:
        """Call ``listener`` with every event from now on, on the thread that caused it."""
        self._listeners.append(listener)

    def add(self, event: BridgeEvent) -> None:
        """Keep, count, log and tell."""
        with self._counting:
            self.recent.append(event)
            self.counts[event.kind] += 1
        log.log(_LEVELS.get(event.severity, logging.WARNING), "%s", event.text)
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # who listens must not end a run
                log.exception("A listener failed on: %s", event.text)


_LEVELS = {3: logging.ERROR, 4: logging.WARNING, 5: logging.INFO, 6: logging.INFO, 7: logging.DEBUG}
