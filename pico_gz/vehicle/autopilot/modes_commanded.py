"""The mode contract, and modes with a pilot or computer in charge."""

from __future__ import annotations

from enum import IntEnum
from math import sqrt
from typing import TYPE_CHECKING, ClassVar, Final

from pico_gz.core.frames import wrap_pi
from pico_gz.core.ground_control import Mode
from pico_gz.core.portable_math import RAD_PER_DEG, atan2
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.vehicle.autopilot.control import clamp
from pico_gz.vehicle.autopilot.navigation import Point

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.context import RoverContext


_MIN_TURN_SPEED_MPS: Final = 0.3


class RoverMode(Snapshot):
    """A way of driving; ``run`` is called every main loop while armed.

    Attributes:
        number: ArduRover's.
        autonomous: it drives without a pilot.
        needs_position: it cannot work without knowing where it is.
        arms: the rover may be armed in it.
    """

    __slots__ = ()

    number: ClassVar[Mode]
    autonomous: ClassVar[bool] = False
    needs_position: ClassVar[bool] = False
    arms: ClassVar[bool] = True

    def enter(self, rover: RoverContext) -> str | None:
        """Begin, or return why that is impossible."""
        return None

    def run(self, rover: RoverContext) -> None:
        """Drive for one main loop."""
        raise NotImplementedError

    def leave(self, rover: RoverContext) -> None:
        """Another mode takes over."""


class InitialisingMode(RoverMode):
    """The time before the estimator knows which way is down."""

    __slots__ = ()
    number = Mode.INITIALISING
    arms = False

    def run(self, rover: RoverContext) -> None:
        rover.outputs.neutral()


class ManualMode(RoverMode):
    """Sticks straight to the motors."""

    __slots__ = ()
    number = Mode.MANUAL

    def run(self, rover: RoverContext) -> None:
        rover.outputs.drive(rover.rc.throttle(), rover.rc.steering(), rover.dt_s)


class HoldMode(RoverMode):
    """Motors at zero, whatever the estimate says: failsafes end here when it is wrong."""

    __slots__ = ()
    number = Mode.HOLD

    def run(self, rover: RoverContext) -> None:
        rover.release()


class AcroMode(RoverMode):
    """The sticks ask for a speed and a turn rate."""

    __slots__ = ()
    number = Mode.ACRO

    def run(self, rover: RoverContext) -> None:
        """Hold what the sticks ask for."""
        rate = rover.rc.steering() * rover.values["ACRO_TURN_RATE"] * RAD_PER_DEG
        speed = rover.rc.throttle() * _full_speed_mps(rover)
        if speed == 0.0 and rate == 0.0:
            rover.stop()
        else:
            rover.drive(speed, rate)


class SteeringMode(RoverMode):
    """The sticks ask for a speed and a sideways acceleration, at most ATC_TURN_MAX_G."""

    __slots__ = ()
    number = Mode.STEERING

    def run(self, rover: RoverContext) -> None:
        """Hold what the sticks ask for."""
        values = rover.values
        speed = rover.rc.throttle() * _full_speed_mps(rover)
        pace = max(_MIN_TURN_SPEED_MPS, abs(rover.estimator.position.speed_mps))
        lateral = rover.rc.steering() * values["ATC_TURN_MAX_G"] * GRAVITY_MPS2
        rate = lateral / pace
        if rover.navigator.skid:
            rate = clamp(rate, values["ACRO_TURN_RATE"] * RAD_PER_DEG)
        else:
            rate = clamp(rate, pace / max(0.05, values["TURN_RADIUS"]))
        if speed == 0.0 and rate == 0.0:
            rover.stop()
        else:
            rover.drive(speed, rate if speed >= 0.0 else -rate)


def _full_speed_mps(rover: RoverContext) -> float:
    """The speed at full stick, from cruise speed and throttle."""
    throttle = rover.values["CRUISE_THROTTLE"]
    cruise = rover.values["CRUISE_SPEED"]
    return cruise * 100.0 / throttle if throttle > 0.0 else cruise


# Targets that are speeds end when they are not repeated.
_TARGET_TIMEOUT_US: Final = 3_000_000


