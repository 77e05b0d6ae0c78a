"""Makes adapters step: in line, or on threads of their own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import msgspec

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.published import BridgeEvent, RunControl
from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP, StallPolicy, Waiting
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import LockstepError, LockstepTimeoutError, SimulatorTimeoutError


class AdapterRunner(Protocol):
    """Runs one adapter's steps. ``finish`` raises ``SimulatorTimeoutError`` to be asked again."""

    def begin(self, dt_us: int) -> None:
        """Start a step, unless ``finish`` has not returned from the last one yet."""

    def finish(self, timeout_s: float) -> None:
        """Wait for the step; raises what the adapter raised."""

    def close(self) -> None:
        """Stop the thread, if there is one."""


def make_stepper(adapter: SimulatorAdapter) -> AdapterRunner:
    """A thread costs some 50 us per step; adapters that promise to return do without."""
    return InlineStepper(adapter) if adapter.bounded_step else ThreadStepper(adapter)


class InlineStepper:
    """Steps on the calling thread; the adapter's own time-out bounds the wait."""

    def __init__(self, adapter: SimulatorAdapter) -> None:
        self._adapter = adapter
        self._dt_us = 0

    def begin(self, dt_us: int) -> None:
        """Remember what to do."""
        self._dt_us = dt_us

    def finish(self, timeout_s: float) -> None:
        """Do it."""
        self._adapter.step(self._dt_us)

    def close(self) -> None:
        """Nothing to stop."""


