"""When the next radio frame is due."""

from __future__ import annotations

from typing import ClassVar

from pico_gz.state import Stateful
from pico_gz.vehicle.rc.base import FRAME_PERIOD_US


class FrameClock(Stateful):
    """Says every 20 ms of simulation time that a frame is due."""

    __slots__ = ("_due_us",)
    _state_fields: ClassVar[tuple[str, ...]] = ("_due_us",)

    def __init__(self) -> None:
        self._due_us = 0

    def is_due(self, now_us: int) -> bool:
        """Whether a frame is due at ``now_us``; asking again at that time says no."""
        if now_us < self._due_us:
            return False
        # From now on rather than from the due time: a pause is not followed by a burst.
        self._due_us = now_us + FRAME_PERIOD_US
        return True
