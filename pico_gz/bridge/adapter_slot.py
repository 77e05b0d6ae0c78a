"""One registered adapter as the bridge keeps it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP
from pico_gz.bridge.steppers import InlineStepper, Stepper, ThreadStepper, make_stepper
from pico_gz.errors import SimulatorTimeoutError
from pico_gz.messages import ActuatorCommands, SensorData, VehicleConfig, VehicleTruth

log = logging.getLogger(__name__)

_MOST_IDS_TOLD = 10

Message = TypeVar("Message", SensorData, VehicleTruth)


class AdapterSlot:
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
        self.stepper: Stepper = make_stepper(adapter)
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
