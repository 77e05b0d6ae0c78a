"""What a pilot does with the transmitter besides driving: mode switch and arming by stick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext
    from pico_gz.autopilot.ground import GroundCommands

_HELD_US = 2_000_000
_FULL = 0.9
_ARM_ONLY, _ARM_AND_DISARM = 1, 2


class PilotSwitches(Stateful):
    """Watches the mode channel and the steering stick."""

    __slots__ = _state_fields = ("held_since_us", "side")

    def __init__(self) -> None:
        self.side = 0
        self.held_since_us = -1

    def check(self, rover: RoverContext, commands: GroundCommands) -> None:
        """Look at the sticks, some ten times a second."""
        rc = rover.rc
        if not rc.valid:
            self.side, self.held_since_us = 0, -1
            return
        slot = rc.mode_slot()
        if slot:
            commands.set_mode(int(rover.values[f"MODE{slot}"]), "mode switch")
        self._check_arming(rover, commands)

    def _check_arming(self, rover: RoverContext, commands: GroundCommands) -> None:
        """Steering held to the right at neutral throttle arms, to the left disarms."""
        allowed = int(rover.values["ARMING_RUDDER"])
        steering = rover.rc.steering() if rover.rc.throttle() == 0.0 else 0.0
        side = 1 if steering > _FULL else -1 if steering < -_FULL else 0
        if side == 0 or side != self.side:
            self.side, self.held_since_us = side, rover.now_us
            return
        if rover.now_us - self.held_since_us < _HELD_US:
            return
        self.held_since_us = rover.now_us
        if side > 0 and not rover.armed and allowed >= _ARM_ONLY:
            commands.arm()
        elif side < 0 and rover.armed and allowed >= _ARM_AND_DISARM:
            commands.disarm()
