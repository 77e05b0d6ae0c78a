"""The mode table by ArduRover's numbers, and how modes change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pico_gz.core.ground_control import Mode, Result
from pico_gz.vehicle.autopilot.context import RoverMode
from pico_gz.vehicle.autopilot.modes_auto import AutoMode
from pico_gz.vehicle.autopilot.modes_commanded import (
    AcroMode,
    GuidedMode,
    HoldMode,
    InitialisingMode,
    ManualMode,
    SteeringMode,
)
from pico_gz.vehicle.autopilot.modes_places import CircleMode, LoiterMode, RtlMode, SmartRtlMode

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.context import RoverContext


MODES: dict[Mode, type[RoverMode]] = {
    kind.number: kind
    for kind in (
        ManualMode,
        AcroMode,
        SteeringMode,
        HoldMode,
        LoiterMode,
        CircleMode,
        AutoMode,
        RtlMode,
        SmartRtlMode,
        GuidedMode,
        InitialisingMode,
    )
}


_SELECTABLE = frozenset(int(number) for number in MODES if number is not Mode.INITIALISING)


class ModeSwitch:
    """All modes of one rover, one of them in charge.

    Attributes:
        current: the mode in charge.
        paused: an autonomous mode stands still until it may go on.
    """

    __slots__ = ("_modes", "_rover", "current", "paused")

    def __init__(self, rover: RoverContext) -> None:
        self._rover = rover
        self._modes: dict[Mode, RoverMode] = {number: kind() for number, kind in MODES.items()}
        self.current = self._modes[Mode.INITIALISING]
        self.paused = False

    @property
    def auto(self) -> AutoMode:
        """The mode that drives missions."""
        mode = self._modes[Mode.AUTO]
        assert isinstance(mode, AutoMode)
        return mode

    @property
    def guided(self) -> GuidedMode:
        """The mode that takes targets."""
        mode = self._modes[Mode.GUIDED]
        assert isinstance(mode, GuidedMode)
        return mode

    def change(self, number: int, reason: str) -> Result:
        """Put a mode in charge, or say why it cannot be."""
        rover = self._rover
        if number not in _SELECTABLE:
            rover.say(4, f"No such mode {number}")
            return Result.DENIED
        mode = self._modes[Mode(number)]
        if mode is self.current:
            return Result.ACCEPTED
        why_not = self._obstacle(mode)
        if why_not:
            rover.say(4, f"Mode change to {mode.number.name} failed: {why_not}")
            return Result.FAILED
        before = self.current
        before.leave(rover)
        self.current = mode
        self.paused = False
        rover.speed_mps = 0.0
        rover.turn.reset()
        rover.speed.reset(rover.estimator.position.speed_mps)
        rover.say(6, f"Mode {mode.number.name} ({reason})")
        return Result.ACCEPTED

    def _obstacle(self, mode: RoverMode) -> str:
        rover = self._rover
        if self.current.number is Mode.INITIALISING and not rover.estimator.tilt.samples:
            return "initialising"
        if mode.needs_position and not rover.position_valid():
            return "requires position"
        return mode.enter(rover)

    def run(self) -> None:
        """Let the mode in charge drive for one main loop."""
        rover = self._rover
        mode = self.current
        if mode.needs_position and not rover.position_valid():
            rover.release()
        elif self.paused and mode.autonomous:
            rover.stop()
        else:
            mode.run(rover)

    def save_state(self) -> dict[str, Any]:
        """All modes as plain values."""
        return {
            "current": int(self.current.number),
            "paused": self.paused,
            "modes": {number.name: mode.save_state() for number, mode in self._modes.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self.current = self._modes[Mode(state["current"])]
        self.paused = bool(state["paused"])
        for number, mode in self._modes.items():
            mode.load_state(state["modes"][number.name])
