"""Modes that bring the rover home: RTL and SMART_RTL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pico_gz.autopilot.api import MissionType, Mode
from pico_gz.autopilot.modes.base import RoverMode
from pico_gz.autopilot.navigation import Point, distance_m

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext


def return_speed_mps(rover: RoverContext) -> float:
    """The speed of the way home."""
    return rover.values["RTL_SPEED"] or rover.values["WP_SPEED"] or rover.values["CRUISE_SPEED"]


def return_point(rover: RoverContext) -> Point:
    """The nearest rally point within RALLY_LIMIT_KM, or home."""
    here = rover.here()
    home = (rover.home.north_m, rover.home.east_m)
    limit_m = rover.values["RALLY_LIMIT_KM"] * 1000.0
    places = [
        rover.local_from_e7(item.lat_e7, item.lon_e7)
        for item in rover.store.items(MissionType.RALLY)
    ]
    if limit_m > 0.0:
        places = [place for place in places if distance_m(place, here) <= limit_m]
    if not places or rover.values["RALLY_INCL_HOME"]:
        places.append(home)
    return min(places, key=lambda place: distance_m(place, here))


class RtlMode(RoverMode):
    """Drive straight home and stop there."""

    __slots__ = _state_fields = ("arrived",)
    number = Mode.RTL
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.arrived = False

    def enter(self, rover: RoverContext) -> str:
        """Set the leg home."""
        if not rover.home.valid:
            return "home is not set"
        self.arrived = False
        rover.navigator.reversed = False
        rover.navigator.set_leg(rover.here(), return_point(rover))
        return ""

    def run(self, rover: RoverContext) -> None:
        """Drive, then stand."""
        if self.arrived:
            rover.stop()
            return
        if rover.follow(return_speed_mps(rover)):
            self.arrived = True
            rover.say(6, "Reached home")


class SmartRtlMode(RoverMode):
    """Drive home the way it came."""

    __slots__ = _state_fields = ("arrived",)
    number = Mode.SMART_RTL
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.arrived = False

    def enter(self, rover: RoverContext) -> str:
        """Take the newest point of the recorded way."""
        path = rover.smart_rtl
        first = path.take() if path.active else None
        if first is None:
            return "no recorded path"
        self.arrived = False
        rover.navigator.reversed = False
        rover.navigator.set_leg(rover.here(), first, path.peek())
        return ""

    def run(self, rover: RoverContext) -> None:
        """Drive from point to point, then stand."""
        if self.arrived:
            rover.stop()
            return
        if rover.follow(return_speed_mps(rover)):
            self._next(rover)

    def _next(self, rover: RoverContext) -> None:
        path = rover.smart_rtl
        following = path.take()
        if following is None:
            self.arrived = True
            rover.say(6, "Reached home")
            return
        rover.navigator.set_leg(rover.navigator.destination, following, path.peek())

    def leave(self, rover: RoverContext) -> None:
        """Keep the way home: where it stands now is the newest point again."""
        path = rover.smart_rtl
        if not path.points:
            path.points.append([rover.home.north_m, rover.home.east_m])
