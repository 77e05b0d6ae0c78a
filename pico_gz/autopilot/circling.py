"""Driving round a centre."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from pico_gz.autopilot.angles import TWO_PI, atan2, sincos, wrap_pi
from pico_gz.autopilot.navigation import Point
from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext

_LOOKAHEAD_M = 1.0
_LOOKAHEAD_S = 1.0
_SPIN_RADIUS_M = 0.1


class CircleFollower(Stateful):
    """Pure pursuit of a point that runs ahead on the circle.

    Attributes:
        center: in the local frame; with ``radius_m`` and ``clockwise``.
        turns: how often it went round, counted by the bearing from the centre.
    """

    __slots__ = _state_fields = ("angle_rad", "center", "clockwise", "radius_m", "started", "turns")

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
            rover.drive(0.0, way * rover.turn.rate_limit_radps())
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