class ThreadStepper:
    """Steps on a daemon thread, so that an adapter that hangs holds nobody else."""

    def __init__(self, adapter: SimulatorAdapter) -> None:
        self._adapter = adapter
        self._work = threading.Condition()
        self._dt_us = 0
        self._busy = False
        self._begun = False  # until finish() has told how the step ended
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._loop, name=f"pico-gz-step-{adapter.name}", daemon=True
        )
        self._thread.start()

    def begin(self, dt_us: int) -> None:
        """Wake the thread, unless nobody knows yet how the last step ended.

        A step that ends between two looks would be done twice otherwise.
        """
        with self._work:
            if not self._begun:
                self._dt_us = dt_us
                self._begun = self._busy = True
                self._work.notify_all()

    def finish(self, timeout_s: float) -> None:
        """Wait for the thread."""
        with self._work:
            if not self._work.wait_for(lambda: not self._busy, timeout_s):
                raise SimulatorTimeoutError(
                    f"{self._adapter.name} has not finished its step.",
                    adapter=self._adapter.name,
                    vehicle_ids=self._adapter.vehicle_ids(),
                )
            self._begun = False
            error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """Ask the thread to end; one that hangs in foreign code dies with the process."""
        with self._work:
            self._closed = True
            self._work.notify_all()
        self._thread.join(timeout=0.2)

    def _loop(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(lambda: self._busy or self._closed)
                if self._closed:
                    return
                dt_us = self._dt_us
            error: BaseException | None = None
            try:
                self._adapter.step(dt_us)
            except BaseException as exc:  # handed to the thread that waits in finish()
                error = exc
            with self._work:
                self._error = error
                self._busy = False
                self._work.notify_all()


log = logging.getLogger(__name__)

_MOST_IDS_TOLD = 10

Message = TypeVar("Message", SensorData, VehicleTruth)


class RegisteredAdapter:
    """An adapter with what the bridge knows about its health and its time.

    Attributes:
        offset_us: fleet time minus the adapter's own; it may join late, or have run before.
        failures: how many steps it failed in a row.
        failed: given up.
        stalled: not waited for until the step that it is at is finished.
        missed: the fleet has moved without it; its time is set right with its next step.
        outbox: takes its commands while it moves by itself, free-running.
    """

    def __init__(self, name: str, adapter: SimulatorAdapter) -> None:
        self.name = name
        self.adapter = adapter
        self.offset_us: int | None = None
        self.stepper: AdapterRunner = make_stepper(adapter)
        self.failures = 0
        self.failed = False
        self.stalled = False
        self.missed = False
        self.outbox: Callable[[Mapping[int, ActuatorCommands]], None] | None = None
        self._leaving: set[int] = set()

    def __str__(self) -> str:
        ids = self.adapter.vehicle_ids()
        listed = ", ".join(map(str, ids[:_MOST_IDS_TOLD])) or "none"
        more = f" and {len(ids) - _MOST_IDS_TOLD} more" if len(ids) > _MOST_IDS_TOLD else ""
        return f"adapter {self.name} (vehicles {listed}{more})"

    def connect(self, now_us: int) -> None:
        """Reach the simulator, if that was not done yet, and relate its time to the fleet's."""
        self.adapter.connect()
        if self.offset_us is None:
            self.set_time(now_us)

    def set_time(self, now_us: int) -> None:
        """Say that it stands at this fleet time."""
        self.offset_us = now_us - self.adapter.sim_time_us()
        self.missed = False

    def is_at(self, now_us: int) -> bool:
        """Whether it stands at this fleet time."""
        return self.offset_us is None or self.adapter.sim_time_us() + self.offset_us == now_us

    def count_failure(self) -> None:
        """One more step in a row that it failed."""
        self.failures += 1
        self.failed = self.failures >= FAILURES_BEFORE_GIVING_UP

    def isolate(self, dt_us: int) -> None:
        """Go on with the step under way on a thread: it has kept the others waiting once."""
        self.stalled = True
        if isinstance(self.stepper, InlineStepper):
            self.stepper = ThreadStepper(self.adapter)
        self.stepper.begin(dt_us)  # also where its own time-out has just ended the try

    def add_vehicle(self, config: VehicleConfig) -> None:
        """Put a vehicle in; one of the same id that is still leaving goes first."""
        if config.id in self._leaving:
            self.adapter.remove_vehicle(config.id)
            self._leaving.discard(config.id)
        self.adapter.add_vehicle(config)

    def remove_vehicle(self, vehicle_id: int) -> None:
        """Take a vehicle out; from an adapter that hangs, as soon as it can be spoken to."""
        if self.stalled:  # asking it would hold the whole fleet, once per vehicle
            self._leaving.add(vehicle_id)
            return
        try:
            self.adapter.remove_vehicle(vehicle_id)
        except SimulatorTimeoutError:
            self._leaving.add(vehicle_id)

    def remove_leaving(self) -> None:
        """Take out those that left while it hung."""
        leaving, self._leaving = self._leaving, set()
        for vehicle_id in sorted(leaving):
            self.remove_vehicle(vehicle_id)

    def close(self) -> None:
        """Stop its thread and disconnect; one that hangs in foreign code dies with the process."""
        self.stepper.close()
        try:
            self.adapter.disconnect()
        except SimulatorTimeoutError as exc:
            log.warning("%s", exc)

    def records(self) -> Mapping[int, SensorData]:
        """Its newest records, in fleet time."""
        return self._in_fleet_time(self.adapter.receive_sensors())

    def truth(self) -> Mapping[int, VehicleTruth]:
        """Its truth, in fleet time."""
        return self._in_fleet_time(self.adapter.receive_truth())

    def _in_fleet_time(self, messages: Mapping[int, Message]) -> Mapping[int, Message]:
        offset_us = self.offset_us
        if not offset_us:
            if not self._leaving:
                return messages
            offset_us = 0
        return {
            i: msgspec.structs.replace(message, timestamp_us=message.timestamp_us + offset_us)
            for i, message in messages.items()
            if i not in self._leaving
        }


_STALLED_SLICE_S = 0.1


class AdapterPhase:
    """Sends to all adapters, then makes all of them step."""

    def __init__(self, control: RunControl) -> None:
        self._control = control
        self.slots: dict[str, RegisteredAdapter] = {}
        self.waited_for: RegisteredAdapter | None = None  # who steps on this very thread
        self._raised: set[RegisteredAdapter] = set()  # in this step
        self.told: set[RegisteredAdapter] = set()  # named by the watchdog in this step

    def send(
        self, commands: Mapping[int, ActuatorCommands], now_us: int, *, free_running: bool = False
    ) -> None:
        """Give every adapter the commands of its vehicles; free-running ones fetch them."""
        for slot in self.slots.values():
            if slot.failed or slot.stalled:
                continue
            own = {i: commands[i] for i in slot.adapter.vehicle_ids() if i in commands}
            if free_running and slot.outbox is not None:
                slot.outbox(own)
                continue
            try:
                slot.adapter.send_actuators(own)
            except Exception as exc:  # one adapter's fault must stay with that adapter
                self._failed(slot, exc, now_us)

    def advance(self, dt_us: int, now_us: int) -> bool:
        """Step all adapters; returns when all have, or when those that have not were given up.

        Returns whether any adapter moved. When none did, the fleet's clock stands: time is
        never invented.
        """
        if self._raised:
            self._raised.clear()
        if self.told:
            self.told.clear()
        active = []
        for slot in self.slots.values():
            if slot.stalled and not slot.failed:
                self._look_again(slot, dt_us, now_us)
            if not slot.failed and not slot.stalled:
                slot.stepper.begin(dt_us)
                active.append(slot)
        finished = self._poll(active, 0.0 if len(active) > 1 else 0.05, now_us)
        if len(finished) < len(self.slots):
            finished += self._wait_for(self._late(active, finished), dt_us, now_us)
            # Whoever raised may well manage the next step: no need for the stalled then.
            if not finished and not self._raised and not self._may_end_waiting():
                finished = self._wait_for_stalled(dt_us, now_us)
        self._keep_time(finished, now_us + dt_us)
        if self._raised:
            self.require_any()
        return bool(finished) or not self.slots

    def require_any(self) -> None:
        """Refuse to go on when every adapter was given up."""
        if self.slots and all(slot.failed for slot in self.slots.values()):
            raise LockstepError("No adapter is left that works.", hint="See the events above.")

    def _poll(
        self, slots: list[RegisteredAdapter], timeout_s: float, now_us: int
    ) -> list[RegisteredAdapter]:
        finished = []
        for slot in slots:
            self.waited_for = slot if isinstance(slot.stepper, InlineStepper) else None
            try:
                slot.stepper.finish(timeout_s)
            except SimulatorTimeoutError:
                continue
            except Exception as exc:  # one adapter's fault must stay with that adapter
                self._failed(slot, exc, now_us)
                continue
            slot.failures = 0
            finished.append(slot)
        self.waited_for = None
        return finished

    def _late(
        self, slots: list[RegisteredAdapter], finished: list[RegisteredAdapter]
    ) -> list[RegisteredAdapter]:
        return [slot for slot in slots if slot not in finished and slot not in self._raised]

    def _wait_for(
        self, late: list[RegisteredAdapter], dt_us: int, now_us: int
    ) -> list[RegisteredAdapter]:
        """Wait for those that are late until they are there, or are given up."""
        control = self._control
        waiting = Waiting(control.rules, control.now_s())
        finished: list[RegisteredAdapter] = []
        while late and not control.stop_requested():
            for slot in late:
                slot.stepper.begin(dt_us)  # again, where its own time-out has ended the try
            finished += self._poll(late, waiting.slice_s(control.now_s()), now_us)
            late = self._late(late, finished)
            if late and waiting.should_tell(control.now_s()):
                self._tell_waiting(late, waiting, now_us)
            if late and waiting.is_over(control.now_s()):
                self._give_up(late, dt_us, now_us)
                break
        return finished

    def _wait_for_stalled(self, dt_us: int, now_us: int) -> list[RegisteredAdapter]:
        """With nobody else to go on, time stands until one of the stalled is back."""
        finished: list[RegisteredAdapter] = []
        while not finished and not self._control.stop_requested():
            stalled = [slot for slot in self.slots.values() if slot.stalled and not slot.failed]
            if not stalled:
                break
            for slot in stalled:
                slot.stepper.begin(dt_us)
            finished = self._poll(stalled, _STALLED_SLICE_S, now_us)
            for slot in stalled:
                if slot in finished or slot in self._raised:
                    self._take_back(slot, now_us)
        return finished

    def _may_end_waiting(self) -> bool:
        """Whether the policy has something else to do than to wait for the last one."""
        return self._control.rules.policy in (StallPolicy.DROP, StallPolicy.FREE_RUN)

    def _look_again(self, slot: RegisteredAdapter, dt_us: int, now_us: int) -> None:
        """Take a stalled adapter back in when the step that it was at has ended."""
        if self._poll([slot], 0.0, now_us) or slot in self._raised:
            self._take_back(slot, now_us)
        else:
            slot.stepper.begin(dt_us)

    def _take_back(self, slot: RegisteredAdapter, now_us: int) -> None:
        slot.stalled = False
        slot.remove_leaving()
        self._tell("rejoin", f"Adapter {slot.name} steps again.", slot, now_us)

    def _keep_time(self, finished: list[RegisteredAdapter], time_us: int) -> None:
        """Whoever missed steps of the fleet is at the fleet's time when it moves again."""
        for slot in finished:
            if slot.missed:
                slot.set_time(time_us)
        if 0 < len(finished) < len(self.slots):
            for slot in self.slots.values():
                slot.missed = slot.missed or slot not in finished

    def _give_up(self, slots: list[RegisteredAdapter], dt_us: int, now_us: int) -> None:
        policy = self._control.rules.policy
        for slot in slots:
            ids = slot.adapter.vehicle_ids()
            text = f"Adapter {slot.name} does not finish its step."
            if policy is StallPolicy.ABORT:
                raise LockstepTimeoutError(text, vehicle_ids=ids)
            self._tell("stall", text, slot, now_us)
            slot.isolate(dt_us)
            if policy is StallPolicy.DROP:
                self._control.drop_vehicles(ids)
            elif policy is StallPolicy.FREE_RUN:
                self._control.go_free_running()

    def _failed(self, slot: RegisteredAdapter, exc: Exception, now_us: int) -> None:
        self._raised.add(slot)
        slot.count_failure()
        what = "gave up on" if slot.failed else "raised in"
        text = f"{type(exc).__name__} {what} adapter {slot.name}: {exc}"
        self._tell("failed" if slot.failed else "error", text, slot, now_us, severity=3)

    def _tell_waiting(self, slots: list[RegisteredAdapter], waiting: Waiting, now_us: int) -> None:
        for slot in slots:
            if slot in self.told:
                continue
            lasted_ms = waiting.lasted_ms(self._control.now_s())
            self._tell("waiting", f"Waiting for {slot} since {lasted_ms:.0f} ms.", slot, now_us)

    def _tell(
        self, kind: str, text: str, slot: RegisteredAdapter, now_us: int, *, severity: int = 4
    ) -> None:
        self._control.report(
            BridgeEvent(time_us=now_us, kind=kind, text=text, adapter=slot.name, severity=severity)
        )
