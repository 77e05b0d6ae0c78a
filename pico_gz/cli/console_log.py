"""Warnings of the kit as plain lines for people."""

from __future__ import annotations

import logging
from typing import TextIO

# The same sentence again within this time is not news.
_REPEAT_S = 10.0


class _NotAgain(logging.Filter):
    """Lets a sentence through once per ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._last_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if record.created - self._last_s.get(text, -_REPEAT_S) < _REPEAT_S:
            return False
        if len(self._last_s) > 1000:
            self._last_s.clear()
        self._last_s[text] = record.created
        return True


def show_warnings(stream: TextIO) -> None:
    """Write warnings and errors of the kit to ``stream``, one line each."""
    root = logging.getLogger("pico_gz")
    if any(getattr(handler, "is_pico_gz", False) for handler in root.handlers):
        return
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(_NotAgain())
    handler.is_pico_gz = True  # type: ignore[attr-defined]
    handler.setLevel(logging.WARNING)
    root.addHandler(handler)
