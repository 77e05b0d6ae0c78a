"""Everything about the one rover that somebody looks at."""

from __future__ import annotations

from math import degrees
from typing import Any

from pico_gz.bridge.view import FleetView
from pico_gz.dashboard.plans import PlanReader
from pico_gz.dashboard.sampler import Belief
from pico_gz.recording.topics import AutopilotSample


def focus_message(
    vehicle_id: int, view: FleetView, belief: Belief | None, plans: PlanReader
) -> dict[str, Any]:
    """Truth, belief and commands of one vehicle; angles in degrees."""
    message: dict[str, Any] = {"t": "focus", "id": vehicle_id, "time_s": view.time_us / 1e6}
    command = view.commands.get(vehicle_id)
    if command is not None:
        message["motors"] = [round(value, 2) for value in command.motors]
        message["servos"] = [round(value, 2) for value in command.servos]
    if belief is not None:
        message |= _belief(belief, plans)
    return message


def recorded_belief(sample: AutopilotSample) -> dict[str, Any]:
    """What a recording knows of it."""
    shown: dict[str, Any] = {"estimate": None}
    if sample.north_m is not None and sample.east_m is not None:
        shown["estimate"] = (round(sample.north_m, 2), round(sample.east_m, 2))
    if sample.waypoint_distance_m:  # it is going somewhere
        shown["distance_m"] = round(sample.waypoint_distance_m, 2)
        shown["cross_track_m"] = round(sample.cross_track_m or 0.0, 3)
    return shown


def _belief(belief: Belief, plans: PlanReader) -> dict[str, Any]:
    told = belief.telemetry
    yaw_deg = degrees(told.yaw_rad)
    shown: dict[str, Any] = {
        "yaw_deg": round(yaw_deg, 1),
        "roll_deg": round(degrees(told.roll_rad), 1),
        "pitch_deg": round(degrees(told.pitch_rad), 1),
        "speed_mps": round(told.ground_speed_mps, 2),
        "throttle_percent": round(told.throttle_percent),
        "battery_a": round(told.battery_a, 2),
        "hdop": round(told.gps_hdop, 1),
        "estimate": plans.point(told.lat_e7, told.lon_e7) if told.position_valid else None,
        "target": None,
        "mission": [told.mission_current, told.mission_count],
        "fence_breached": told.fence_breached,
    }
    if told.target_valid:
        error_deg = (told.nav_bearing_deg - yaw_deg + 180.0) % 360.0 - 180.0
        shown |= {
            "target": plans.point(told.target_lat_e7, told.target_lon_e7),
            "distance_m": round(told.waypoint_distance_m, 2),
            "cross_track_m": round(told.cross_track_m, 3),
            "heading_error_deg": round(error_deg, 1),
        }
    return shown
