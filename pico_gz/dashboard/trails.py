"""Where everybody has been, so that a page that is opened late can draw it."""

from __future__ import annotations

from collections import deque

from pico_gz.bridge.view import FleetView

# All trails together have this many points; a page keeps its own, longer ones.
BUDGET = 16_000
MOST_POINTS = 800
SPACING_M = 0.2


class Trails:
    """The last points of every vehicle, in centimetres, at least ``SPACING_M`` apart."""

    def __init__(self) -> None:
        self._points: dict[int, deque[tuple[int, int]]] = {}

    def add(self, view: FleetView) -> None:
        """Take the places of one step."""
        most = min(MOST_POINTS, BUDGET // max(1, len(view.truth)))
        spacing_cm = SPACING_M * 100.0
        for vehicle_id, truth in view.truth.items():
            points = self._points.setdefault(vehicle_id, deque(maxlen=most))
            north, east = round(truth.north_m * 100.0), round(truth.east_m * 100.0)
            if points:
                was_north, was_east = points[-1]
                if abs(north - was_north) < spacing_cm and abs(east - was_east) < spacing_cm:
                    continue
            points.append((north, east))

    def clear(self) -> None:
        """Forget all."""
        self._points.clear()

    def flat(self) -> dict[int, list[int]]:
        """Vehicle id -> north, east, north, east ... [cm], oldest first."""
        return {i: [c for point in points for c in point] for i, points in self._points.items()}
