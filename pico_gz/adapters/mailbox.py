"""The hand-over of sensor records from a stepping thread to a reading one."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import msgspec

from pico_gz.messages import SensorData

_SAMPLES = tuple(
    field for field in SensorData.__struct_fields__ if field not in ("timestamp_us", "vehicle_id")
)


class SensorMailbox:
    """Keeps the newest record per vehicle and loses no sample that nobody has read.

    When the reader is slower than the simulator, a slow sensor's sample (GPS, 5 Hz) would be
    overwritten by the next step's empty record. Unread samples are therefore merged.
    """

    def __init__(self) -> None:
        # Held for a few dictionary operations only: readers never wait for a step.
        self._guard = threading.Lock()
        self._records: dict[int, SensorData] = {}
        self._unread = False

    def put(self, records: Mapping[int, SensorData]) -> None:
        """Take the records of one finished step."""
        with self._guard:
            if self._unread:
                self._records = {
                    vehicle_id: _merge(self._records.get(vehicle_id), record)
                    for vehicle_id, record in records.items()
                }
            else:
                self._records = dict(records)
            self._unread = True

    def take(self) -> dict[int, SensorData]:
        """Give the newest record of every vehicle."""
        with self._guard:
            self._unread = False
            return self._records

    def forget(self, vehicle_id: int) -> None:
        """Drop what is kept of a vehicle that left."""
        with self._guard:
            self._records = {i: r for i, r in self._records.items() if i != vehicle_id}

    def clear(self) -> None:
        """Drop everything."""
        with self._guard:
            self._records = {}
            self._unread = False


def _merge(older: SensorData | None, newer: SensorData) -> SensorData:
    if older is None:
        return newer
    kept = {
        name: getattr(older, name)
        for name in _SAMPLES
        if getattr(newer, name) is None and getattr(older, name) is not None
    }
    return msgspec.structs.replace(newer, **kept) if kept else newer
