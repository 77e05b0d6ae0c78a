"""A step done before the commands for it have come.

An external autopilot mostly wants what it wanted in the step before: its servo outputs change at
the rate of its main loop, which is slower than the steps. So while it computes, the next step is
done with the commands of the last one and the replies are written. If it then wants just that,
its reply is already there; if not, the simulator takes the step back, and nothing has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pico_gz.bridge.registered_adapter import RegisteredAdapter
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth

# Wrong guesses cost time: with more than one in three of them there are none for a while.
_MOST_CREDIT = 8
_WRONG_COSTS = 2
_PAUSE_STEPS = 100


# Of an ``AutopilotGroup`` that can write its replies ahead: takes commands, records, truth and
# their time. It replies at once when all autopilots want these commands; ``hand_over`` with the
# same time follows then, and with any other time voids it. False: that is not possible now.
Prepare = Callable[
    [
        Mapping[int, ActuatorCommands],
        Mapping[int, SensorData],
        Mapping[int, VehicleTruth],
        int,
    ],
    bool,
]


class StepAhead:
    """Guesses the next step of one simulator, and keeps it or takes it back."""

    def __init__(self) -> None:
        self._slot: RegisteredAdapter | None = None  # of the guess that is open
        self._commands: Mapping[int, ActuatorCommands] = {}
        self._before: Mapping[int, SensorData] = {}
        self._dt_us = 0
        self._credit = _MOST_CREDIT

    def guess(
        self,
        slot: RegisteredAdapter,
        prepare: Prepare,
        commands: Mapping[int, ActuatorCommands],
        now_us: int,
        dt_us: int,
    ) -> None:
        """Do a step with these commands and have the replies written, if both can be."""
        if self._credit < 0:
            self._credit += 1
            return
        adapter = slot.adapter
        adapter.send_actuators(commands)
        records = adapter.step_ahead(dt_us)
        if records is None:
            return
        if not prepare(commands, records, adapter.receive_truth(), now_us + dt_us):
            adapter.undo_step(dt_us)
            return
        self._slot, self._commands, self._dt_us = slot, commands, dt_us
        self._before, slot.records = slot.records, records

    def settle(self, commands: Mapping[int, ActuatorCommands]) -> bool:
        """Whether the step with these commands has been done; a wrong guess is taken back."""
        if self._slot is None:
            return False
        if _are_same(self._commands, commands):
            self._slot = None
            self._credit = min(self._credit + 1, _MOST_CREDIT)
            return True
        self._credit -= _WRONG_COSTS
        if self._credit < 0:
            self._credit = -_PAUSE_STEPS
        self.take_back()
        return False

    def take_back(self) -> None:
        """Undo the guess that is open, if there is one."""
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.adapter.undo_step(self._dt_us)
            slot.records = self._before


def _are_same(a: Mapping[int, ActuatorCommands], b: Mapping[int, ActuatorCommands]) -> bool:
    """Whether all vehicles do the same by both, whenever that was decided."""
    if len(a) != len(b):
        return False
    for vehicle_id, first in a.items():
        second = b.get(vehicle_id)
        if second is None or first.motors != second.motors or first.servos != second.servos:
            return False
    return True
