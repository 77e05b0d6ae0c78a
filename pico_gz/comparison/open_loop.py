"""Driving by the clock alone: no sensor is looked at, so two simulators get the same commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.messages import DriveKind
from pico_gz.units import US_PER_S
from pico_gz.vehicle.autopilot import AutopilotStatus
from pico_gz.vehicle.helm import Helm
from pico_gz.vehicle.platform import SitlPlatform


class Phase(msgspec.Struct, frozen=True):
    """Some seconds of one command, -1..1: (left, right) or (throttle, steering)."""

    name: str
    seconds: float
    first: float
    second: float


# Rest between the phases, so that each begins from standing still.
_REST_S = 1.0

SKID_PHASES = (
    Phase("stand", 1.0, 0.0, 0.0),
    Phase("straight", 4.0, 0.5, 0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("right arc", 4.0, 0.6, 0.4),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("pivot left", 2.0, -0.3, 0.3),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("reverse", 3.0, -0.5, -0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
)
ACKERMANN_PHASES = (
    Phase("stand", 1.0, 0.0, 0.0),
    Phase("straight", 4.0, 0.5, 0.0),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("right arc", 4.0, 0.4, 0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("left arc", 4.0, 0.4, -0.5),
    Phase("rest", _REST_S, 0.0, 0.0),
    Phase("reverse", 3.0, -0.4, 0.0),
    Phase("rest", _REST_S, 0.0, 0.0),
)
PHASES = {DriveKind.SKID: SKID_PHASES, DriveKind.ACKERMANN: ACKERMANN_PHASES}


def total_s(phases: Sequence[Phase]) -> float:
    """How long it all takes [s]."""
    return sum(phase.seconds for phase in phases)


class OpenLoopDriver:
    """An ``Autopilot`` that goes through its phases and is done."""

    period_us = 10_000

    def __init__(self, phases: Sequence[Phase]) -> None:
        self._phases = tuple(phases)
        self._helm: Helm | None = None
        self._now_us = 0

    def start(self, platform: SitlPlatform) -> None:
        """Claim the outputs."""
        self._helm = Helm(platform, owner="open loop")

    def tick(self, now_us: int) -> None:
        """Command what the time says."""
        self._now_us = now_us
        phase = self._phase()
        if self._helm is not None:
            self._helm.command(*(0.0, 0.0) if phase is None else (phase.first, phase.second))

    def status(self) -> AutopilotStatus:
        """The phase that it is in."""
        phase = self._phase()
        return AutopilotStatus(
            mode=phase.name if phase else "done", armed=phase is not None, done=phase is None
        )

    def save_state(self) -> dict[str, Any]:
        """The time is all there is."""
        return {"now_us": self._now_us}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a time."""
        self._now_us = int(state["now_us"])

    def _phase(self) -> Phase | None:
        end_us = 0.0
        for phase in self._phases:
            end_us += phase.seconds * US_PER_S
            if self._now_us < end_us:
                return phase
        return None
