"""The fleet table: one row of plain values per rover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.bridge.view import FleetView
from pico_gz.dashboard.lag import lag_s
from pico_gz.dashboard.sampler import Belief
from pico_gz.messages import BatteryData, GpsData

# The order of a row's values; it is told to browsers, which read rows by these names.
FIELDS = (
    "mode", "armed", "health", "waypoint", "battery_percent", "battery_v",
    "fix", "satellites", "lag_ms", "message", "failures",
)  # fmt: skip

Row = tuple[Any, ...]

# Words for GPS_FIX_TYPE of MAVLink.
_FIXES = {0: "none", 1: "no fix", 2: "2D", 3: "3D", 4: "DGPS", 5: "float", 6: "RTK"}
# The same numbers by the kit's own order of fix qualities.
_FIX_NUMBERS = (1, 2, 3, 5, 6)


def make_rows(
    vehicles: Iterable[VehicleInstance],
    views: list[FleetView],
    beliefs: Mapping[int, Belief],
    failures: Mapping[int, Mapping[str, str]],
) -> dict[int, Row]:
    """The rows of all vehicles, by id; ``views`` are the last few steps, newest last."""
    return {
        vehicle.id: _row(
            vehicle, views, beliefs.get(vehicle.id), dict(failures.get(vehicle.id, {}))
        )
        for vehicle in vehicles
    }


def _row(
    vehicle: VehicleInstance,
    views: list[FleetView],
    belief: Belief | None,
    failures: dict[str, str],
) -> Row:
    status = vehicle.status()
    lag = lag_s(views[-1], vehicle.id) if views else None
    percent, volts, fix, satellites = (
        _believed(belief) if belief is not None else _measured(views, vehicle.id)
    )
    return (
        status.mode,
        status.armed,
        _health(vehicle, views),
        status.waypoint,
        percent,
        volts,
        fix,
        satellites,
        None if lag is None else round(lag * 1000.0),
        status.last_message,
        failures,
    )


def _health(vehicle: VehicleInstance, views: list[FleetView]) -> str:
    if vehicle.failed:
        return "failed"
    if vehicle.stalled:
        return "stalled"
    return "ok" if views and vehicle.id in views[-1].sensors else "silent"


def _believed(belief: Belief) -> tuple[int | None, float | None, str, int]:
    told = belief.telemetry
    percent = told.battery_remaining_percent
    return (
        None if percent < 0 else percent,
        round(told.battery_v, 1) or None,
        _FIXES.get(told.gps_fix, str(told.gps_fix)),
        told.gps_satellites,
    )


def _measured(views: list[FleetView], vehicle_id: int) -> tuple[int | None, float | None, str, int]:
    """The same from the sensors, for vehicles whose autopilot is somewhere else."""
    battery = _newest(views, vehicle_id, "battery")
    gps = _newest(views, vehicle_id, "gps")
    percent = volts = None
    if isinstance(battery, BatteryData):
        percent, volts = round(battery.remaining * 100.0), round(battery.voltage_v, 1)
    if isinstance(gps, GpsData):
        return percent, volts, _FIXES[_FIX_NUMBERS[gps.fix_type]], gps.satellites
    return percent, volts, "none", 0


def _newest(views: list[FleetView], vehicle_id: int, sensor: str) -> object:
    for view in reversed(views):
        record = view.sensors.get(vehicle_id)
        sample = getattr(record, sensor, None)
        if sample is not None:
            return sample
    return None
