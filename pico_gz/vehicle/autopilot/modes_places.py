"""Modes around a place: LOITER, CIRCLE, RTL and SMART_RTL."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

from pico_gz.core.frames import wrap_pi
from pico_gz.core.ground_control import MissionType, Mode
from pico_gz.core.portable_math import HALF_PI, TWO_PI, atan2, sincos
from pico_gz.core.snapshot import Snapshot
from pico_gz.vehicle.autopilot.modes_commanded import RoverMode
from pico_gz.vehicle.autopilot.navigation import Point, distance_m

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.context import RoverContext


_LOOKAHEAD_M: Final = 1.0
_LOOKAHEAD_S: Final = 1.0
_SPIN_RADIUS_M: Final = 0.1


class CircleFollower(Snapshot):
    """Pure pursuit of a point that runs ahead on the circle.

    Attributes:
        center: in the local frame; with ``radius_m`` and ``clockwise``.
        turns: how often it went round, counted by the bearing from the centre.
    """

    _state_fields = ("angle_rad", "center", "clockwise", "radius_m", "started", "turns")
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.center: Point = (0.0, 0.0)
        self.radius_m = 0.0
        self.clockwise = True
        self.turns = 0.0
        self.angle_rad = 0.0
        self.started = False

    def begin(self, center: Point, radius_m: float, clockwise: bool) -> None:
        """Go round this centre from now on."""
        self.center, self.radius_m, self.clockwise = center, radius_m, clockwise
        self.turns = 0.0
        self.started = False

    def run(self, rover: RoverContext, cruise_mps: float) -> None:
        """Drive for one main loop."""
        north, east = rover.here()
        rel_n, rel_e = north - self.center[0], east - self.center[1]
        way = 1.0 if self.clockwise else -1.0
        if self.radius_m < _SPIN_RADIUS_M:
            rover.drive(0.0, way * rover.turn.rate_limit_radps)
            return
        angle = atan2(rel_e, rel_n)
        self._count(angle, way, rel_n * rel_n + rel_e * rel_e)
        speed = abs(rover.estimator.position.speed_mps)
        ahead = min(max(_LOOKAHEAD_M, _LOOKAHEAD_S * speed), 0.8 * self.radius_m)
        sine, cosine = sincos(angle + way * ahead / self.radius_m)
        navigator = rover.navigator
        navigator.steer_for(
            rover.estimator,
            rover.now_us,
            self.radius_m * cosine - rel_n,
            self.radius_m * sine - rel_e,
            cruise_mps,
        )
        navigator.cross_track_m = way * (self.radius_m - sqrt(rel_n * rel_n + rel_e * rel_e))
        rover.drive(navigator.speed_mps, navigator.turn_rate_radps)

    def _count(self, angle: float, way: float, distance_sq: float) -> None:
        """Count turns once it has come to the circle."""
        near = 0.5 * self.radius_m
        if self.started:
            self.turns += way * wrap_pi(angle - self.angle_rad) / TWO_PI
        elif distance_sq > near * near:
            limit = 1.5 * self.radius_m
            self.started = distance_sq < limit * limit
        self.angle_rad = angle


# Parts of LOIT_RADIUS: driving back begins early enough to stay inside, and ends well inside.
_LEAVE: Final = 0.55
_ARRIVE: Final = 0.2


class StationKeeper(Snapshot):
    """Keeps within LOIT_RADIUS of a point; ``settled`` while standing."""

    _state_fields = ("settled", "target")
    __slots__ = _state_fields

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


class LoiterMode(RoverMode):
    """Stop here and stay within LOIT_RADIUS."""

    _state_fields = ("station",)
    __slots__ = _state_fields
    number = Mode.LOITER
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.station = StationKeeper()

    def enter(self, rover: RoverContext) -> str | None:
        """Stay where the rover comes to rest when it brakes now."""
        estimator = rover.estimator
        north, east = rover.here()
        speed = estimator.position.speed_mps
        way = speed * abs(speed) / (2.0 * rover.speed.decel_mps2)
        self.station.begin((north + way * estimator.cos_yaw, east + way * estimator.sin_yaw))
        # It brakes towards that point anyway; driving there would only start a hunt.
        self.station.settled = True
        return None

    def run(self, rover: RoverContext) -> None:
        self.station.run(rover)

    def leave(self, rover: RoverContext) -> None:
        rover.navigator.reversed = False


class CircleMode(RoverMode):
    """Go round a centre that lies CIRC_RADIUS ahead of where the mode was entered."""

    _state_fields = ("circle",)
    __slots__ = _state_fields
    number = Mode.CIRCLE
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.circle = CircleFollower()

    def enter(self, rover: RoverContext) -> str | None:
        """Put the centre ahead of the bow."""
        values, estimator = rover.values, rover.estimator
        radius = values["CIRC_RADIUS"]
        if not rover.navigator.skid:
            radius = max(radius, 1.1 * values["TURN_RADIUS"])
        north, east = rover.here()
        center = (north + radius * estimator.cos_yaw, east + radius * estimator.sin_yaw)
        self.circle.begin(center, radius, values["CIRC_DIR"] == 0)
        return None

    def run(self, rover: RoverContext) -> None:
        self.circle.run(rover, rover.values["CIRC_SPEED"] or rover.waypoint_speed_mps())


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

    _state_fields = ("arrived",)
    __slots__ = _state_fields
    number = Mode.RTL
    autonomous = True
    needs_position = True
    arms = False

    def __init__(self) -> None:
        self.arrived = False

    def enter(self, rover: RoverContext) -> str | None:
        """Set the leg home."""
        if not rover.home.valid:
            return "home is not set"
        self.arrived = False
        rover.navigator.reversed = False
        rover.navigator.set_leg(rover.here(), return_point(rover))
        return None

    def run(self, rover: RoverContext) -> None:
        """Drive, then stand."""
        if self.arrived:
            rover.stop()
            return
        if rover.follow(return_speed_mps(rover)):
            self.arrived = True
            rover.say(6, "Reached destination")


class SmartRtlMode(RoverMode):
    """Drive home the way it came."""

    _state_fields = ("arrived",)
    __slots__ = _state_fields
    number = Mode.SMART_RTL
    autonomous = True
    needs_position = True
    arms = False

    def __init__(self) -> None:
        self.arrived = False

    def enter(self, rover: RoverContext) -> str | None:
        """Take the newest point of the recorded way."""
        path = rover.smart_rtl
        first = path.take() if path.active else None
        if first is None:
            return "no recorded path"
        self.arrived = False
        rover.navigator.reversed = False
        rover.navigator.set_leg(rover.here(), first, path.peek())
        return None

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
            rover.say(6, "Reached destination")
            return
        rover.navigator.set_leg(rover.navigator.destination, following, path.peek())

    def leave(self, rover: RoverContext) -> None:
        """Keep the way home: where it stands now is the newest point again."""
        path = rover.smart_rtl
        if not path.points:
            path.points.append([rover.home.north_m, rover.home.east_m])
