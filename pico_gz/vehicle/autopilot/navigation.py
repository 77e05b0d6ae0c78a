"""Follows a straight leg: pure pursuit, pivot turns, speed profile."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Final

from pico_gz.core.portable_math import HALF_PI, PI, RAD_PER_DEG, atan2
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.vehicle.autopilot.control import clamp
from pico_gz.vehicle.autopilot.estimator import Estimator

_LOOKAHEAD_M: Final = 1.0
_LOOKAHEAD_S: Final = 1.0
_PIVOT_DONE_RAD: Final = 5.0 * RAD_PER_DEG
_ARRIVED_M: Final = 0.15
# Slowing down is planned with a part of what is allowed; the rest covers lags.
_PLANNED_DECEL: Final = 0.6
_CRAWL: Final = 0.15

Point = tuple[float, float]


def distance_m(a: Point, b: Point) -> float:
    """Distance between two points."""
    north, east = a[0] - b[0], a[1] - b[1]
    return sqrt(north * north + east * east)


class Navigator(Snapshot):
    """Drives from one point to the next; local metres north and east.

    Attributes:
        has_leg: there has been a destination since the mode was entered.
        reached: the destination has been passed, by radius or by its perpendicular plane.
        speed_mps: and ``turn_rate_radps``: what it wants now.
        distance_m: to the destination.
        aim_error_rad: how far right of the bow the point lies that it steers for.
        cross_track_m: right of the leg.
        reversed: drive backwards.
    """

    _state_fields = (
        "aim_error_rad", "along_e", "along_n", "corner_mps", "cross_track_m", "destination",
        "distance_m", "has_leg", "length_m", "pivot_until_us", "pivoting", "reached", "reversed",
        "speed_mps", "start", "stop", "switch_m", "turn_rate_radps",
    )  # fmt: skip
    __slots__ = (
        *_state_fields, "_decel_mps2", "_lateral_mps2", "_params", "_pivot_gain",
        "_pivot_rad", "_pivot_rate_radps", "_rate_limit_radps", "_tightest", "skid",
    )  # fmt: skip

    def __init__(self, params: Mapping[str, float], drive: DriveKind) -> None:
        self.skid = drive is DriveKind.SKID
        self.take_params(params)
        self.start: Point = (0.0, 0.0)
        self.destination: Point = (0.0, 0.0)
        self.along_n, self.along_e, self.length_m = 1.0, 0.0, 0.0
        self.stop = True
        self.switch_m = _ARRIVED_M
        self.corner_mps = 0.0
        self.reached = True
        self.has_leg = False
        self.pivoting = False
        self.pivot_until_us = 0
        self.reversed = False
        self.speed_mps = self.turn_rate_radps = 0.0
        self.distance_m = self.cross_track_m = self.aim_error_rad = 0.0

    def take_params(self, params: Mapping[str, float]) -> None:
        """Use these parameters from now on."""
        self._params = params
        self._rate_limit_radps = (params["ATC_STR_RAT_MAX"] or 360.0) * RAD_PER_DEG
        self._pivot_rad = params["WP_PIVOT_ANGLE"] * RAD_PER_DEG
        self._pivot_rate_radps = min(
            params["WP_PIVOT_RATE"] * RAD_PER_DEG or PI, self._rate_limit_radps
        )
        self._pivot_gain = params["ATC_STR_ANG_P"]
        self._lateral_mps2 = params["ATC_TURN_MAX_G"] * GRAVITY_MPS2
        self._decel_mps2 = _PLANNED_DECEL * (
            params["WP_ACCEL"] or params["ATC_DECEL_MAX"] or params["ATC_ACCEL_MAX"] or 1.0
        )
        self._tightest = 1.0 / max(params["TURN_RADIUS"], 0.05)

    def set_leg(self, start: Point, destination: Point, following: Point | None = None) -> None:
        """Begin a leg; with a ``following`` point it may round the corner without stopping."""
        self.start, self.destination = start, destination
        north, east = destination[0] - start[0], destination[1] - start[1]
        self.length_m = length = sqrt(north * north + east * east)
        if length > 1e-6:
            self.along_n, self.along_e = north / length, east / length
        self.reached = False
        self.has_leg = True
        self.pivoting = False
        self._plan_corner(following)

    def _plan_corner(self, following: Point | None) -> None:
        """Decide how to pass the destination: stop there, or cut the corner within WP_RADIUS."""
        params = self._params
        self.stop, self.corner_mps = True, 0.0
        self.switch_m = min(_ARRIVED_M, params["WP_RADIUS"])
        if following is None or self.length_m < 1e-6:
            return
        north, east = following[0] - self.destination[0], following[1] - self.destination[1]
        ahead = north * self.along_n + east * self.along_e
        right = east * self.along_n - north * self.along_e
        angle = abs(atan2(right, ahead))
        if self.skid and angle > self._pivot_rad:
            return
        if angle > 0.95 * PI and self.skid:
            return
        self.stop = False
        # tan of half the angle, from its sine and cosine.
        length = sqrt(north * north + east * east) or 1.0
        tan_half = abs(right) / max(1e-6, length + ahead)
        reach = max(params["WP_RADIUS"], _ARRIVED_M)
        radius_m = max(params["TURN_RADIUS"], reach / max(tan_half, 1e-3))
        self.corner_mps = min(
            sqrt(self._lateral_mps2 * radius_m), self._rate_limit_radps * radius_m
        )
        planned = min(self.corner_mps, params["WP_SPEED"])
        turn_in = max(0.5 * _LOOKAHEAD_S * planned, params["TURN_RADIUS"] * min(tan_half, 3.0))
        self.switch_m = min(reach, turn_in + _ARRIVED_M)

    def update(self, estimator: Estimator, now_us: int, cruise_mps: float) -> None:
        """Work out speed and turn rate for now; ``cruise_mps`` is the speed to hold."""
        position = estimator.position
        rel_n = position.north_m - self.start[0]
        rel_e = position.east_m - self.start[1]
        along = rel_n * self.along_n + rel_e * self.along_e
        cross = rel_e * self.along_n - rel_n * self.along_e
        self.cross_track_m = cross
        remaining = self.length_m - along
        self.distance_m = distance = sqrt(remaining * remaining + cross * cross)
        if distance <= self.switch_m or remaining <= 0.0:
            self.reached = True
        ahead = _LOOKAHEAD_S * abs(position.speed_mps)
        if ahead < _LOOKAHEAD_M:
            ahead = _LOOKAHEAD_M
        # The point on the leg that lies ``ahead`` of the rover, seen from the rover.
        aim_n = self.along_n * ahead + self.along_e * cross
        aim_e = self.along_e * ahead - self.along_n * cross
        self._steer(estimator, now_us, aim_n, aim_e, remaining, cruise_mps)

    def steer_for(
        self, estimator: Estimator, now_us: int, aim_n: float, aim_e: float, cruise_mps: float
    ) -> None:
        """Steer for a point (metres from the rover) that moves on as the rover does."""
        self._steer(estimator, now_us, aim_n, aim_e, 1e9, cruise_mps)

    def _steer(
        self,
        estimator: Estimator,
        now_us: int,
        aim_n: float,
        aim_e: float,
        remaining_m: float,
        cruise_mps: float,
    ) -> None:
        sin_yaw, cos_yaw = estimator.sin_yaw, estimator.cos_yaw
        if self.reversed:
            sin_yaw, cos_yaw = -sin_yaw, -cos_yaw
        forward = aim_n * cos_yaw + aim_e * sin_yaw
        right = aim_e * cos_yaw - aim_n * sin_yaw
        error = atan2(right, forward)
        self.aim_error_rad = error
        if self._pivot(error, now_us):
            return
        reach_sq = aim_n * aim_n + aim_e * aim_e
        curvature = 2.0 * right / reach_sq
        if error > HALF_PI or error < -HALF_PI:
            # Behind: the tightest circle through the aim point's distance.
            tightest = 2.0 / sqrt(reach_sq)
            curvature = tightest if right > 0.0 else -tightest
        if not self.skid:
            curvature = clamp(curvature, self._tightest)
        speed = self._speed(cruise_mps, remaining_m, abs(curvature), forward, reach_sq)
        # Still faster than wanted, the curve is driven at the speed that it has.
        pace = abs(estimator.position.speed_mps)
        self.turn_rate_radps = (pace if pace > speed else speed) * curvature
        self.speed_mps = -speed if self.reversed else speed

    def _pivot(self, error: float, now_us: int) -> bool:
        """Turn on the spot while the aim is too far off the bow; true while doing so."""
        angle = self._pivot_rad
        if not self.skid or angle <= 0.0:
            return False
        size = abs(error)
        if not self.pivoting and size <= angle:
            return now_us < self.pivot_until_us and self._wait()
        if size < _PIVOT_DONE_RAD:
            self.pivoting = False
            self.pivot_until_us = now_us + int(self._params["WP_PIVOT_DELAY"] * 1e6)
            return False
        self.pivoting = True
        self.speed_mps = 0.0
        self.turn_rate_radps = clamp(self._pivot_gain * error, self._pivot_rate_radps)
        return True

    def _wait(self) -> bool:
        self.speed_mps = self.turn_rate_radps = 0.0
        return True

    def _speed(
        self, cruise: float, remaining: float, curvature: float, forward: float, reach_sq: float
    ) -> float:
        """The speed law: by distance, by turn acceleration and by heading error."""
        speed = cruise
        if curvature > 1e-3:
            lateral = self._lateral_mps2 / curvature
            if speed * speed > lateral:
                speed = sqrt(lateral)
            by_rate = self._rate_limit_radps / curvature
            if speed > by_rate:
                speed = by_rate
        if remaining < 1e6:
            left = remaining if remaining > 0.0 else 0.0
            by_distance = sqrt(self.corner_mps * self.corner_mps + 2.0 * self._decel_mps2 * left)
            if speed > by_distance:
                speed = by_distance
        cosine = forward / sqrt(reach_sq)
        speed *= cosine if cosine > 0.4 else 0.4
        slowest = _CRAWL * cruise
        return speed if speed > slowest else slowest
