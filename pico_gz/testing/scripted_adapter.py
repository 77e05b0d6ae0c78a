"""A simulator that follows a script."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.core.messages import (
    ActuatorCommands,
    ImuData,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleTruth,
)
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import SimulatorError, SimulatorTimeoutError

_LEVEL_AT_REST = ImuData((0.0, 0.0, -9.80665), (0.0, 0.0, 0.0))

# (vehicle id, time of the record in us) -> that vehicle's record
Script = Callable[[int, int], SensorData]


def standing(vehicle_id: int, time_us: int) -> SensorData:
    """The default script: a vehicle that stands level."""
    return SensorData(timestamp_us=time_us, vehicle_id=vehicle_id, imu=_LEVEL_AT_REST)


class ScriptedAdapter(SimulatorAdapter):
    """Plays a script and misbehaves on request.

    Attributes:
        sent: every mapping of commands it was given, newest last.
        fail_next: the next so many steps raise ``SimulatorError``.
        stall_next: the next so many calls of ``step`` time out; the step is then unfinished.
        give_nothing_next: the next so many steps return ``None``.
        hang: while set, ``step`` does not return at all.
    """

    adapter_type = "scripted"
    bounded_step = True

    def __init__(
        self,
        script: Script = standing,
        *,
        name: str | None = None,
        lockstep: bool = True,
        bounded: bool = True,
    ) -> None:
        super().__init__(name)
        self._script = script
        self._lockstep = lockstep
        self.bounded_step = bounded  # type: ignore[misc]  # per instance, for tests of both ways
        self._time_us = 0
        self._north_m: dict[int, float] = {}
        self._speed_mps: dict[int, float] = {}
        self.sent: list[dict[int, ActuatorCommands]] = []
        self.fail_next = 0
        self.stall_next = 0
        self.give_nothing_next = 0
        self.hang = threading.Event()

    def sim_time_us(self) -> int:
        return self._time_us

    def supports_lockstep(self) -> bool:
        return self._lockstep

    def capabilities(self) -> SimulatorCapabilities:
        return SimulatorCapabilities(
            sensors=SensorCapabilities(imu=True), max_rate_hz=1000.0, multi_vehicle=True
        )

    def receive_truth(self) -> dict[int, VehicleTruth]:
        """Every vehicle starts at the origin and drives north, at 1 m/s with full throttle."""
        return {
            vehicle_id: VehicleTruth(
                timestamp_us=self._time_us,
                vehicle_id=vehicle_id,
                north_m=self._north_m.get(vehicle_id, 0.0),
                east_m=0.0,
                down_m=0.0,
                quat_wxyz=(1.0, 0.0, 0.0, 0.0),
            )
            for vehicle_id in self.vehicle_ids()
        }

    def save_state(self) -> dict[str, object]:
        return {
            "time_us": self._time_us,
            "north_m": {str(i): north_m for i, north_m in self._north_m.items()},
            "speed_mps": {str(i): speed_mps for i, speed_mps in self._speed_mps.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._time_us = int(state["time_us"])
        self._north_m = {int(i): north_m for i, north_m in state["north_m"].items()}
        self._speed_mps = {int(i): speed_mps for i, speed_mps in state["speed_mps"].items()}

    def _connect(self) -> None:
        pass

    def _disconnect(self) -> None:
        pass

    def _add_vehicle(self, config: VehicleConfig) -> None:
        self._north_m[config.id] = 0.0

    def _remove_vehicle(self, vehicle_id: int) -> None:
        self._north_m.pop(vehicle_id, None)
        self._speed_mps.pop(vehicle_id, None)

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        self.sent.append(dict(commands))
        for vehicle_id, command in commands.items():
            self._speed_mps[vehicle_id] = sum(command.motors) / max(1, len(command.motors))

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        while self.hang.is_set():
            self.hang.wait(0.01)
        if self.stall_next:
            self.stall_next -= 1
            raise SimulatorTimeoutError(
                f"{self.name} stalls by script.", adapter=self.name, vehicle_ids=self.vehicle_ids()
            )
        if self.fail_next:
            self.fail_next -= 1
            raise SimulatorError(f"{self.name} fails by script.", adapter=self.name)
        self._time_us += dt_us
        for vehicle_id, speed_mps in self._speed_mps.items():
            self._north_m[vehicle_id] = self._north_m.get(vehicle_id, 0.0) + speed_mps * dt_us / 1e6
        if self.give_nothing_next:
            self.give_nothing_next -= 1
            return None  # type: ignore[return-value]
        return {i: self._script(i, self._time_us) for i in self.vehicle_ids()}
