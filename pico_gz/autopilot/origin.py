"""Where local coordinates begin: the mean of the first good GPS fixes."""

from __future__ import annotations

from pico_gz.messages import GpsData, GpsFixType
from pico_gz.state import Stateful

_FIXES_NEEDED = 5
_MIN_SATELLITES = 5
_MAX_HDOP = 3.0
# Fixes further apart than this [degrees, about 10 m] are still settling.
_SETTLED_DEG = 1e-4


def usable(fix: GpsData) -> bool:
    """Whether a fix is good enough to navigate with."""
    return (
        fix.fix_type >= GpsFixType.FIX_3D
        and fix.satellites >= _MIN_SATELLITES
        and fix.hdop <= _MAX_HDOP
    )


class OriginFinder(Stateful):
    """Averages consecutive good fixes; one bad or far one starts again."""

    __slots__ = _state_fields = ("alt_m", "count", "lat_deg", "lon_deg")

    def __init__(self) -> None:
        self.count = 0
        self.lat_deg = self.lon_deg = self.alt_m = 0.0

    def restart(self) -> None:
        """Forget what was gathered."""
        self.count = 0

    def add(self, fix: GpsData) -> bool:
        """Take a usable fix; true once the mean in ``lat_deg, lon_deg, alt_m`` can be used."""
        far = (
            abs(fix.lat_deg - self.lat_deg) > _SETTLED_DEG
            or abs(fix.lon_deg - self.lon_deg) > _SETTLED_DEG
        )
        if self.count == 0 or far:
            self.count = 1
            self.lat_deg, self.lon_deg, self.alt_m = fix.lat_deg, fix.lon_deg, fix.alt_m
        else:
            self.count += 1
            share = 1.0 / self.count
            self.lat_deg += (fix.lat_deg - self.lat_deg) * share
            self.lon_deg += (fix.lon_deg - self.lon_deg) * share
            self.alt_m += (fix.alt_m - self.alt_m) * share
        return self.count >= _FIXES_NEEDED
