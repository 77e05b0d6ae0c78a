"""A simulator made of a script: for tests of bridges, autopilots and the adapter contract."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.errors import SimulatorError, SimulatorTimeoutError
from pico_gz.messages import (
    ActuatorCommands,
    ImuData,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleConfig,
    VehicleTruth,
)

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
        self.sent: list[dict[int, ActuatorCommands]] = []
        self.fail_next = 0
        self.stall_next = 0
        self.give_nothing_next = 0
        self.hang = threading.Event()

    def sim_time_us(self) -> int:
        """Simulation time [us]."""
        return self._time_us

    def supports_lockstep(self) -> bool:
        """As asked for at construction."""
        return self._lockstep

    def capabilities(self) -> SimulatorCapabilities:
        """An IMU, any number of vehicles."""
        return SimulatorCapabilities(
            sensors=SensorCapabilities(imu=True), max_rate_hz=1000.0, multi_vehicle=True
        )

    def receive_truth(self) -> dict[int, VehicleTruth]:
        """Everybody stands at the origin."""
        return {
            vehicle_id: VehicleTruth(
                timestamp_us=self._time_us,
                vehicle_id=vehicle_id,
                north_m=0.0,
                east_m=0.0,
                down_m=0.0,
                quat_wxyz=(1.0, 0.0, 0.0, 0.0),
            )
            for vehicle_id in self.vehicle_ids()
        }

    def save_state(self) -> dict[str, object]:
        """Only the time changes."""
        return {"time_us": self._time_us}

    def load_state(self, state: Mapping[str, object]) -> None:
        """Go on from there."""
        time_us = state["time_us"]
        assert isinstance(time_us, int)
        self._time_us = time_us

    def _connect(self) -> None:
        pass

    def _disconnect(self) -> None:
        pass

    def _add_vehicle(self, config: VehicleConfig) -> None:
        pass

    def _remove_vehicle(self, vehicle_id: int) -> None:
        pass

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        self.sent.append(dict(commands))

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
        if self.give_nothing_next:
            self.give_nothing_next -= 1
            return None  # type: ignore[return-value]
        return {i: self._script(i, self._time_us) for i in self.vehicle_ids()}
