"""Tells people when sensors get lost, contradict each other, and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext

_JUMP_US = 1_000_000
_COMPASS_US = 2_000_000


class SensorNews(Stateful):
    """Looks at the estimator ten times a second; says everything once.

    Attributes:
        gps_lost: no believable fix for a while.
        gps_jumped: fixes come and agree with each other, but not with dead reckoning.
        compass_since_us: since when the compass is not believed, -1 when it is.
        compass_told: people know that.
        resets: how many new headings people know of.
    """

    __slots__ = _state_fields = ("compass_since_us", "compass_told", "gps_jumped", "gps_lost",
                                 "resets")  # fmt: skip

    def __init__(self) -> None:
        self.gps_lost = False
        self.gps_jumped = False
        self.compass_since_us = -1
        self.compass_told = False
        self.resets = 0

    def check(self, rover: RoverContext) -> None:
        """Look once."""
        self._check_gps(rover)
        self._check_jump(rover)
        self._check_compass(rover)
        resets = rover.estimator.heading.resets
        if resets != self.resets:
            self.resets = resets
            rover.say(4, "Heading was wrong and is set anew")

    def _check_gps(self, rover: RoverContext) -> None:
        estimator = rover.estimator
        lost = estimator.frame is not None and not estimator.gps_healthy(rover.now_us)
        if lost and not self.gps_lost:
            rover.say(4, "GPS lost, dead reckoning")
        elif self.gps_lost and not lost:
            rover.say(6, "GPS is back")
        self.gps_lost = lost

    def _check_jump(self, rover: RoverContext) -> None:
        since_us = rover.estimator.position.rejected_since_us
        jumped = 0 <= since_us <= rover.now_us - _JUMP_US and not self.gps_lost
        if jumped and not self.gps_jumped:
            rover.say(4, "GPS contradicts dead reckoning")
        elif self.gps_jumped and since_us < 0:
            rover.say(6, "GPS is believed again")
        self.gps_jumped = jumped or (self.gps_jumped and since_us >= 0)

    def _check_compass(self, rover: RoverContext) -> None:
        now_us = rover.now_us
        if not rover.estimator.compass_contradicts(now_us):
            if self.compass_told:
                rover.say(6, "Compass is believed again")
            self.compass_since_us, self.compass_told = -1, False
            return
        if self.compass_since_us < 0:
            self.compass_since_us = now_us
        if not self.compass_told and now_us - self.compass_since_us >= _COMPASS_US:
            self.compass_told = True
            rover.say(4, "Compass contradicts the heading")
