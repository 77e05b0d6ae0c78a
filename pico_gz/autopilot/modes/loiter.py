"""Modes that stay near a place: LOITER and CIRCLE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pico_gz.autopilot.api import Mode
from pico_gz.autopilot.circling import CircleFollower
from pico_gz.autopilot.modes.base import RoverMode
from pico_gz.autopilot.station import StationKeeper

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext


class LoiterMode(RoverMode):
    """Stop here and stay within LOIT_RADIUS."""

    __slots__ = _state_fields = ("station",)
    number = Mode.LOITER
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.station = StationKeeper()

    def enter(self, rover: RoverContext) -> str:
        """Stay where the rover comes to rest when it brakes now."""
        estimator = rover.estimator
        north, east = rover.here()
        speed = estimator.position.speed_mps
        way = speed * abs(speed) / (2.0 * rover.speed.decel_mps2())
        self.station.begin((north + way * estimator.cos_yaw, east + way * estimator.sin_yaw))
        # It brakes towards that point anyway; driving there would only start a hunt.
        self.station.settled = True
        return ""

    def run(self, rover: RoverContext) -> None:
        """Keep the station."""
        self.station.run(rover)

    def leave(self, rover: RoverContext) -> None:
        """Forget that it drove backwards."""
        rover.navigator.reversed = False


class CircleMode(RoverMode):
    """Go round a centre that lies CIRC_RADIUS ahead of where the mode was entered."""

    __slots__ = _state_fields = ("circle",)
    number = Mode.CIRCLE
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.circle = CircleFollower()

    def enter(self, rover: RoverContext) -> str:
        """Put the centre ahead of the bow."""
        values, estimator = rover.values, rover.estimator
        radius = values["CIRC_RADIUS"]
        if not rover.navigator.skid:
            radius = max(radius, 1.1 * values["TURN_RADIUS"])
        north, east = rover.here()
        center = (north + radius * estimator.cos_yaw, east + radius * estimator.sin_yaw)
        self.circle.begin(center, radius, values["CIRC_DIR"] == 0)
        return ""

    def run(self, rover: RoverContext) -> None:
        """Go round."""
        self.circle.run(rover, rover.values["CIRC_SPEED"] or rover.waypoint_speed_mps())
