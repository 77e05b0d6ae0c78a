"""Altitude: the barometer for what changes, the GPS for where it is."""

from __future__ import annotations

from pico_gz.state import Stateful

# Near the ground pressure falls by 12 Pa per metre.
_M_PER_PA = 1.0 / 12.0
_GPS_GAIN = 0.01
_PRESSURE_GAIN = 0.2


class AltitudeFilter(Stateful):
    """Altitude above the ellipsoid [m]."""

    __slots__ = _state_fields = ("alt_m", "pressure_pa", "temperature_c")

    def __init__(self) -> None:
        self.alt_m = 0.0
        self.pressure_pa = 0.0
        self.temperature_c = 25.0

    def set_reference(self, alt_m: float) -> None:
        """Start here."""
        self.alt_m = alt_m

    def add_pressure(self, pressure_pa: float, temperature_c: float) -> None:
        """Follow the change of a smoothed pressure."""
        self.temperature_c = temperature_c
        if self.pressure_pa == 0.0:
            self.pressure_pa = pressure_pa
            return
        change = _PRESSURE_GAIN * (pressure_pa - self.pressure_pa)
        self.pressure_pa += change
        self.alt_m -= change * _M_PER_PA

    def add_gps(self, alt_m: float) -> None:
        """Let the GPS pull slowly: its altitude is noisy but does not drift away."""
        self.alt_m += _GPS_GAIN * (alt_m - self.alt_m)
