"""The kit's messages as Foxglove shows them: z up, x east, y north, time from the start."""

from __future__ import annotations

from typing import Any

from pico_gz.bridge.events import BridgeEvent
from pico_gz.frames import quat_enu_flu_from_ned_frd
from pico_gz.messages import GpsData, GpsFixType, VehicleTruth

WORLD_FRAME = "world"
_UERE_M = 1.5  # horizontal error of a fix with an HDOP of 1
_COVARIANCE_APPROXIMATED = 1

# syslog severity -> level of foxglove.Log: 1 debug, 2 info, 3 warning, 4 error, 5 fatal.
_LEVELS = {0: 5, 1: 5, 2: 5, 3: 4, 4: 3, 5: 2, 6: 2, 7: 1}


def pose_in_frame(truth: VehicleTruth) -> dict[str, Any]:
    """Where a vehicle is, for a 3-D view."""
    w, x, y, z = quat_enu_flu_from_ned_frd(truth.quat_wxyz)
    return {
        "timestamp": _time(truth.timestamp_us),
        "frame_id": WORLD_FRAME,
        "pose": {
            "position": {"x": truth.east_m, "y": truth.north_m, "z": -truth.down_m},
            "orientation": {"x": x, "y": y, "z": z, "w": w},
        },
    }


def location_fix(fix: GpsData, time_us: int, vehicle_name: str) -> dict[str, Any]:
    """A GPS fix, for a map."""
    horizontal_m2 = (fix.hdop * _UERE_M) ** 2
    vertical_m2 = 4.0 * horizontal_m2
    known = fix.fix_type is not GpsFixType.NO_FIX
    return {
        "timestamp": _time(time_us),
        "frame_id": vehicle_name,
        "latitude": fix.lat_deg,
        "longitude": fix.lon_deg,
        "altitude": fix.alt_m,
        "position_covariance": [horizontal_m2, 0, 0, 0, horizontal_m2, 0, 0, 0, vertical_m2],
        "position_covariance_type": _COVARIANCE_APPROXIMATED if known else 0,
    }


def log_entry(event: BridgeEvent, name: str) -> dict[str, Any]:
    """An event, for a log panel; the kit's own fields are beside Foxglove's."""
    return {
        "timestamp": _time(event.time_us),
        "level": _LEVELS.get(event.severity, 0),
        "message": event.text,
        "name": name,
        "file": event.kind,
        "line": 0,
        "kind": event.kind,
        "vehicle_id": event.vehicle_id,
        "adapter": event.adapter,
        "severity": event.severity,
        "time_us": event.time_us,
    }


def event_of(entry: dict[str, Any]) -> BridgeEvent:
    """The event behind a log entry."""
    return BridgeEvent(
        time_us=entry["time_us"],
        kind=entry["kind"],
        text=entry["message"],
        vehicle_id=entry["vehicle_id"],
        adapter=entry["adapter"],
        severity=entry["severity"],
    )


def _time(time_us: int) -> dict[str, int]:
    seconds, rest_us = divmod(time_us, 1_000_000)
    return {"sec": seconds, "nsec": rest_us * 1000}
