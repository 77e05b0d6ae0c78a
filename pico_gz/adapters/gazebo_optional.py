"""What records tell beyond the plain keys: distances and wind, which need not be in every one."""

from __future__ import annotations

import msgspec

from pico_gz.adapters.gazebo_truth import wind_of
from pico_gz.codecs.ardupilot_state import StateRecord
from pico_gz.messages.sensors import Vector3

_RANGE_KEYS = ("rng_1", "rng_2", "rng_3", "rng_4", "rng_5", "rng_6")
_NO_READING_M = -1.0


class OptionalKeys:
    """Keeps what came with the records of one step, so that the last one need not carry it.

    Attributes:
        seen: any of them has ever come.
        sends_ranges: a distance has ever come.
        sends_wind: wind has ever come.
    """

    __slots__ = ("_ranges_m", "_wind_ned_mps", "seen", "sends_ranges", "sends_wind")

    def __init__(self) -> None:
        self.seen = False
        self.sends_ranges = False
        self.sends_wind = False
        self._ranges_m: dict[str, float] = {}  # since the last ``put_into``
        self._wind_ned_mps: Vector3 | None = None

    def keep(self, record: StateRecord) -> None:
        """Take what a record has of them."""
        for key in _RANGE_KEYS:
            distance_m = getattr(record, key)
            if distance_m is not None and distance_m >= 0.0:
                self._ranges_m[key] = distance_m
                self.seen = self.sends_ranges = True
        wind = wind_of(record)
        if wind is not None:
            self._wind_ned_mps = wind
            self.seen = self.sends_wind = True

    def put_into(self, record: StateRecord) -> StateRecord:
        """Return a step's last record with its distances, each alone, and the wind.

        Distances are told once; the wind blows on until another one is told.
        """
        ranges: dict[str, float | None] = dict.fromkeys(_RANGE_KEYS)
        if self._ranges_m:
            # Whether there are distances at all is asked of the first one.
            ranges |= {"rng_1": _NO_READING_M, **self._ranges_m}
            self._ranges_m = {}
        return msgspec.structs.replace(
            record, wind_ned_mps=self._wind_ned_mps, windvane=None, **ranges
        )
