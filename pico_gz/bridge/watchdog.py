"""Names what a run waits for when a step does not return by itself."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

log = logging.getLogger(__name__)


class Watched(Protocol):
    """What the watchdog looks at; reading it never blocks."""

    @property
    def step_started_s(self) -> float:
        """When the step under way began [s]; 0 between steps."""

    def now_s(self) -> float:
        """Monotonic wall clock [s]."""

    def waited_for(self) -> str:
        """Who holds the step."""


class Watchdog:
    """A thread that looks every now and then whether the step under way is late."""

    def __init__(self, watched: Watched, warn_s: float) -> None:
        self._watched = watched
        self._warn_s = warn_s
        self._told_about_s = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="pico-gz-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join(timeout=1.0)

    def _loop(self) -> None:
        while not self._closed.wait(self._warn_s / 4.0):
            self.look()

    def look(self) -> None:
        """Tell once per step that is late."""
        started_s = self._watched.step_started_s
        if not started_s or started_s == self._told_about_s:
            return
        late_s = self._watched.now_s() - started_s
        who = self._watched.waited_for()
        if late_s >= self._warn_s and who:
            self._told_about_s = started_s
            log.warning("Waiting for %s since %.1f s.", who, late_s)
