"""Missions and fences in metres around the fleet's origin, as the map draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pico_gz.autopilot.api import MissionItem
from pico_gz.autopilot.commands import (
    CIRCLE_COMMANDS,
    PLACED_COMMANDS,
    POLYGON_COMMANDS,
    Command,
)
from pico_gz.dashboard.sampler import Belief
from pico_gz.local_frame import LocalFrame
from pico_gz.simulator.ops import SCALAR

Point = tuple[float, float]


class PlanReader:
    """Turns the lists of autopilots into points; work is done only for lists that changed."""

    def __init__(self, frame: LocalFrame) -> None:
        self._frame = frame
        self._known: dict[int, tuple[object, dict[str, Any]]] = {}

    def plan(self, vehicle_id: int, belief: Belief) -> dict[str, Any]:
        """Mission, fence and home of one vehicle."""
        told = belief.telemetry
        home = (told.home_lat_e7, told.home_lon_e7) if told.home_valid else None
        source = (belief.mission, belief.fence, home)
        known = self._known.get(vehicle_id)
        # Equal lists are mostly the very same list, which makes this a cheap question.
        if known is None or known[0] != source:
            known = (source, self.plan_of(belief.mission, belief.fence, home))
            self._known[vehicle_id] = known
        return known[1]

    def plan_of(
        self,
        mission: Sequence[MissionItem],
        fence: Sequence[MissionItem],
        home_e7: tuple[int, int] | None = None,
    ) -> dict[str, Any]:
        """The same from lists."""
        return {
            "home": None if home_e7 is None else self.point(*home_e7),
            "mission": self._mission(mission),
            "fence": self._fence(fence),
        }

    def point(self, lat_e7: int, lon_e7: int) -> Point:
        """North and east [m], to the centimetre."""
        north, east, _ = self._frame.ned_from_geodetic(
            SCALAR, lat_e7 / 1e7, lon_e7 / 1e7, self._frame.alt_m
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
                inside = item.command == Command.FENCE_CIRCLE_INCLUSION
                center = self.point(item.lat_e7, item.lon_e7)
                shapes.append({"center": center, "radius_m": item.param1, "inside": inside})
            elif item.command in POLYGON_COMMANDS:
                inside = item.command == Command.FENCE_POLYGON_INCLUSION
                corners = items[index : index + max(1, int(item.param1))]
                places = [self.point(corner.lat_e7, corner.lon_e7) for corner in corners]
                shapes.append({"corners": places, "inside": inside})
                length = len(corners)
            index += length
        return shapes
