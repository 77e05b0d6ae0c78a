"""One registered adapter: its time, its vehicles that leave, how it steps."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import SimulatorTimeoutError

log = logging.getLogger(__name__)

Message = TypeVar("Message", SensorData, VehicleTruth)

_MAX_IDS_NAMED: Final = 10


class StepThread:
    """Steps an adapter on a daemon thread, so that one that hangs holds no other."""

    def __init__(self, adapter: SimulatorAdapter) -> None:
        self._adapter = adapter
        self._work = threading.Condition()
        self._dt_us = 0
        self._busy = False
        self._begun = False  # until finish() has reported how the step ended
        self._closed = False
        self._outcome: Mapping[int, SensorData] | BaseException = {}
        self._own_thread = threading.Thread(
            target=self._loop, name=f"pico-gz-step-{adapter.name}", daemon=True
        )
        self._own_thread.start()

    def begin(self, dt_us: int) -> None:
        """Wake the thread, unless ``finish`` has not reported the end of the last step yet.

        A step that ends between two looks would be done twice otherwise.
        """
        with self._work:
            if not self._begun:
                self._dt_us = dt_us
                self._begun = self._busy = True
                self._work.notify_all()

    def finish(self, timeout_s: float) -> Mapping[int, SensorData]:
        """Wait for the step; raises what the adapter raised, or ``SimulatorTimeoutError``."""
        with self._work:
            if not self._work.wait_for(lambda: not self._busy, timeout_s):
                raise SimulatorTimeoutError(
                    f"{self._adapter.name} has not finished its step.",
                    adapter=self._adapter.name,
                    vehicle_ids=self._adapter.vehicle_ids(),
                )
            self._begun = False
            outcome = self._outcome
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def close(self) -> None:
        """Ask the thread to end; one that hangs in foreign code dies with the process."""
        with self._work:
            self._closed = True
            self._work.notify_all()
        self._own_thread.join(timeout=0.2)

    def _loop(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(lambda: self._busy or self._closed)
                if self._closed:
                    return
                dt_us = self._dt_us
            outcome: Mapping[int, SensorData] | BaseException
            try:
                outcome = self._adapter.advance(dt_us)
            except BaseException as exc:  # handed to the thread that waits in finish()
                outcome = exc
            with self._work:
                self._outcome = outcome
                self._busy = False
                self._work.notify_all()


class RegisteredAdapter:
    """An adapter with what the bridge knows about it.

    Attributes:
        name: under which it is registered.
        adapter: the simulator.
        offset_us: fleet time minus its own time; ``None`` until it is connected.
        failures: steps in a row in which it raised.
        failed: it raised too often and is not used any more.
        stalled: it did not finish a step in time and is not waited for.
        missed: the fleet moved on without it.
        outbox: takes commands while it moves by itself, free-running.
        records: of its last finished step, in its own time.
    """

    def __init__(self, name: str, adapter: SimulatorAdapter) -> None:
        self.name = name
        self.adapter = adapter
        self.offset_us: int | None = None
        self.failures = 0
        self.failed = False
        self.stalled = False
        self.missed = False
        self.outbox: Callable[[Mapping[int, ActuatorCommands]], None] | None = None
        self.records: Mapping[int, SensorData] = {}
        self._leaving: set[int] = set()
        self._dt_us = 0
        # A thread costs some 50 us per step; adapters that promise to return do without.
        self._step_thread = None if adapter.bounded_step else StepThread(adapter)

    def __str__(self) -> str:
        ids = self.adapter.vehicle_ids()
        listed = ", ".join(map(str, ids[:_MAX_IDS_NAMED])) or "none"
        more = f" and {len(ids) - _MAX_IDS_NAMED} more" if len(ids) > _MAX_IDS_NAMED else ""
        return f"adapter {self.name} (vehicles {listed}{more})"

    # --- one step -----------------------------------------------------------------------------

    @property
    def is_threaded(self) -> bool:
        """Whether its steps run on a thread of their own."""
        return self._step_thread is not None

    def begin(self, dt_us: int) -> None:
        """Start a step on its thread; without one, ``finish`` does the step."""
        self._dt_us = dt_us
        if self._step_thread is not None:
            self._step_thread.begin(dt_us)

    def finish(self, timeout_s: float) -> None:
        """End the step that was begun and keep its records.

        Raises:
            SimulatorTimeoutError: not finished yet; ask again.
        """
        if self.outbox is not None:  # free-running: its thread may have left records unread
            self.adapter.step(self._dt_us)
        elif self._step_thread is None:
            self.records = self.adapter.advance(self._dt_us)
        else:
            self.records = self._step_thread.finish(timeout_s)
        self.failures = 0

    def isolate(self, dt_us: int) -> None:
        """Continue the step under way on a thread: it has kept the others waiting once."""
        self.stalled = True
        if self._step_thread is None:
            self._step_thread = StepThread(self.adapter)
        self._step_thread.begin(dt_us)  # also where its own time-out has just ended the try

    @property
    def is_direct(self) -> bool:
        """Whether ``records`` are the fleet's as they are: in its time, lockstep, none leaving."""
        return not self.offset_us and not self._leaving and self.outbox is None

    def newest_records(self) -> Mapping[int, SensorData]:
        """Its newest records, in fleet time."""
        if self.outbox is not None:
            self.records = self.adapter.receive_sensors()
        return self.in_fleet_time(self.records)

    def in_fleet_time(self, messages: Mapping[int, Message]) -> Mapping[int, Message]:
        """The same messages in fleet time, without vehicles that are leaving."""
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

    def own(self, commands: Mapping[int, ActuatorCommands]) -> dict[int, ActuatorCommands]:
        """The commands of its vehicles."""
        return {i: commands[i] for i in self.adapter.vehicle_ids() if i in commands}

    def count_failure(self) -> None:
        """Count one more step in a row that it failed."""
        self.failures += 1
        self.failed = self.failures >= FAILURES_BEFORE_GIVING_UP

    # --- time ---------------------------------------------------------------------------------

    def connect(self, now_us: int) -> None:
        """Reach the simulator, if that was not done yet, and relate its time to the fleet's."""
        self.adapter.connect()
        if self.offset_us is None:
            self.set_time(now_us)

    def set_time(self, now_us: int) -> None:
        """Relate its present time to this fleet time."""
        self.offset_us = now_us - self.adapter.sim_time_us()
        self.missed = False

    def save_state(self) -> dict[str, Any]:
        """The adapter's state, how its time belongs to the fleet's, and whether it works."""
        return {
            "offset_us": self.offset_us,
            "failures": self.failures,
            "failed": self.failed,
            "state": self.adapter.save_state(),
        }

    def load_state(self, saved: Mapping[str, Any], now_us: int) -> None:
        """Continue from a snapshot of the adapter at this fleet time."""
        self.offset_us = saved["offset_us"]
        self.failures, self.failed = saved["failures"], saved["failed"]
        self.adapter.load_state(saved["state"])
        self.records = {}
        is_there = self.offset_us is None or self.adapter.sim_time_us() + self.offset_us == now_us
        self.missed = self.stalled or not is_there

    # --- vehicles -----------------------------------------------------------------------------

    def add_vehicle(self, config: VehicleConfig) -> None:
        """Put a vehicle in; one of the same id that is still leaving goes first."""
        if config.id in self._leaving:
            self.adapter.remove_vehicle(config.id)
            self._leaving.discard(config.id)
        self.adapter.add_vehicle(config)

    def remove_vehicle(self, vehicle_id: int) -> None:
        """Take a vehicle out; from an adapter that hangs, as soon as it answers again."""
        self.records = {i: record for i, record in self.records.items() if i != vehicle_id}
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
        if self._step_thread is not None:
            self._step_thread.close()
        try:
            self.adapter.disconnect()
        except SimulatorTimeoutError as exc:
            log.warning("%s", exc)
