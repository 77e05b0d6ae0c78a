"""How far a vehicle has driven, from its GPS speed and its wheel encoders."""

from __future__ import annotations

from typing import ClassVar

from pico_gz.messages import GpsFixType
from pico_gz.state import Stateful
from pico_gz.vehicle.platform import SitlPlatform

# What full throttle is taken for when there is no GPS to tell.
ASSUMED_TOP_SPEED_MPS = 1.0


class Odometer(Stateful):
    """Path length of the present leg [m].

    The first leg is measured by GPS speed, which also tells what a wheel turn is worth; later
    legs are measured by the encoders, so that equal legs come out equally long. Without
    encoders it is GPS speed throughout, and without GPS the commanded throttle.

    Attributes:
        distance_m: driven on this leg.
        speed_mps: newest speed over ground, ``None`` without a fix so far.
    """

    _state_fields: ClassVar[tuple[str, ...]] = (
        "distance_m",
        "speed_mps",
        "_turns",
        "_leg_turns",
        "_metres_per_turn",
    )

    def __init__(self) -> None:
        self.distance_m = 0.0
        self.speed_mps: float | None = None
        self._turns: float | None = None
        self._leg_turns: float | None = None
        self._metres_per_turn: float | None = None

    def begin_leg(self) -> None:
        """Count from here; what the finished leg taught about the wheels is kept."""
        driven_turns = self._driven_turns()
        if self._metres_per_turn is None and self.speed_mps is not None and driven_turns > 1.0:
            self._metres_per_turn = self.distance_m / driven_turns
        self.distance_m = 0.0
        self._leg_turns = self._turns

    def update(self, platform: SitlPlatform, throttle: float, dt_s: float) -> None:
        """Go on by the new samples, or by the time that has passed."""
        self._read(platform)
        if self._metres_per_turn is not None:
            self.distance_m = self._driven_turns() * self._metres_per_turn
        elif throttle != 0.0:
            assumed_mps = abs(throttle) * ASSUMED_TOP_SPEED_MPS
            self.distance_m += (assumed_mps if self.speed_mps is None else self.speed_mps) * dt_s

    def _read(self, platform: SitlPlatform) -> None:
        gps = platform.read_gps()
        if gps is not None and gps.fix_type is not GpsFixType.NO_FIX:
            self.speed_mps = gps.speed_ms
        encoders = platform.read_encoders()
        if encoders is not None and encoders.ticks_per_turn > 0:
            self._turns = sum(encoders.ticks) / (2 * encoders.ticks_per_turn)
            if self._leg_turns is None:
                self._leg_turns = self._turns

    def _driven_turns(self) -> float:
        if self._turns is None or self._leg_turns is None:
            return 0.0
        return abs(self._turns - self._leg_turns)
