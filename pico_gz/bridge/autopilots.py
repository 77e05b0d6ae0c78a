"""Autopilots as the bridge sees them: in this process or across a wire.

A group drives some vehicles of the fleet. The bridge hands every group the new records, then
collects from all of them: nobody waits for another group's vehicles before getting its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from pico_gz.bridge.fleet import Fleet, VehicleInstance
from pico_gz.bridge.published import BridgeEvent, RunControl
from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP, StallPolicy, Waiting
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.errors import LockstepTimeoutError


class AutopilotGroup(Protocol):
    """Drives several vehicles. Called on the simulation thread only."""

    # Whether it wants truth handed over; in-process autopilots must never see it.
    needs_truth: bool

    def vehicle_ids(self) -> tuple[int, ...]:
        """The vehicles it drives, in id order."""

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        """Give its vehicles this step's state. Never blocks."""

    def unanswered(self) -> tuple[int, ...]:
        """Connected vehicles that were handed a record and have not answered it yet."""

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """Commands that arrived since ``hand_over`` and were not collected yet.

        Returns as soon as every vehicle in ``waiting_for`` (default: all that are connected)
        has answered, and after ``timeout_s`` at the latest; may be called again for the rest.
        A vehicle that never connected counts as answered: it stands in neutral.
        """

    def service(self) -> None:
        """Keep peers alive while the run is paused. Never blocks."""

    def close(self) -> None:
        """Let go of sockets and threads; harmless when called twice."""


class BuiltInAutopilots:
    """Runs every platform's autopilot when it is due. In-process autopilots are waited for."""

    needs_truth = False

    def __init__(self, report: Callable[[BridgeEvent], None]) -> None:
        self._report = report
        self._vehicles: list[VehicleInstance] = []
        self._commands: dict[int, ActuatorCommands] = {}
        self.running_id = 0  # whom the watchdog names when a tick does not return

    def set_vehicles(self, vehicles: Iterable[VehicleInstance]) -> None:
        """Drive these, in id order."""
        self._vehicles = [vehicle for vehicle in vehicles if vehicle.platform is not None]

    def vehicle_ids(self) -> tuple[int, ...]:
        """The vehicles it drives, in id order."""
        return tuple(vehicle.config.id for vehicle in self._vehicles)

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        """Inject the sensors and run whoever is due. ``truth`` is not looked at."""
        commands = self._commands = {}
        for vehicle in self._vehicles:
            vehicle_id = vehicle.config.id
            record = records.get(vehicle_id)
            if record is None:
                continue
            self.running_id = vehicle_id
            try:
                commands[vehicle_id] = self._run(vehicle, record, now_us)
            except Exception as exc:  # one vehicle's fault must stay with that vehicle
                commands[vehicle_id] = self._after_failure(vehicle, exc, now_us)
        self.running_id = 0

    def unanswered(self) -> tuple[int, ...]:
        """Nobody: they run while the sensors are handed over."""
        return ()

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """The commands of this step; they are always there."""
        return self._commands

    def service(self) -> None:
        """Nothing to keep alive."""

    def close(self) -> None:
        """Nothing to let go of."""

    @staticmethod
    def _run(vehicle: VehicleInstance, record: SensorData, now_us: int) -> ActuatorCommands:
        platform = vehicle.platform
        assert platform is not None
        platform.inject_sensors(record)
        autopilot = vehicle.autopilot
        if vehicle.failed:
            return vehicle.neutral(now_us)
        if autopilot is not None and now_us >= vehicle.next_tick_us:
            vehicle.next_tick_us = _next_tick_us(vehicle.next_tick_us, autopilot.period_us, now_us)
            autopilot.tick(now_us)
            vehicle.failures = 0
        return platform.collect_actuator_commands()

    def _after_failure(
        self, vehicle: VehicleInstance, exc: Exception, now_us: int
    ) -> ActuatorCommands:
        vehicle.failures += 1
        vehicle.failed = vehicle.failures >= FAILURES_BEFORE_GIVING_UP
        what = "gave up on" if vehicle.failed else "raised in"
        self._report(
            BridgeEvent(
                time_us=now_us,
                kind="failed" if vehicle.failed else "error",
                text=f"{type(exc).__name__} {what} the autopilot of {vehicle.config.label}: {exc}",
                vehicle_id=vehicle.config.id,
                severity=3,
            )
        )
        return vehicle.neutral(now_us)


def _next_tick_us(due_us: int, period_us: int, now_us: int) -> int:
    """The next multiple of the period that lies after now; a late tick is not run twice."""
    next_us = due_us + period_us
    if next_us <= now_us:
        next_us = now_us - (now_us - due_us) % period_us + period_us
    return next_us


_NO_TRUTH: Mapping[int, VehicleTruth] = {}


class PilotPhase:
    """Hands over to all groups, then collects from all, waiting as the stall rules say."""

    def __init__(self, fleet: Fleet, control: RunControl) -> None:
        self._fleet = fleet
        self._control = control
        self.groups: list[AutopilotGroup] = []
        self._handed: list[AutopilotGroup] = []  # have their records already
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
        self, group: AutopilotGroup, now_us: int, *, wait: bool
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

    def _waited_for(self, group: AutopilotGroup) -> list[int]:
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
