"""What one satellite receiver makes of a measurement: fix state, rate and delay."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.messages import GpsData, GpsFixType
from pico_gz.state import Stateful

NO_FIX_HDOP = 99.99
NEVER_US = 1 << 62
_FULL_VIEW = 12
_SATELLITES_2D = 3
_SATELLITES_3D = 4


class GpsReceiver(Stateful):
    """One vehicle's receiver; everything here may be changed while it runs.

    Attributes:
        latency_us: from the measurement to its delivery.
        lock_us: from power-on to the first fix.
        period_us: of the delivered fixes, if slower than the measurements; 0 = all of them.
        satellites: in use, instead of those in view; -1 = those in view.
        jammed: no signal gets through.
        next_us: when the next fix is to be delivered.
    """

    _state_fields = (
        "latency_us", "lock_us", "period_us", "satellites", "jammed",
        "_power_on_us", "_epoch_us", "_known",
    )  # fmt: skip

    def __init__(self, fix_type: GpsFixType, latency_us: int, lock_us: int) -> None:
        self._best_fix = fix_type
        self.latency_us = latency_us
        self.lock_us = lock_us
        self.period_us = 0
        self.satellites = -1
        self.jammed = False
        self.next_us = NEVER_US
        self._power_on_us = -1
        self._epoch_us = -1
        self._known = [0.0, 0.0, 0.0]
        self._waiting: deque[tuple[int, GpsData]] = deque()

    def take(self, epoch_us: int, row: Sequence[float]) -> None:
        """Make a fix of (lat, lon, alt, speed, course, vn, ve, vd, satellites)."""
        if self._power_on_us < 0:
            self._power_on_us = epoch_us
        if self.period_us and epoch_us // self.period_us == self._epoch_us // self.period_us:
            return
        self._epoch_us = epoch_us
        lat, lon, alt, speed, course, north, east, down, in_view = row
        satellites = int(in_view) if self.satellites < 0 else self.satellites
        fix = self._fix_type(epoch_us, satellites)
        if fix is GpsFixType.NO_FIX:
            self._wait(epoch_us, self._without_fix(course))
            return
        # Three satellites do not tell the height.
        self._known = [lat, lon, self._known[2] if fix is GpsFixType.FIX_2D else alt]
        self._wait(
            epoch_us,
            GpsData(
                lat_deg=lat,
                lon_deg=lon,
                alt_m=self._known[2],
                speed_ms=speed,
                course_deg=course,
                velocity_ned_mps=(north, east, down),
                fix_type=fix,
                satellites=satellites,
                hdop=(80 + 5 * max(0, _FULL_VIEW - satellites)) / 100,
            ),
        )

    def release(self, now_us: int) -> GpsData | None:
        """Return the newest fix that is due, if any; older ones are lost."""
        told = None
        waiting = self._waiting
        while waiting and waiting[0][0] <= now_us:
            told = waiting.popleft()[1]
        self.next_us = waiting[0][0] if waiting else NEVER_US
        return told

    def save_state(self) -> dict[str, Any]:
        """Return the state as plain values, with the fixes on their way."""
        waiting = [[release_us, msgspec.to_builtins(fix)] for release_us, fix in self._waiting]
        return {**super().save_state(), "waiting": waiting}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save_state`` gave."""
        super().load_state(state)
        self._waiting = deque(
            (release_us, msgspec.convert(fix, GpsData)) for release_us, fix in state["waiting"]
        )
        self.next_us = self._waiting[0][0] if self._waiting else NEVER_US

    def _wait(self, epoch_us: int, fix: GpsData) -> None:
        release_us = epoch_us + self.latency_us
        # A latency that was shortened must not let a newer fix overtake an older one.
        if self._waiting and self._waiting[-1][0] > release_us:
            self._waiting.clear()
        self._waiting.append((release_us, fix))
        self.next_us = self._waiting[0][0]

    def _fix_type(self, epoch_us: int, satellites: int) -> GpsFixType:
        searching = epoch_us - self._power_on_us < self.lock_us
        if self.jammed or searching or satellites < _SATELLITES_2D:
            return GpsFixType.NO_FIX
        return GpsFixType.FIX_2D if satellites < _SATELLITES_3D else self._best_fix

    def _without_fix(self, course_deg: float) -> GpsData:
        lat, lon, alt = self._known
        return GpsData(
            lat_deg=lat,
            lon_deg=lon,
            alt_m=alt,
            speed_ms=0.0,
            course_deg=course_deg,
            fix_type=GpsFixType.NO_FIX,
            satellites=0 if self.satellites < 0 else min(self.satellites, _SATELLITES_2D - 1),
            hdop=NO_FIX_HDOP,
        )