class GuidedTarget(IntEnum):
    """What the last target was."""

    STOP = 0
    POINT = 1
    HEADING = 2
    TURN_RATE = 3


class GuidedMode(RoverMode):
    """Drives to a point, or at a speed with a heading or a turn rate."""

    _state_fields = (
        "heading_rad",
        "kind",
        "point_speed_mps",
        "speed_mps",
        "target_us",
        "throttle",
        "turn_rate_radps",
        "use_throttle",
    )
    __slots__ = _state_fields
    number = Mode.GUIDED
    autonomous = True
    needs_position = True

    def __init__(self) -> None:
        self.kind = GuidedTarget.STOP
        self.target_us = 0
        self.speed_mps = 0.0
        self.point_speed_mps = 0.0
        self.throttle = 0.0
        self.use_throttle = False
        self.heading_rad = 0.0
        self.turn_rate_radps = 0.0

    def enter(self, rover: RoverContext) -> str | None:
        """Stop until there is a target."""
        self.kind = GuidedTarget.STOP
        self.point_speed_mps = 0.0
        rover.navigator.reversed = False
        rover.navigator.reached = True
        return None

    # --- targets --------------------------------------------------------------------------

    def go_to(self, rover: RoverContext, point: Point, speed_mps: float | None = None) -> None:
        """Drive to a point of the local frame and stop there."""
        self.kind = GuidedTarget.POINT
        if speed_mps is not None and speed_mps > 0.0:
            self.point_speed_mps = speed_mps
        rover.navigator.set_leg(rover.here(), point)

    def go_velocity(self, rover: RoverContext, north_mps: float, east_mps: float) -> None:
        """Drive with a velocity over ground."""
        speed = sqrt(north_mps * north_mps + east_mps * east_mps)
        heading = atan2(east_mps, north_mps) if speed > 0.0 else rover.estimator.heading.yaw_rad
        self.go_heading(rover, heading, speed)

    def go_heading(self, rover: RoverContext, heading_rad: float, speed_mps: float) -> None:
        """Drive along a heading."""
        self._moving(rover, GuidedTarget.HEADING, speed_mps)
        self.heading_rad = heading_rad

    def go_turning(self, rover: RoverContext, rate_radps: float, speed_mps: float) -> None:
        """Drive with a turn rate."""
        self._moving(rover, GuidedTarget.TURN_RATE, speed_mps)
        self.turn_rate_radps = rate_radps

    def set_throttle(self, throttle: float) -> None:
        """Use a throttle, -1..1, instead of a speed."""
        self.throttle = throttle
        self.use_throttle = True

    def _moving(self, rover: RoverContext, kind: GuidedTarget, speed_mps: float) -> None:
        self.kind = kind
        self.speed_mps = speed_mps
        self.use_throttle = False
        self.target_us = rover.now_us

    # --- driving --------------------------------------------------------------------------

    def run(self, rover: RoverContext) -> None:
        """Drive towards the target, for one main loop."""
        if self.kind is GuidedTarget.POINT:
            self._run_point(rover)
            return
        if self.kind is GuidedTarget.STOP or self._timed_out(rover):
            rover.stop()
            return
        rate = self.turn_rate_radps
        if self.kind is GuidedTarget.HEADING:
            error = wrap_pi(self.heading_rad - rover.estimator.heading.yaw_rad)
            rate = rover.values["ATC_STR_ANG_P"] * error
        if self.use_throttle:
            rover.drive_throttle(self.throttle, rate)
        else:
            rover.drive(self.speed_mps, rate)

    def _run_point(self, rover: RoverContext) -> None:
        if rover.navigator.reached:
            rover.stop()
            return
        if rover.follow(self.point_speed_mps or rover.waypoint_speed_mps()):
            rover.say(6, "Target reached")

    def _timed_out(self, rover: RoverContext) -> bool:
        if rover.now_us - self.target_us <= _TARGET_TIMEOUT_US:
            return False
        self.kind = GuidedTarget.STOP
        rover.say(4, "Target not received last 3secs, stopping")
        return True
