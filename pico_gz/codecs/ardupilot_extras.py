"""What a state record may carry beyond ArduPilot's keys, for firmware that simulates no sensors.

ArduPilot reads none of it. Its parser looks for substrings, so the extra keys follow all
others, and none of them may contain a key of the protocol (``source`` contains ``rc``).
"""

from __future__ import annotations

import msgspec

from pico_gz.messages import SensorData
from pico_gz.messages.sensors import Vector3


class GpsExtra(msgspec.Struct, frozen=True, gc=False):
    """A position fix: degrees, degrees, metres, m/s, degrees clockwise from north."""

    lat: float
    lon: float
    alt: float
    speed: float
    course: float


class BarometerExtra(msgspec.Struct, frozen=True, gc=False):
    """Pressure [Pa] and temperature [degrees C]."""

    pressure: float
    temperature: float


class SimulatorExtra(msgspec.Struct, frozen=True, gc=False):
    """How often time has started over, and how far this record is from the one before [s]."""

    epoch: int
    dt: float


class ExtraKeys(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The extra keys; a sensor that has not spoken yet is left out.

    Attributes:
        gps: newest fix.
        mag: magnetic field, body FRD [gauss].
        baro: newest pressure.
        encoders: counts since power-on, (left, right).
        sim: the simulator's clock.
    """

    gps: GpsExtra | None = None
    mag: Vector3 | None = None
    baro: BarometerExtra | None = None
    encoders: tuple[int, int] | None = None
    sim: SimulatorExtra


class ExtraMemory:
    """Keeps the newest sample of every sensor and the clock, and makes the keys of a record."""

    def __init__(self) -> None:
        self._gps: GpsExtra | None = None
        self._mag: Vector3 | None = None
        self._baro: BarometerExtra | None = None
        self._encoders: tuple[int, int] | None = None
        self._epoch = 0
        self._last_us = -1

    def remember(self, sensors: SensorData) -> None:
        """Take what is new."""
        if (fix := sensors.gps) is not None:
            self._gps = GpsExtra(fix.lat_deg, fix.lon_deg, fix.alt_m, fix.speed_ms, fix.course_deg)
        if sensors.compass is not None:
            self._mag = sensors.compass.mag_gauss
        if (air := sensors.barometer) is not None:
            self._baro = BarometerExtra(air.pressure_pa, air.temperature_c)
        if sensors.encoders is not None:
            self._encoders = sensors.encoders.ticks

    def keys(self, time_us: int) -> ExtraKeys:
        """Return the keys of the record at ``time_us``."""
        since_us = time_us - self._last_us if self._last_us >= 0 else 0
        if since_us < 0:
            self._epoch += 1
        self._last_us = time_us
        return ExtraKeys(
            gps=self._gps,
            mag=self._mag,
            baro=self._baro,
            encoders=self._encoders,
            sim=SimulatorExtra(self._epoch, max(0, since_us) / 1e6),
        )
