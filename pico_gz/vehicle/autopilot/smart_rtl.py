"""The recorded path back for SMART_RTL."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from pico_gz.core.snapshot import Snapshot
from pico_gz.vehicle.autopilot.navigation import Point, distance_m


class SmartRtlPath(Snapshot):
    """Points from where it was armed to where it is now.

    A point is dropped every SRTL_ACCURACY metres. Coming near an older point cuts the loop
    off; points that lie on a straight line between their neighbours go when space runs out.

    Attributes:
        points: oldest first.
        active: armed with a position, and not out of space.
    """

    __slots__ = ("_params", "active", "points")
    _state_fields = ("active", "points")

    def __init__(self, params: Mapping[str, float]) -> None:
        self._params = params
        self.points: list[list[float]] = []
        self.active = False

    def begin(self, here: Point | None) -> None:
        """Start again; without a position it stays off."""
        self.active = here is not None and self._params["SRTL_POINTS"] > 0
        self.points = [list(here)] if here is not None and self.active else []

    def add(self, here: Point) -> bool:
        """Follow the rover; false when there is no more space."""
        if not self.active:
            return True
        accuracy = max(0.5, self._params["SRTL_ACCURACY"])
        if distance_m(self._point(-1), here) < accuracy:
            return True
        self._cut_loop(here, accuracy)
        self.points.append(list(here))
        if len(self.points) > self._params["SRTL_POINTS"]:
            self.points = _thinned(self.points, 0.5 * accuracy)
            if len(self.points) > self._params["SRTL_POINTS"]:
                self.active = False
                self.points = []
        return self.active

    def take(self) -> Point | None:
        """Take the newest point, to drive back to it."""
        if not self.points:
            return None
        north, east = self.points.pop()
        return north, east

    def peek(self) -> Point | None:
        """The point that would come next."""
        return self._point(-1) if self.points else None

    def _point(self, index: int) -> Point:
        north, east = self.points[index]
        return north, east

    def _cut_loop(self, here: Point, accuracy: float) -> None:
        # The last few points are near because it just came from there.
        for index in range(len(self.points) - 3):
            if distance_m(self._point(index), here) < 0.5 * accuracy:
                del self.points[index + 1 :]
                return


def _thinned(points: list[list[float]], tolerance_m: float) -> list[list[float]]:
    """Leave out points within ``tolerance_m`` of the line from the last kept to the next."""
    kept = [points[0]]
    for index in range(1, len(points) - 1):
        if _off_line(kept[-1], points[index + 1], points[index]) > tolerance_m:
            kept.append(points[index])
    kept.append(points[-1])
    return kept


def _off_line(start: list[float], end: list[float], point: list[float]) -> float:
    north, east = end[0] - start[0], end[1] - start[1]
    length = sqrt(north * north + east * east)
    if length < 1e-9:
        return distance_m((start[0], start[1]), (point[0], point[1]))
    return abs((point[1] - start[1]) * north - (point[0] - start[0]) * east) / length
