"""One step of the whole fleet: autopilots, commands, simulators, publication."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec

from pico_gz.bridge.fleet import AutopilotGroup, VehicleInstance, VehicleList
from pico_gz.bridge.observers import HookList
from pico_gz.bridge.published import BridgeEvent, BridgeState, EventLog, FleetView
from pico_gz.bridge.registered_adapter import RegisteredAdapter
from pico_gz.bridge.run_stats import RunStats
from pico_gz.bridge.stall import (
    FAILURES_BEFORE_GIVING_UP,
    StallPolicy,
    StallRules,
    end_without_memory,
    wait_for,
)
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.step_records import StepRecords
from pico_gz.errors import LockstepError, LockstepTimeoutError, SimulatorTimeoutError

_TIME_OF = attrgetter("timestamp_us")
PACING = "pacing"  # nothing to do until the next step is due
_FIRST_WAIT_S: Final = 0.05  # for the only adapter, before it counts as late
_STALLED_SLICE_S: Final = 0.1

# What happens to a vehicle that does not answer, in the words of the event.
_CONSEQUENCES = {
    StallPolicy.HOLD: "its last command holds",
    StallPolicy.NEUTRAL: "it stands in neutral",
    StallPolicy.DROP: "it is removed",
    StallPolicy.FREE_RUN: "the run continues free-running",
}


T = TypeVar("T")


def _read_only(messages: Mapping[int, T]) -> Mapping[int, T]:
    """A dictionary that observers cannot change; other mappings cannot be changed anyway."""
    return MappingProxyType(messages) if isinstance(messages, dict) else messages


class FleetStepper:
    """Moves all vehicles and simulators by one step at a time, on one thread.

    ``step`` is the sequence of a run. The methods below it are entered only when something is
    late, fails, or lives across a wire.

    Attributes:
        adapters: the simulators by name; replaced, never changed, when one comes or leaves.
        wires: the groups that drive external vehicles.
        time_us: the fleet's simulation time [us].
        records: the newest sensor record of every vehicle.
        view: what was published last.
        before_step: called with the time before each step.
        after_step: called with the view after each step.
        started_s: wall time at which the step under way began; 0 between steps.
        running_id: the vehicle whose autopilot runs now; 0 for none.
        waited_for: the adapter that steps on this very thread now.
        busy_with: the adapter or wire that is called or waited for now, or ``PACING``.
        warned: adapters that the watchdog has named in this step.
    """

    def __init__(
        self,
        fleet: VehicleList,
        events: EventLog,
        *,
        rules: StallRules,
        clock: Callable[[], float],
        stop: threading.Event,
        on_stall: Callable[[StallPolicy, Sequence[int]], None],
    ) -> None:
        self._fleet = fleet
        self._events = events
        self._rules = rules
        self._clock = clock
        self._stop = stop
        self._on_stall = on_stall
        self.adapters: dict[str, RegisteredAdapter] = {}
        self.wires: list[AutopilotGroup] = []
        self.before_step: HookList[int] = HookList("before a step", self.hook_failed)
        self.after_step: HookList[FleetView] = HookList("after a step", self.hook_failed)
        self.stats = RunStats()
        self.view = FleetView()
        self.records: Mapping[int, SensorData] = {}
        self.time_us = 0
        self.started_s = 0.0
        self.running_id = 0
        self.waited_for: RegisteredAdapter | None = None
        self.busy_with: object = None
        self.warned: set[RegisteredAdapter] = set()
        self._raised: set[RegisteredAdapter] = set()  # in this step
        self._newest_us = -1  # of all records so far
        self._handed_us = -1  # the wires have the records of this time already
        self._head_start_s = 0.0  # ... and for how long

    def step(
        self,
        dt_us: int,
        state: BridgeState,
        *,
        wait: bool = True,
        move_adapters: bool = True,
        more_follow: bool = False,
    ) -> None:
        """Do one step.

        Args:
            dt_us: how far time moves.
            state: of the bridge, for the view.
            wait: whether external vehicles are waited for (lockstep).
            move_adapters: False while they move themselves, free-running.
            more_follow: the next step follows at once, so external autopilots may begin it.
        """
        clock, now_us = self._clock, self.time_us
        self.started_s = clock()
        self.before_step(now_us)

        # Autopilots: sensors in, one command per vehicle out.
        handed_s = clock()
        if self.wires and self._handed_us != now_us:
            self._hand_over(self.records, self.view.truth, now_us)
        records = self.records
        commands: dict[int, ActuatorCommands] = {}
        for vehicle in self._fleet.built_in:
            vehicle_id, platform = vehicle.id, vehicle.platform
            record = records.get(vehicle_id)
            if record is None or platform is None:
                continue
            self.running_id = vehicle_id
            try:
                platform.inject_sensors(record)
                autopilot = vehicle.due_autopilot(now_us)
                if autopilot is not None:
                    autopilot.tick(now_us)
                command = platform.collect_actuator_commands()
                if autopilot is not None:
                    vehicle.failures = 0
            except Exception as exc:  # one vehicle's fault must stay with that vehicle
                self._autopilot_failed(vehicle, exc)
                command = vehicle.neutral(now_us)
            if vehicle.failed:
                command = vehicle.neutral(now_us)
            commands[vehicle_id] = vehicle.last_command = command
        self.running_id = 0
        if len(commands) < len(self._fleet):
            commands = self._with_external(commands, now_us, wait=wait)

        # Commands out to the simulators.
        self._send(commands, free_running=not move_adapters)
        latency_s = clock() - handed_s + self._head_start_s
        self._head_start_s = 0.0

        # Simulators move. Time is never invented: when none of them moved, the clock stands.
        if not move_adapters or self._advance(dt_us):
            self.time_us += dt_us
            newest, truth = self._newest_records(), self._newest_truth()
            self.busy_with = None
            # External autopilots are answered before anything else, and compute meanwhile.
            goes_ahead = more_follow and bool(self.wires)
            if goes_ahead:
                handed_s = clock()
                self._hand_over(newest, truth, self.time_us)
            self.stats.sim_us += dt_us
            self._publish(self._counted(newest), truth, commands, state)
            self.after_step(self.view)
            if goes_ahead:
                self._head_start_s = clock() - handed_s
        self.stats.latency.add(latency_s)
        self.busy_with = None
        self.started_s = 0.0

    # --- publication --------------------------------------------------------------------------

    def _newest_records(self) -> Mapping[int, SensorData]:
        """The newest record of every vehicle, in id order; may build them when they are read."""
        slots = [slot for slot in self.adapters.values() if not slot.failed]
        if len(slots) == 1 and slots[0].is_direct:
            return slots[0].records
        records: dict[int, SensorData] = {}
        for slot in slots:
            records.update(slot.records if slot.is_direct else slot.newest_records())
        return dict(sorted(records.items())) if len(self.adapters) > 1 else records

    def _newest_truth(self) -> Mapping[int, VehicleTruth]:
        """Where all vehicles are, in id order; may build it when it is read."""
        slots = [slot for slot in self.adapters.values() if not slot.failed]
        if len(slots) == 1 and slots[0].is_direct:
            found = slots[0].adapter.receive_truth()
            return dict(found) if isinstance(found, dict) else found
        truth: dict[int, VehicleTruth] = {}
        for slot in slots:
            truth.update(slot.in_fleet_time(slot.adapter.receive_truth()))
        return dict(sorted(truth.items())) if len(self.adapters) > 1 else truth

    def _counted(self, newest: Mapping[int, SensorData]) -> Mapping[int, SensorData]:
        """The records of a step; counts it."""
        self.stats.steps += 1
        count = len(newest)
        if isinstance(newest, StepRecords):
            records: Mapping[int, SensorData] = newest
            oldest_us = newest_us = newest.time_us if count else -1
        else:
            records = dict(newest)
            times_us = list(map(_TIME_OF, records.values()))
            oldest_us, newest_us = (min(times_us), max(times_us)) if count else (-1, -1)
        # Mostly all are newer than all before, which is found without a look at each vehicle.
        fresh = oldest_us > self._newest_us or _all_newer(records, self.records)
        self._newest_us = newest_us
        if not fresh or count < len(self._fleet):
            self.stats.lost_steps += 1
        return records

    def _publish(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        commands: Mapping[int, ActuatorCommands],
        state: BridgeState,
    ) -> None:
        self.records = records
        self.view = FleetView(
            time_us=self.time_us,
            step=self.stats.steps,
            state=state,
            truth=_read_only(truth),
            sensors=_read_only(records),
            commands=MappingProxyType(commands),
        )

    def publish_state(self, state: BridgeState) -> None:
        """Publish the last step again with another state of the bridge."""
        self.view = msgspec.structs.replace(self.view, state=state)

    def continue_from(
        self, time_us: int, records: Mapping[int, SensorData], state: BridgeState
    ) -> None:
        """Publish a restored moment; it counts as no step."""
        self.time_us = time_us
        self._newest_us = max(map(_TIME_OF, records.values()), default=-1)
        self._handed_us, self._head_start_s = -1, 0.0
        last = {vehicle.id: vehicle.last_command for vehicle in self._fleet}
        commands = {i: c for i, c in last.items() if c is not None}
        self._publish(records, self._newest_truth(), commands, state)

    def forget(self, vehicle_id: int) -> None:
        """Drop the record of a vehicle that left."""
        self.records = {i: record for i, record in self.records.items() if i != vehicle_id}

    def report(
        self, kind: str, text: str, *, vehicle_id: int = 0, adapter: str = "", severity: int = 4
    ) -> None:
        """Emit an event at the present simulation time."""
        self._events.add(
            BridgeEvent(
                time_us=self.time_us,
                kind=kind,
                text=text,
                vehicle_id=vehicle_id,
                adapter=adapter,
                severity=severity,
            )
        )

    def hook_failed(self, where: str, exc: Exception) -> None:
        """Report an observer that raised."""
        self.report("error", f"An observer {where} raised {type(exc).__name__}: {exc}", severity=3)

    # --- external vehicles --------------------------------------------------------------------

    def _hand_over(
        self, records: Mapping[int, SensorData], truth: Mapping[int, VehicleTruth], now_us: int
    ) -> None:
        """Give the wires the newest state, so that external autopilots can compute."""
        self._handed_us = now_us
        for wire in self.wires:
            self.busy_with = wire
            wire.hand_over(records, truth, now_us)
        self.busy_with = None

    def _with_external(
        self, commands: dict[int, ActuatorCommands], now_us: int, *, wait: bool
    ) -> dict[int, ActuatorCommands]:
        """Add the commands of external vehicles, and of those without a record, in id order."""
        self._handed_us = -1
        for wire in self.wires:
            self.busy_with = wire
            commands.update(self._answers(wire) if wait else wire.collect(0.0, ()))
        self.busy_with = None
        complete = {}
        for vehicle in self._fleet:
            command = commands.get(vehicle.id)
            if command is None:
                hold = not vehicle.stalled or self._rules.policy is StallPolicy.HOLD
                last = vehicle.last_command
                command = last if hold and last is not None else vehicle.neutral(now_us)
            elif vehicle.platform is None:
                vehicle.last_command = command
                if vehicle.stalled:
                    vehicle.stalled = False
                    text = f"{vehicle.config.label} answers again."
                    self.report("rejoin", text, vehicle_id=vehicle.id)
            complete[vehicle.id] = command
        return complete

    def _answers(self, wire: AutopilotGroup) -> Mapping[int, ActuatorCommands]:
        """The commands of a wire's vehicles; waits for them as the stall rules say."""
        missing = self._unanswered(wire)
        if not missing:
            return wire.collect(0.0, ())
        answers: dict[int, ActuatorCommands] = {}

        def poll(timeout_s: float, late: list[int]) -> list[int]:
            answers.update(wire.collect(timeout_s, late))
            return self._unanswered(wire)

        def warn(late: list[int], lasted_ms: float) -> None:
            text = f"Waiting for {self._names(late)} since {lasted_ms:.0f} ms."
            self.report("waiting", text, vehicle_id=late[0])

        late, lasted_ms = wait_for(missing, poll, warn, self._rules, self._clock, self._stop)
        if late:
            self._give_up_vehicles(late, lasted_ms)
        return answers

    def _unanswered(self, wire: AutopilotGroup) -> list[int]:
        late, fleet = wire.unanswered(), self._fleet
        return [i for i in late if i in fleet and not fleet.get(i).stalled] if late else []

    def _give_up_vehicles(self, late: list[int], lasted_ms: float) -> None:
        names, policy = self._names(late), self._rules.policy
        if policy is StallPolicy.ABORT:
            raise LockstepTimeoutError(
                f"No answer from {names} for {lasted_ms:.0f} ms.",
                vehicle_ids=late,
                hint="stall_policy = 'neutral' would continue without it.",
            )
        text = f"{names} gave no answer for {lasted_ms:.0f} ms: {_CONSEQUENCES[policy]}."
        self.report("stall", text, vehicle_id=late[0])
        for vehicle_id in late:
            self._fleet.get(vehicle_id).stalled = True
        self._on_stall(policy, late)

    def _names(self, vehicle_ids: Sequence[int]) -> str:
        return ", ".join(f"{self._fleet.get(i).config.label} (id {i})" for i in vehicle_ids)

    def _autopilot_failed(self, vehicle: VehicleInstance, exc: Exception) -> None:
        end_without_memory(exc)
        vehicle.failures += 1
        vehicle.failed = vehicle.failures >= FAILURES_BEFORE_GIVING_UP
        what = "gave up on" if vehicle.failed else "raised in"
        text = f"{type(exc).__name__} {what} the autopilot of {vehicle.config.label}: {exc}"
        kind = "failed" if vehicle.failed else "error"
        self.report(kind, text, vehicle_id=vehicle.id, severity=3)

    # --- simulators ---------------------------------------------------------------------------

    def _send(self, commands: Mapping[int, ActuatorCommands], *, free_running: bool) -> None:
        """Give every adapter the commands of its vehicles; free-running ones fetch them."""
        only_one = len(self.adapters) == 1
        for slot in self.adapters.values():
            if slot.failed or slot.stalled:
                continue
            own = commands if only_one else slot.own(commands)
            self.busy_with = slot.adapter
            try:
                if free_running and slot.outbox is not None:
                    slot.outbox(own)
                else:
                    slot.adapter.send_actuators(own)
            except Exception as exc:  # one adapter's fault must stay with that adapter
                self._adapter_failed(slot, exc)

    def _advance(self, dt_us: int) -> bool:
        """Step all adapters; returns when all have, or when those that have not were given up.

        Returns whether any adapter moved.
        """
        if self._raised or self.warned:
            self._raised.clear()
            self.warned.clear()
        active, missed = [], False
        for slot in self.adapters.values():
            if slot.stalled and not slot.failed:
                self._look_again(slot, dt_us)
            if not slot.failed and not slot.stalled:
                slot.begin(dt_us)
                active.append(slot)
            missed = missed or slot.missed
        moved = self._finish(active, 0.0 if len(active) > 1 else _FIRST_WAIT_S)
        if len(moved) < len(self.adapters):
            moved += self._wait_for_late(active, moved, dt_us)
        if missed or self._raised or len(moved) < len(self.adapters):
            self._keep_time(moved, self.time_us + dt_us)
        if self._raised:
            self.require_any()
        return bool(moved) or not self.adapters

    def _finish(self, slots: list[RegisteredAdapter], timeout_s: float) -> list[RegisteredAdapter]:
        """Let each of these end its step; returns those that did."""
        moved = []
        for slot in slots:
            self.waited_for = None if slot.is_threaded else slot
            self.busy_with = slot.adapter
            try:
                slot.finish(timeout_s)
            except SimulatorTimeoutError:
                continue
            except Exception as exc:  # one adapter's fault must stay with that adapter
                self._adapter_failed(slot, exc)
                continue
            moved.append(slot)
        self.waited_for = None
        return moved

    def _wait_for_late(
        self, active: list[RegisteredAdapter], moved: list[RegisteredAdapter], dt_us: int
    ) -> list[RegisteredAdapter]:
        """Wait for late adapters until they have moved, or are given up; returns who moved."""
        late = [slot for slot in active if slot not in moved and slot not in self._raised]
        more: list[RegisteredAdapter] = []

        def poll(timeout_s: float, late: list[RegisteredAdapter]) -> list[RegisteredAdapter]:
            for slot in late:
                slot.begin(dt_us)  # again, where its own time-out has ended the try
            more.extend(self._finish(late, timeout_s))
            return [slot for slot in late if slot not in more and slot not in self._raised]

        def warn(late: list[RegisteredAdapter], lasted_ms: float) -> None:
            for slot in late:
                if slot not in self.warned:
                    text = f"Waiting for {slot} since {lasted_ms:.0f} ms."
                    self.report("waiting", text, adapter=slot.name)

        late, _ = wait_for(late, poll, warn, self._rules, self._clock, self._stop)
        for slot in late:
            self._give_up_adapter(slot, dt_us)
        # One that raised may well manage the next step: no need for the stalled then.
        if not moved and not more and not self._raised and not self._may_end_waiting():
            more = self._wait_for_stalled(dt_us)
        return more

    def _wait_for_stalled(self, dt_us: int) -> list[RegisteredAdapter]:
        """Hold time until one of the stalled adapters is back; no other is left to move."""
        moved: list[RegisteredAdapter] = []
        while not moved and not self._stop.is_set():
            stalled = [slot for slot in self.adapters.values() if slot.stalled and not slot.failed]
            if not stalled:
                break
            for slot in stalled:
                slot.begin(dt_us)
            moved = self._finish(stalled, _STALLED_SLICE_S)
            for slot in stalled:
                if slot in moved or slot in self._raised:
                    self._take_back(slot)
        return moved

    def _may_end_waiting(self) -> bool:
        """Whether the policy has something else to do than to wait for the last one."""
        return self._rules.policy in (StallPolicy.DROP, StallPolicy.FREE_RUN)

    def _look_again(self, slot: RegisteredAdapter, dt_us: int) -> None:
        """Take a stalled adapter back in when the step that it was at has ended."""
        if self._finish([slot], 0.0) or slot in self._raised:
            self._take_back(slot)
        else:
            slot.begin(dt_us)

    def _take_back(self, slot: RegisteredAdapter) -> None:
        slot.stalled = False
        slot.remove_leaving()
        self.report("rejoin", f"Adapter {slot.name} steps again.", adapter=slot.name)

    def _keep_time(self, moved: list[RegisteredAdapter], time_us: int) -> None:
        """Relate an adapter that missed steps of the fleet to the fleet's time when it moves."""
        for slot in moved:
            if slot.missed:
                slot.set_time(time_us)
        if 0 < len(moved) < len(self.adapters):
            for slot in self.adapters.values():
                slot.missed = slot.missed or slot not in moved

    def _give_up_adapter(self, slot: RegisteredAdapter, dt_us: int) -> None:
        ids = slot.adapter.vehicle_ids()
        text = f"Adapter {slot.name} does not finish its step."
        if self._rules.policy is StallPolicy.ABORT:
            raise LockstepTimeoutError(text, vehicle_ids=ids)
        self.report("stall", text, adapter=slot.name)
        slot.isolate(dt_us)
        self._on_stall(self._rules.policy, ids)

    def _adapter_failed(self, slot: RegisteredAdapter, exc: Exception) -> None:
        end_without_memory(exc)
        self._raised.add(slot)
        slot.count_failure()
        what = "gave up on" if slot.failed else "raised in"
        text = f"{type(exc).__name__} {what} adapter {slot.name}: {exc}"
        kind = "failed" if slot.failed else "error"
        self.report(kind, text, adapter=slot.name, severity=3)

    def require_any(self) -> None:
        """Refuse to continue when every adapter was given up."""
        if self.adapters and all(slot.failed for slot in self.adapters.values()):
            raise LockstepError("No adapter is left that works.", hint="See the events above.")


def _all_newer(records: Mapping[int, SensorData], before: Mapping[int, SensorData]) -> bool:
    """Whether every vehicle's record is newer than the one it had before, if any."""
    return all(
        i not in before or record.timestamp_us > before[i].timestamp_us
        for i, record in records.items()
    )
