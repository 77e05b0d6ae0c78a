"""Simulated GPS receivers that talk on a UART, for firmware with its own GPS driver."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pico_gz.board_options import SerialFormat, SerialOutput
from pico_gz.messages import GpsData
from pico_gz.state import Stateful
from pico_gz.units import US_PER_S
from pico_gz.vehicle.nmea import encode_gga, encode_rmc
from pico_gz.vehicle.uart import UartPeer
from pico_gz.vehicle.ubx import encode_nav_pvt


class SerialOutputs(Stateful):
    """Writes each fix to every configured port, no faster than the port's rate.

    Time of day is ``utc_start_s`` plus simulation time, so that runs repeat.
    """

    def __init__(
        self,
        outputs: Mapping[int, SerialOutput],
        ends: Mapping[int, UartPeer],
        utc_start_s: int,
    ) -> None:
        self._outputs = dict(sorted(outputs.items()))
        self._ends = ends
        self._utc_start = datetime.fromtimestamp(utc_start_s, tz=UTC)
        self._due_us = dict.fromkeys(self._outputs, 0)

    def report(self, gps: GpsData, now_us: int) -> None:
        """Write the fix of ``now_us`` where a report is due."""
        for port, output in self._outputs.items():
            if now_us < self._due_us[port]:
                continue
            period_us = round(US_PER_S / output.rate_hz)
            # On the grid while the samples keep up, so that 5 Hz stays 5 Hz.
            on_grid_us = self._due_us[port] + period_us
            self._due_us[port] = on_grid_us if on_grid_us > now_us else now_us + period_us
            utc = self._utc_start + timedelta(microseconds=now_us)
            self._ends[port].write(encode_report(output.format, gps, utc))

    def save_state(self) -> dict[str, Any]:
        """When each port is due next, as plain values."""
        return {str(port): due_us for port, due_us in self._due_us.items()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        for port in self._due_us:
            self._due_us[port] = state.get(str(port), 0)


def encode_report(kind: SerialFormat, gps: GpsData, utc: datetime) -> bytes:
    """One report of a receiver: the two sentences, or the one frame."""
    if kind is SerialFormat.UBX:
        return encode_nav_pvt(gps, utc)
    return encode_gga(gps, utc) + encode_rmc(gps, utc)
