"""The Gazebo adapter with everything that gz-transport adds: poses, spawning, real sensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pico_gz.adapters.gazebo import GazeboAdapter, GazeboConfig
from pico_gz.errors import PicoGzError, SimulatorError
from pico_gz.frames import quat_enu_flu_from_ned_frd, quat_from_euler
from pico_gz.launch.gz_control import GzControl
from pico_gz.launch.gz_messages import GzPose
from pico_gz.launch.gz_sensors import GazeboSensorTopics
from pico_gz.messages import SensorData, VehicleConfig

# A rover is put down from this height, so that its wheels are not in the ground.
_DROP_M = 0.02


class Steering:
    """How a world is steered beside the control path.

    Args:
        open_control: reaches the world; called when it is first needed.
        model_sdf: the SDF text of a vehicle's model.
        height_m: of the ground at (north, east).
        sensors: makes the reader of Gazebo's own sensors; ``None`` keeps the kit's models.
    """

    def __init__(
        self,
        *,
        open_control: Callable[[], GzControl],
        model_sdf: Callable[[VehicleConfig], str],
        height_m: Callable[[float, float], float] = lambda north_m, east_m: 0.0,
        sensors: Callable[[GzControl], GazeboSensorTopics] | None = None,
    ) -> None:
        self._open_control = open_control
        self._model_sdf = model_sdf
        self._height_m = height_m
        self._make_sensors = sensors
        self._control: GzControl | None = None
        self._sensors: GazeboSensorTopics | None = None

    def control(self) -> GzControl:
        """The world's control, opened on first use."""
        if self._control is None:
            self._control = self._open_control()
        return self._control

    def start(self) -> None:
        """Begin to read Gazebo's own sensors, if that is wanted."""
        if self._make_sensors is not None:
            self._sensors = self._make_sensors(self.control())
            self._sensors.subscribe()

    def place(self, name: str, north_m: float, east_m: float, yaw_deg: float) -> GzPose:
        """A pose on the ground, for Gazebo."""
        quat = quat_from_euler(0.0, 0.0, math.radians(yaw_deg))
        height_m = self._height_m(north_m, east_m) + _DROP_M
        return GzPose(name, (east_m, north_m, height_m), quat_enu_flu_from_ned_frd(quat))

    def spawn(self, config: VehicleConfig) -> None:
        """Have a vehicle put into the world with its next step."""
        pose = config.pose
        place = self.place("", pose.north_m, pose.east_m, pose.yaw_deg)
        self.control().spawn(self._model_sdf(config), config.label, place, wait=False)

    def replace_sensors(self, records: Mapping[int, SensorData]) -> Mapping[int, SensorData]:
        """The records with Gazebo's own samples, if those are wanted."""
        return records if self._sensors is None else self._sensors.replace(records)

    def close(self) -> None:
        """Let go of the world; harmless when called twice."""
        self._sensors = None
        if self._control is not None:
            self._control.close()
        self._control = None


class SteeredGazeboAdapter(GazeboAdapter):
    """Drives over UDP and asks Gazebo for the rest.

    A vehicle that joins a running world is spawned there, one that leaves is removed. Gazebo
    does what it is asked with the next step, so nothing here waits for it.

    Args:
        config: the wire.
        steering: ``None``: no such services.
        **others: as for ``GazeboAdapter``.
    """

    def __init__(
        self, config: GazeboConfig, *, steering: Steering | None = None, **others: Any
    ) -> None:
        super().__init__(config, **others)
        self._steering = steering
        self._in_world: set[int] = set()

    def _connect(self) -> None:
        super()._connect()
        self._in_world = set(self._vehicles)
        if self._steering is not None:
            self._steering.start()

    def _disconnect(self) -> None:
        try:
            super()._disconnect()
        finally:
            if self._steering is not None:
                self._steering.close()

    def _add_vehicle(self, config: VehicleConfig) -> None:
        if self._wire is not None and config.id not in self._in_world:
            self._require_steering("spawn a vehicle").spawn(config)
            self._in_world.add(config.id)
        super()._add_vehicle(config)

    def _remove_vehicle(self, vehicle_id: int) -> None:
        # The world may be waiting for this very plugin, so it is spoken to until the end.
        label = self._vehicles[vehicle_id].label
        super()._remove_vehicle(vehicle_id)
        if self._wire is None or self._steering is None:
            return
        try:
            self._steering.control().remove(label, wait=False)
        except PicoGzError:
            # It stays in the world, unmoved, as it does without these services.
            return
        self._in_world.discard(vehicle_id)

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        records = super()._step(dt_us)
        return records if self._steering is None else self._steering.replace_sensors(records)

    def set_pose(self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float) -> None:
        """Put a vehicle somewhere else; Gazebo does it with the next step."""
        steering = self._require_steering("set a pose")
        label = self._vehicles[vehicle_id].label
        place = steering.place(label, north_m, east_m, yaw_deg)
        steering.control().set_pose(place, wait=False)

    def _require_steering(self, what: str) -> Steering:
        if self._steering is None:
            raise SimulatorError(
                f"{self.name} cannot {what} without Gazebo's Python bindings.",
                adapter=self.name,
                hint="pico-gz doctor tells how to get them.",
            )
        return self._steering
