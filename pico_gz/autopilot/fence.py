"""Where the rover may be: circles and polygons, to stay inside of or outside of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pico_gz.autopilot.api import MissionItem
from pico_gz.autopilot.commands import CIRCLE_COMMANDS, POLYGON_COMMANDS, Command
from pico_gz.autopilot.navigation import Point, distance_m
from pico_gz.state import Stateful

# FENCE_TYPE bits.
CIRCLE_BIT, POLYGON_BIT = 2, 4
# FENCE_BREACH of MAVLink.
BREACH_NONE, BREACH_BOUNDARY = 0, 3


class _Circle(NamedTuple):
    center: Point
    radius_m: float
    inside: bool


class _Polygon(NamedTuple):
    corners: tuple[Point, ...]
    inside: bool


class Fence(Stateful):
    """All fences of one rover.

    Attributes:
        breached: it is outside now; ``outside_m`` how far.
        breach_count: how often that began.
    """

    __slots__ = ("_circles", "_polygons", "breach_count", "breached", "outside_m")
    _state_fields = ("breach_count", "breached", "outside_m")

    def __init__(self) -> None:
        self._circles: list[_Circle] = []
        self._polygons: list[_Polygon] = []
        self.breached = False
        self.breach_count = 0
        self.outside_m = 0.0

    def build(
        self, items: Sequence[MissionItem], local_from_e7: Callable[[int, int], Point]
    ) -> None:
        """Take the stored fence items."""
        self._circles, self._polygons = [], []
        index = 0
        while index < len(items):
            item = items[index]
            if item.command in CIRCLE_COMMANDS:
                center = local_from_e7(item.lat_e7, item.lon_e7)
                inside = item.command == Command.FENCE_CIRCLE_INCLUSION
                self._circles.append(_Circle(center, item.param1, inside))
            elif item.command in POLYGON_COMMANDS:
                corners = items[index : index + int(item.param1)]
                places = tuple(local_from_e7(c.lat_e7, c.lon_e7) for c in corners)
                inside = item.command == Command.FENCE_POLYGON_INCLUSION
                self._polygons.append(_Polygon(places, inside))
                index += len(corners) - 1
            index += 1

    def excess_m(self, here: Point, home: Point, types: int, home_radius_m: float) -> float:
        """How far ``here`` is on the wrong side of a fence; 0 or less when it is allowed.

        Of several inclusion areas all must be kept, as with ArduPilot's default.
        """
        worst = -1e9
        if types & CIRCLE_BIT:
            worst = distance_m(here, home) - home_radius_m
        if types & POLYGON_BIT:
            for circle in self._circles:
                beyond = distance_m(here, circle.center) - circle.radius_m
                worst = max(worst, beyond if circle.inside else -beyond)
            for polygon in self._polygons:
                beyond = _beyond_polygon(here, polygon.corners)
                worst = max(worst, beyond if polygon.inside else -beyond)
        return worst

    def note(self, excess_m: float) -> bool:
        """Remember where it is; true when it has just left."""
        began = excess_m > 0.0 and not self.breached
        self.breached = excess_m > 0.0
        self.outside_m = excess_m if self.breached else 0.0
        if began:
            self.breach_count += 1
        return began


def _beyond_polygon(point: Point, corners: tuple[Point, ...]) -> float:
    """Distance from the edge, positive outside."""
    nearest = 1e18
    inside = False
    before = corners[-1]
    for corner in corners:
        nearest = min(nearest, _distance_to_edge(point, before, corner))
        if (corner[0] > point[0]) != (before[0] > point[0]):
            share = (point[0] - corner[0]) / (before[0] - corner[0])
            if point[1] < corner[1] + share * (before[1] - corner[1]):
                inside = not inside
        before = corner
    return -nearest if inside else nearest


def _distance_to_edge(point: Point, start: Point, end: Point) -> float:
    north, east = end[0] - start[0], end[1] - start[1]
    length_sq = north * north + east * east
    share = 0.0
    if length_sq > 0.0:
        share = ((point[0] - start[0]) * north + (point[1] - start[1]) * east) / length_sq
        share = min(1.0, max(0.0, share))
    return distance_m(point, (start[0] + share * north, start[1] + share * east))
