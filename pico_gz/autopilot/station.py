"""Staying at a place: stand still near it, drive back when it has drifted away."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from pico_gz.autopilot.angles import HALF_PI, atan2, wrap_pi
from pico_gz.autopilot.navigation import Point
from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext

# Parts of LOIT_RADIUS: driving back begins early enough to stay inside, and ends well inside.
_LEAVE = 0.55
_ARRIVE = 0.2


class StationKeeper(Stateful):
    """Keeps within LOIT_RADIUS of a point; ``settled`` while standing."""

    __slots__ = _state_fields = ("settled", "target")

    def __init__(self) -> None:
        self.target: Point = (0.0, 0.0)
        self.settled = False

    def begin(self, target: Point) -> None:
        """Stay here from now on; the first approach begins at once."""
        self.target = target
        self.settled = False

    def run(self, rover: RoverContext) -> None:
        """Stand or drive back, for one main loop."""
        north, east = rover.here()
        to_n, to_e = self.target[0] - north, self.target[1] - east
        distance = sqrt(to_n * to_n + to_e * to_e)
        radius = max(0.5, rover.values["LOIT_RADIUS"])
        if self.settled:
            if distance <= _LEAVE * radius:
                rover.stop()
                return
            self.settled = False
            self._approach(rover, to_n, to_e)
        elif rover.navigator.destination != self.target or rover.navigator.reached:
            self._approach(rover, to_n, to_e)
        if distance <= _ARRIVE * radius:
            self._settle(rover)
            return
        gain = rover.values["LOIT_SPEED_GAIN"] or 0.5
        cruise = min(rover.waypoint_speed_mps(), gain * distance + 0.2)
        rover.follow(cruise)

    def _approach(self, rover: RoverContext, to_n: float, to_e: float) -> None:
        navigator = rover.navigator
        error = wrap_pi(atan2(to_e, to_n) - rover.estimator.heading.yaw_rad)
        kind = rover.values["LOIT_TYPE"]
        navigator.reversed = kind == 2 or (kind == 0 and abs(error) > HALF_PI)
        navigator.set_leg(rover.here(), self.target)

    def _settle(self, rover: RoverContext) -> None:
        self.settled = True
        rover.navigator.reversed = False
        rover.navigator.reached = True
        rover.stop()
