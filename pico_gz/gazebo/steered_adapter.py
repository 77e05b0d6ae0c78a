"""Gazebo adapters with world control, and with their own server."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pico_gz.core.frames import quat_enu_flu_from_ned_frd, quat_from_euler
from pico_gz.core.messages import SensorData
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import PicoGzError, SimulatorConnectionError, SimulatorError
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.gazebo.gz_messages import GzPose
from pico_gz.gazebo.server import GazeboServer
from pico_gz.gazebo.topic_sensors import GazeboSensorTopics
from pico_gz.gazebo.world_control import GzControl

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


log = logging.getLogger(__name__)

ATTEMPTS = 2
_LOOK_PERIOD_S = 0.05


class LaunchedGazeboAdapter(SteeredGazeboAdapter):
    """Starts Gazebo on ``connect`` and stops it on ``disconnect``.

    It is ready when the plugin of every vehicle answers. One start in a few dozen never gets
    there, so after ``connect_timeout_s`` Gazebo is ended and started once more.

    Args:
        config: the wire; ``connect_timeout_s`` is the deadline of one start.
        start: starts a Gazebo, anew at each call.
        **others: as for ``SteeredGazeboAdapter``.
    """

    def __init__(
        self, config: GazeboConfig, *, start: Callable[[], GazeboServer], **others: Any
    ) -> None:
        super().__init__(config, **others)
        self._start = start
        self._server: GazeboServer | None = None
        self._cancelled = False

    @property
    def server(self) -> GazeboServer | None:
        """The Gazebo of this connection."""
        return self._server

    def cancel_connect(self) -> None:
        """Make a ``connect`` that waits in another thread give up."""
        self._cancelled = True
        super().cancel_connect()

    def _connect(self) -> None:
        self._cancelled = False
        for attempt in range(1, ATTEMPTS + 1):
            server = self._server = self._start()
            try:
                with self._giving_up_on_trouble(server):
                    super()._connect()
            except SimulatorConnectionError as exc:
                failure = self._judge(server, exc, is_last=attempt == ATTEMPTS)
                self._stop_server()
                if failure is not None:
                    raise failure from exc
                log.warning("Gazebo does not get ready; it is started once more.")
            except BaseException:
                self._stop_server()
                raise
            else:
                return

    def _judge(
        self, server: GazeboServer, waited: SimulatorConnectionError, *, is_last: bool
    ) -> PicoGzError | None:
        """Why there is no point in another attempt; ``None`` when there is."""
        if self._cancelled:
            return waited
        if server.problem():
            return server.failure()
        if is_last:
            text = f"Gazebo was started {ATTEMPTS} times and never got ready: {waited.message}"
            return server.failure(text)
        return None

    def _disconnect(self) -> None:
        try:
            super()._disconnect()
        finally:
            self._stop_server()

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        try:
            return super()._step(dt_us)
        except SimulatorError as exc:
            if self._server is not None and self._server.exit_code is not None:
                failure = self._server.failure()
                raise SimulatorError(failure.message, adapter=self.name, hint=failure.hint) from exc
            raise

    def _stop_server(self) -> None:
        if self._server is not None:
            self._server.stop()

    @contextmanager
    def _giving_up_on_trouble(self, server: GazeboServer) -> Iterator[None]:
        """Cut the wait short as soon as Gazebo has ended or complains."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(_LOOK_PERIOD_S):
                if server.problem() or self._cancelled:
                    GazeboAdapter.cancel_connect(self)

        looker = threading.Thread(target=look, name="gazebo-start", daemon=True)
        looker.start()
        try:
            yield
        finally:
            done.set()
            looker.join()
