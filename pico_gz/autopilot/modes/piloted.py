"""Modes in which a person holds the sticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pico_gz.autopilot.angles import RAD_PER_DEG
from pico_gz.autopilot.api import Mode
from pico_gz.autopilot.controllers import clamp
from pico_gz.autopilot.modes.base import RoverMode
from pico_gz.units import GRAVITY_MPS2

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext

_MIN_TURN_SPEED_MPS = 0.3


class InitialisingMode(RoverMode):
    """The time before the estimator knows which way is down."""

    __slots__ = ()
    number = Mode.INITIALISING
    arms = False

    def run(self, rover: RoverContext) -> None:
        """Stand."""
        rover.outputs.neutral()


class ManualMode(RoverMode):
    """Sticks straight to the motors."""

    __slots__ = ()
    number = Mode.MANUAL

    def run(self, rover: RoverContext) -> None:
        """Pass the sticks on."""
        rover.outputs.drive(rover.rc.throttle(), rover.rc.steering(), rover.dt_s)


class HoldMode(RoverMode):
    """Motors at zero, whatever the estimate says: failsafes end here when it is wrong."""

    __slots__ = ()
    number = Mode.HOLD

    def run(self, rover: RoverContext) -> None:
        """Let the motors come to zero and stay there."""
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
    """The speed at full stick, as far as cruise speed and throttle tell."""
    throttle = rover.values["CRUISE_THROTTLE"]
    cruise = rover.values["CRUISE_SPEED"]
    return cruise * 100.0 / throttle if throttle > 0.0 else cruise
