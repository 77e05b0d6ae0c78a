"""Second half of a step: commands go to the simulators, and time goes on in all of them."""

from __future__ import annotations

from collections.abc import Mapping

from pico_gz.bridge.adapter_slot import AdapterSlot
from pico_gz.bridge.control import RunControl
from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.stall import StallPolicy, Waiting
from pico_gz.bridge.steppers import InlineStepper
from pico_gz.errors import LockstepError, LockstepTimeoutError, SimulatorTimeoutError
from pico_gz.messages import ActuatorCommands

_STALLED_SLICE_S = 0.1


class AdapterPhase:
    """Sends to all adapters, then makes all of them step."""

    def __init__(self, control: RunControl) -> None:
        self._control = control
        self.slots: dict[str, AdapterSlot] = {}
        self.waited_for: AdapterSlot | None = None  # who steps on this very thread
        self._raised: set[AdapterSlot] = set()  # in this step
        self.told: set[AdapterSlot] = set()  # named by the watchdog in this step

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

    def _poll(self, slots: list[AdapterSlot], timeout_s: float, now_us: int) -> list[AdapterSlot]:
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

    def _late(self, slots: list[AdapterSlot], finished: list[AdapterSlot]) -> list[AdapterSlot]:
        return [slot for slot in slots if slot not in finished and slot not in self._raised]

    def _wait_for(self, late: list[AdapterSlot], dt_us: int, now_us: int) -> list[AdapterSlot]:
        """Wait for those that are late until they are there, or are given up."""
        control = self._control
        waiting = Waiting(control.rules, control.now_s())
        finished: list[AdapterSlot] = []
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

    def _wait_for_stalled(self, dt_us: int, now_us: int) -> list[AdapterSlot]:
        """With nobody else to go on, time stands until one of the stalled is back."""
        finished: list[AdapterSlot] = []
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

    def _look_again(self, slot: AdapterSlot, dt_us: int, now_us: int) -> None:
        """Take a stalled adapter back in when the step that it was at has ended."""
        if self._poll([slot], 0.0, now_us) or slot in self._raised:
            self._take_back(slot, now_us)
        else:
            slot.stepper.begin(dt_us)

    def _take_back(self, slot: AdapterSlot, now_us: int) -> None:
        slot.stalled = False
        slot.remove_leaving()
        self._tell("rejoin", f"Adapter {slot.name} steps again.", slot, now_us)

    def _keep_time(self, finished: list[AdapterSlot], time_us: int) -> None:
        """Whoever missed steps of the fleet is at the fleet's time when it moves again."""
        for slot in finished:
            if slot.missed:
                slot.set_time(time_us)
        if 0 < len(finished) < len(self.slots):
            for slot in self.slots.values():
                slot.missed = slot.missed or slot not in finished

    def _give_up(self, slots: list[AdapterSlot], dt_us: int, now_us: int) -> None:
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

    def _failed(self, slot: AdapterSlot, exc: Exception, now_us: int) -> None:
        self._raised.add(slot)
        slot.count_failure()
        what = "gave up on" if slot.failed else "raised in"
        text = f"{type(exc).__name__} {what} adapter {slot.name}: {exc}"
        self._tell("failed" if slot.failed else "error", text, slot, now_us, severity=3)

    def _tell_waiting(self, slots: list[AdapterSlot], waiting: Waiting, now_us: int) -> None:
        for slot in slots:
            if slot in self.told:
                continue
            lasted_ms = waiting.lasted_ms(self._control.now_s())
            self._tell("waiting", f"Waiting for {slot} since {lasted_ms:.0f} ms.", slot, now_us)

    def _tell(
        self, kind: str, text: str, slot: AdapterSlot, now_us: int, *, severity: int = 4
    ) -> None:
        self._control.report(
            BridgeEvent(time_us=now_us, kind=kind, text=text, adapter=slot.name, severity=severity)
        )
