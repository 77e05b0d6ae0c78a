"""The only clock a vehicle has."""

from __future__ import annotations

from typing import ClassVar

from pico_gz.state import Stateful


class SitlTimer(Stateful):
    """Simulation time as the vehicle sees it: that of the newest sensor record.

    It stands while the simulator stands; nothing here looks at the wall clock.
    """

    __slots__ = ("_now_us",)
    _state_fields: ClassVar[tuple[str, ...]] = ("_now_us",)

    def __init__(self) -> None:
        self._now_us = 0

    def now_us(self) -> int:
        """Simulation time [us]."""
        return self._now_us

    def elapsed_us(self, since_us: int) -> int:
        """Simulation time that has passed since ``since_us`` [us]."""
        return self._now_us - since_us

    def set_us(self, time_us: int) -> None:
        """Set the time [us]; for the platform, which takes it from the sensor records."""
        self._now_us = time_us
