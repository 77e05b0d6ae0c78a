"""How far a vehicle is behind the fleet's clock."""

from __future__ import annotations

from pico_gz.bridge.view import FleetView


def lag_s(view: FleetView, vehicle_id: int) -> float | None:
    """Age of the vehicle's newest sensor record, in simulated seconds; ``None`` without one."""
    record = view.sensors.get(vehicle_id)
    return None if record is None else max(0.0, (view.time_us - record.timestamp_us) / 1e6)
