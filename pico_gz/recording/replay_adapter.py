"""A simulator that shows what was recorded instead of computing anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.bridge.view import FleetView
from pico_gz.messages import (
    ActuatorCommands,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleConfig,
    VehicleTruth,
)
from pico_gz.recording.recorded_run import RecordedRun


class ReplayAdapter(SimulatorAdapter):
    """Moves through a recording with the fleet's clock; its state is the time it stands at.

    Attributes:
        view: the recorded step that is shown.
    """

    adapter_type: ClassVar[str] = "replay"
    bounded_step: ClassVar[bool] = True

    def __init__(self, run: RecordedRun, name: str | None = None) -> None:
        super().__init__(name)
        self._run = run
        self._time_us = 0
        self.view = FleetView()

    def sim_time_us(self) -> int:
        """The recorded time that is shown [us]."""
        return self._time_us

    def capabilities(self) -> SimulatorCapabilities:
        """What was recorded may be anything."""
        sensors = SensorCapabilities(imu=True, gps=True, compass=True, barometer=True)
        return SimulatorCapabilities(sensors=sensors, multi_vehicle=True, terrain=True, wind=True)

    def receive_truth(self) -> dict[int, VehicleTruth]:
        """Where the vehicles were."""
        return {i: truth for i, truth in self.view.truth.items() if i in self._vehicles}

    def save_state(self) -> dict[str, Any]:
        """The time it stands at."""
        return {"time_us": self._time_us}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Show another time."""
        self._time_us = int(state["time_us"])
        self._mailbox.clear()
        self._show()

    def _connect(self) -> None:
        self._show()

    def _disconnect(self) -> None:
        return

    def _add_vehicle(self, config: VehicleConfig) -> None:
        return

    def _remove_vehicle(self, vehicle_id: int) -> None:
        return

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        return

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        self._time_us += dt_us
        self._show()
        return {i: record for i, record in self.view.sensors.items() if i in self._vehicles}

    def _show(self) -> None:
        self.view = self._run.at(self._time_us)
