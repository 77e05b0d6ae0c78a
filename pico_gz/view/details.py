"""The selected rover in detail: missions, fences, sensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import degrees
from typing import Any

from pico_gz.bridge.published import FleetView
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import MissionItem, Telemetry
from pico_gz.run.recording.topics import AutopilotSample
from pico_gz.vehicle.autopilot.mission import (
    CIRCLE_COMMANDS,
    PLACED_COMMANDS,
    POLYGON_COMMANDS,
    MissionCommand,
)
from pico_gz.view.source import AutopilotSnapshot

Point = tuple[float, float]


class PlanReader:
    """Turns the lists of autopilots into points; work is done only for lists that changed."""

    def __init__(self, frame: LocalFrame) -> None:
        self._frame = frame
        self._known: dict[int, tuple[object, dict[str, Any]]] = {}

    def plan(self, vehicle_id: int, snapshot: AutopilotSnapshot) -> dict[str, Any]:
        """Mission, fence and home of one vehicle."""
        now = snapshot.telemetry
        home = (now.home_lat_e7, now.home_lon_e7) if now.home_valid else None
        source = (snapshot.mission, snapshot.fence, home)
        known = self._known.get(vehicle_id)
        # Equal lists are mostly the very same list, which makes this a cheap question.
        if known is None or known[0] != source:
            known = (source, self.plan_of(snapshot.mission, snapshot.fence, home))
            self._known[vehicle_id] = known
        return known[1]

    def plan_of(
        self,
        mission: Sequence[MissionItem],
        fence: Sequence[MissionItem],
        home_e7: tuple[int, int] | None = None,
    ) -> dict[str, Any]:
        """The plan from item lists."""
        return {
            "home": None if home_e7 is None else self.point(*home_e7),
            "mission": self._mission(mission),
            "fence": self._fence(fence),
        }

    def point(self, lat_e7: int, lon_e7: int) -> Point:
        """North and east [m], to the centimetre."""
        north, east, _ = self._frame.ned_from_geodetic(
            lat_e7 / 1e7, lon_e7 / 1e7, self._frame.alt_m
        )
        return round(float(north), 2), round(float(east), 2)

    def _mission(self, items: Sequence[MissionItem]) -> list[tuple[int, float, float]]:
        """(number, north, east) of every item that is a place; item 0 is home and left out."""
        return [
            (item.seq, *self.point(item.lat_e7, item.lon_e7))
            for item in items[1:]
            if item.command in PLACED_COMMANDS and (item.lat_e7 or item.lon_e7)
        ]

    def _fence(self, items: Sequence[MissionItem]) -> list[dict[str, Any]]:
        shapes: list[dict[str, Any]] = []
        index = 0
        while index < len(items):
            item, length = items[index], 1
            if item.command in CIRCLE_COMMANDS:
                inside = item.command == MissionCommand.FENCE_CIRCLE_INCLUSION
                center = self.point(item.lat_e7, item.lon_e7)
                shapes.append({"center": center, "radius_m": item.param1, "inside": inside})
            elif item.command in POLYGON_COMMANDS:
                inside = item.command == MissionCommand.FENCE_POLYGON_INCLUSION
                corners = items[index : index + max(1, int(item.param1))]
                places = [self.point(corner.lat_e7, corner.lon_e7) for corner in corners]
                shapes.append({"corners": places, "inside": inside})
                length = len(corners)
            index += length
        return shapes


def details_message(
    vehicle_id: int, view: FleetView, snapshot: AutopilotSnapshot | None, plans: PlanReader
) -> dict[str, Any]:
    """Estimates and commands of one vehicle; angles in degrees."""
    message: dict[str, Any] = {"t": "focus", "id": vehicle_id, "time_s": view.time_us / 1e6}
    command = view.commands.get(vehicle_id)
    if command is not None:
        message["motors"] = [round(value, 2) for value in command.motors]
        message["servos"] = [round(value, 2) for value in command.servos]
    if snapshot is not None:
        message |= _estimates(snapshot.telemetry, plans)
    return message


def recorded_estimates(sample: AutopilotSample) -> dict[str, Any]:
    """The estimates that a recording has of one vehicle."""
    shown: dict[str, Any] = {"estimate": None}
    if sample.north_m is not None and sample.east_m is not None:
        shown["estimate"] = (round(sample.north_m, 2), round(sample.east_m, 2))
    if sample.waypoint_distance_m:  # it is going somewhere
        shown["distance_m"] = round(sample.waypoint_distance_m, 2)
        shown["cross_track_m"] = round(sample.cross_track_m or 0.0, 3)
    return shown


def _estimates(now: Telemetry, plans: PlanReader) -> dict[str, Any]:
    yaw_deg = degrees(now.yaw_rad)
    shown: dict[str, Any] = {
        "yaw_deg": round(yaw_deg, 1),
        "roll_deg": round(degrees(now.roll_rad), 1),
        "pitch_deg": round(degrees(now.pitch_rad), 1),
        "speed_mps": round(now.ground_speed_mps, 2),
        "throttle_percent": round(now.throttle_percent),
        "battery_a": round(now.battery_a, 2),
        "hdop": round(now.gps_hdop, 1),
        "estimate": plans.point(now.lat_e7, now.lon_e7) if now.position_valid else None,
        "target": None,
        "mission": [now.mission_current, now.mission_count],
        "fence_breached": now.fence_breached,
    }
    if now.target_valid and now.waypoint_distance_m:
        error_deg = (now.nav_bearing_deg - yaw_deg + 180.0) % 360.0 - 180.0
        shown |= {
            "target": plans.point(now.target_lat_e7, now.target_lon_e7),
            "distance_m": round(now.waypoint_distance_m, 2),
            "cross_track_m": round(now.cross_track_m, 3),
            "heading_error_deg": round(error_deg, 1),
        }
    return shown
