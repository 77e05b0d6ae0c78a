"""A log that limits the rate of repeated messages."""

from __future__ import annotations

import logging
from collections.abc import Callable


class RateLimitedLog:
    """Logs the first event of a kind at once, then at most one line per period."""

    def __init__(self, logger: logging.Logger, period_s: float = 1.0) -> None:
        self._logger = logger
        self._period_s = period_s
        self._next_s: dict[str, float] = {}
        self._swallowed: dict[str, int] = {}

    def warn(
        self, kind: str, now_s: float, text: str | Callable[[], str], period_s: float = 0.0
    ) -> bool:
        """Log ``text`` unless ``kind`` was logged a moment ago; True when it was logged.

        In a flood even writing the text is dear: a function is only called when it is needed.
        """
        if now_s < self._next_s.get(kind, float("-inf")):
            self._swallowed[kind] = self._swallowed.get(kind, 0) + 1
            return False
        self._next_s[kind] = now_s + (period_s or self._period_s)
        missed = self._swallowed.pop(kind, 0)
        said = text if isinstance(text, str) else text()
        self._logger.warning("%s%s", said, f" ({missed} more like it)" if missed else "")
        return True
