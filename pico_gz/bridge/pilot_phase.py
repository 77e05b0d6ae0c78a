"""First half of a step: every vehicle gets its sensors, every vehicle's command is collected."""

from __future__ import annotations

from collections.abc import Mapping

from pico_gz.bridge.control import RunControl
from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.fleet import Fleet, VehicleInstance
from pico_gz.bridge.pilots import PilotGroup
from pico_gz.bridge.stall import StallPolicy, Waiting
from pico_gz.errors import LockstepTimeoutError
from pico_gz.messages import ActuatorCommands, SensorData, VehicleTruth

_NO_TRUTH: Mapping[int, VehicleTruth] = {}


class PilotPhase:
    """Hands over to all groups, then collects from all, waiting as the stall rules say."""

    def __init__(self, fleet: Fleet, control: RunControl) -> None:
        self._fleet = fleet
        self._control = control
        self.groups: list[PilotGroup] = []
        self._handed: list[PilotGroup] = []  # have their records already
        self._handed_us = -1

    @property
    def needs_truth(self) -> bool:
        """Whether any group wants truth."""
        return any(group.needs_truth for group in self.groups)

    def hand_over_early(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        """Let external autopilots compute while this process still tells of the step."""
        self._handed = [group for group in self.groups if group.needs_truth]
        self._handed_us = now_us
        for group in self._handed:
            group.hand_over(records, truth, now_us)

    def run(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
        *,
        wait: bool = True,
    ) -> dict[int, ActuatorCommands]:
        """One command per vehicle, in id order."""
        early = self._handed if self._handed_us == now_us else ()
        for group in self.groups:
            if group not in early:
                group.hand_over(records, truth if group.needs_truth else _NO_TRUTH, now_us)
        self._handed = []
        answers: dict[int, ActuatorCommands] = {}
        for group in self.groups:
            answers.update(self._collect(group, now_us, wait=wait))
        commands = {}
        for vehicle in self._fleet:
            vehicle_id = vehicle.config.id
            command = answers.get(vehicle_id)
            if command is None or vehicle.stalled:
                command = self._settle(vehicle, command, now_us)
            else:
                vehicle.last_command = command
            commands[vehicle_id] = command
        return commands

    def _collect(
        self, group: PilotGroup, now_us: int, *, wait: bool
    ) -> Mapping[int, ActuatorCommands]:
        missing = self._waited_for(group) if wait else []
        if not missing:
            return group.collect(0.0, ())
        control = self._control
        waiting = Waiting(control.rules, control.now_s())
        answers: dict[int, ActuatorCommands] = {}
        while missing and not control.stop_requested():
            answers.update(group.collect(waiting.slice_s(control.now_s()), missing))
            missing = self._waited_for(group)
            if missing and waiting.should_tell(control.now_s()):
                self._tell_stall(missing, waiting, now_us)
            if missing and waiting.is_over(control.now_s()):
                self._give_up(missing, waiting, now_us)
                break
        return answers

    def _waited_for(self, group: PilotGroup) -> list[int]:
        unanswered = group.unanswered()
        if not unanswered:
            return []
        fleet = self._fleet
        return [i for i in unanswered if i in fleet and not fleet.get(i).stalled]

    def _settle(
        self, vehicle: VehicleInstance, command: ActuatorCommands | None, now_us: int
    ) -> ActuatorCommands:
        """What a vehicle does that is back, or has not answered."""
        if command is not None:
            vehicle.stalled = False
            self._tell("rejoin", f"{vehicle.config.label} answers again.", vehicle.id, now_us)
            vehicle.last_command = command
            return command
        hold = not vehicle.stalled or self._control.rules.policy is StallPolicy.HOLD
        if hold and vehicle.last_command is not None:
            return vehicle.last_command
        return vehicle.neutral(now_us)

    def _give_up(self, missing: list[int], waiting: Waiting, now_us: int) -> None:
        policy = self._control.rules.policy
        names = self._names(missing)
        lasted_ms = waiting.lasted_ms(self._control.now_s())
        if policy is StallPolicy.ABORT:
            raise LockstepTimeoutError(
                f"No answer from {names} for {lasted_ms:.0f} ms.",
                vehicle_ids=missing,
                hint="stall_policy = 'neutral' would go on without it.",
            )
        text = f"{names} gave no answer for {lasted_ms:.0f} ms: {_CONSEQUENCE[policy]}."
        self._tell("stall", text, missing[0], now_us)
        for vehicle_id in missing:
            self._fleet.get(vehicle_id).stalled = True
        if policy is StallPolicy.DROP:
            self._control.drop_vehicles(missing)
        elif policy is StallPolicy.FREE_RUN:
            self._control.go_free_running()

    def _tell_stall(self, missing: list[int], waiting: Waiting, now_us: int) -> None:
        lasted_ms = waiting.lasted_ms(self._control.now_s())
        text = f"Waiting for {self._names(missing)} since {lasted_ms:.0f} ms."
        self._tell("waiting", text, missing[0], now_us)

    def _names(self, vehicle_ids: list[int]) -> str:
        return ", ".join(f"{self._fleet.get(i).config.label} (id {i})" for i in vehicle_ids)

    def _tell(self, kind: str, text: str, vehicle_id: int, now_us: int) -> None:
        self._control.report(
            BridgeEvent(time_us=now_us, kind=kind, text=text, vehicle_id=vehicle_id)
        )


_CONSEQUENCE = {
    StallPolicy.HOLD: "its last command holds",
    StallPolicy.NEUTRAL: "it stands in neutral",
    StallPolicy.DROP: "it is removed",
    StallPolicy.FREE_RUN: "the run goes on free-running",
}
