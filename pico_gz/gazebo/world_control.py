"""Pause, step, reset, spawn, remove and move in a world."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping

from pico_gz.core.frames import quat_enu_flu_from_ned_frd, quat_from_euler
from pico_gz.core.messages import SensorData
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import PicoGzError, SimulatorError, SimulatorTimeoutError, did_you_mean
from pico_gz.gazebo import gz_messages as messages
from pico_gz.gazebo.gz_messages import GzPose, GzStatistics
from pico_gz.gazebo.sensors import GazeboSensorTopics
from pico_gz.gazebo.worker_client import GzTransport

# The service that lists the worlds of a Gazebo.
WORLDS = "/gazebo/worlds"
_FIRST_WAIT_S = 5.0
_SLICE_S = 0.05
# A rover is put down from this height, so that its wheels are not in the ground.
_DROP_M = 0.02


class GzControl:
    """One Gazebo world, over gz-transport. Never part of the control path.

    Gazebo answers "yes" to all that it has queued, so effects are confirmed from what the world
    publishes. A world in lockstep does what is asked with its next step: its driver must keep
    stepping, or not wait (``wait=False``).

    Args:
        world: name of the world.
        transport: carries its services and topics; closed by ``close``.
        clock: monotonic wall clock [s].
    """

    def __init__(
        self,
        world: str,
        transport: GzTransport,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.world = world
        self.transport = transport
        self._now_s = clock

    def close(self) -> None:
        """Close the transport; harmless when called twice."""
        self.transport.close()

    def __enter__(self) -> GzControl:
        """Use it in a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close on exit."""
        self.close()

    # --- watching -------------------------------------------------------------------------

    def time_us(self, timeout_s: float = _FIRST_WAIT_S) -> int:
        """Simulation time [us]; waits for the first message only."""
        return messages.read_clock_us(self._first("clock", messages.CLOCK, timeout_s))

    def statistics(self, timeout_s: float = _FIRST_WAIT_S) -> GzStatistics:
        """Times and steps of the world, published ten times a second."""
        return messages.read_statistics(self._first("stats", messages.STATISTICS, timeout_s))

    def poses(
        self, timeout_s: float = _FIRST_WAIT_S, *, everything: bool = False
    ) -> dict[str, GzPose]:
        """Where things are: models in the world, links in their models, by name.

        Args:
            timeout_s: how long to wait for the first message.
            everything: also what cannot move, and all that is visible; much more to send.
        """
        topic = "pose/info" if everything else "dynamic_pose/info"
        data = self._first(topic, messages.POSE_V, timeout_s)
        # Links of different rovers share their names; models come first and are unique.
        poses: dict[str, GzPose] = {}
        for pose in messages.read_poses(data):
            poses.setdefault(pose.name, pose)
        return poses

    def wait_until_ready(self, timeout_s: float) -> int:
        """Wait until the world's clock is heard; returns its time [us].

        Raises:
            SimulatorTimeoutError: it is not.
        """
        return self.time_us(timeout_s)

    # --- time -----------------------------------------------------------------------------

    def pause(self, timeout_s: float = _FIRST_WAIT_S) -> None:
        """Hold time, and wait until it stands."""
        self._control(messages.world_control(pause=True))
        self._await_paused(True, timeout_s)

    def resume(self, timeout_s: float = _FIRST_WAIT_S) -> None:
        """Let time run."""
        self._control(messages.world_control(pause=False))
        self._await_paused(False, timeout_s)

    def step(self, count: int, step_us: int, timeout_s: float = 10.0) -> int:
        """Do so many physics steps, stand, and return the time then [us].

        Args:
            count: number of steps.
            step_us: how long each is.
            timeout_s: when to give up waiting.
        """
        target_us = self.time_us() + count * step_us
        self._control(messages.world_control(pause=True, multi_step=count))
        return self._await_time(lambda now_us: now_us >= target_us, "step", timeout_s)

    def reset(self, timeout_s: float = _FIRST_WAIT_S) -> None:
        """Restart the world at time 0; the ArduPilot plugin is mute until its old time."""
        before_us = self.time_us()
        self._control(messages.world_control(reset=True))
        if before_us:
            self._await_time(lambda now_us: now_us < before_us, "reset", timeout_s)

    # --- models ---------------------------------------------------------------------------

    def spawn(self, sdf: str, name: str, pose: GzPose, *, wait: bool = True) -> None:
        """Put a model into the world.

        Args:
            sdf: its SDF text.
            name: that it gets.
            pose: where it is put.
            wait: until it is there; False when the world waits for us.

        Raises:
            SimulatorError: Gazebo refused, as it does when the name is taken.
        """
        data = messages.entity_factory(sdf, name, pose)
        self._command("create", data, messages.ENTITY_FACTORY, wait=wait, what=f"spawn {name}")

    def remove(self, name: str, *, wait: bool = True) -> None:
        """Take a model out of the world."""
        data = messages.model_entity(name)
        self._command("remove", data, messages.ENTITY, wait=wait, what=f"remove {name}")

    def set_pose(self, pose: GzPose, *, wait: bool = True) -> None:
        """Put the model that the pose names somewhere else."""
        data = messages.pose_message(pose)
        self._command("set_pose", data, messages.POSE, wait=wait, what=f"move {pose.name}")

    def set_poses(self, poses: Iterable[GzPose], *, wait: bool = False) -> None:
        """Put many models somewhere else, all in one iteration."""
        data = messages.pose_list(poses)
        self._command("set_pose_vector", data, messages.POSE_V, wait=wait, what="move models")

    # --- how ------------------------------------------------------------------------------

    def topic(self, name: str) -> str:
        """The full name of one of the world's topics or services."""
        return f"/world/{self.world}/{name}"

    def _control(self, data: bytes) -> None:
        self._ask("control", data, messages.WORLD_CONTROL)

    def _command(self, name: str, data: bytes, kind: str, *, wait: bool, what: str) -> None:
        reply = self._ask(f"{name}/blocking" if wait else name, data, kind)
        if not messages.read_boolean(reply):
            raise SimulatorError(f"Gazebo refused to {what}.", hint="See its log.")

    def _ask(self, name: str, data: bytes, kind: str) -> bytes:
        try:
            return self.transport.request(self.topic(name), data, kind, messages.BOOLEAN)
        except SimulatorTimeoutError as exc:
            raise SimulatorTimeoutError(exc.message, hint=self._wrong_name() or exc.hint) from exc

    def _wrong_name(self) -> str:
        """Which worlds there are, if ours is none of them; empty when that is unknown."""
        try:
            reply = self.transport.request(WORLDS, b"", messages.EMPTY, messages.TEXTS)
        except PicoGzError:
            return ""
        names = messages.read_texts(reply)
        if not names or self.world in names:
            return ""
        return f"There is no world {self.world!r} here. {did_you_mean(self.world, names)}"

    def _first(self, name: str, kind: str, timeout_s: float) -> bytes:
        topic = self.topic(name)
        self.transport.subscribe(topic, kind)
        deadline_s = self._now_s() + timeout_s
        count, data = self.transport.newest(topic)
        while not count:
            left_s = deadline_s - self._now_s()
            if left_s <= 0.0:
                raise SimulatorTimeoutError(
                    f"Gazebo says nothing on {topic} for {timeout_s:g} s.",
                    hint=self._wrong_name()
                    or "Is that the world's name, and is GZ_PARTITION the same?",
                )
            count, data = self.transport.wait(topic, 0, min(left_s, _SLICE_S))
        return data

    def _await_time(self, done: Callable[[int], bool], what: str, timeout_s: float) -> int:
        deadline_s = self._now_s() + timeout_s
        topic = self.topic("clock")
        while True:
            count, data = self.transport.newest(topic)
            now_us = messages.read_clock_us(data)
            if done(now_us):
                return now_us
            if self._now_s() >= deadline_s:
                raise SimulatorTimeoutError(
                    f"Gazebo did not {what} within {timeout_s:g} s; its clock is at {now_us} us."
                )
            self.transport.wait(topic, count, _SLICE_S)

    def _await_paused(self, paused: bool, timeout_s: float) -> None:
        """Wait until a message that is newer than the request confirms it."""
        topic = self.topic("stats")
        self.transport.subscribe(topic, messages.STATISTICS)
        deadline_s = self._now_s() + timeout_s
        count, _ = self.transport.newest(topic)
        while True:
            newer, data = self.transport.wait(topic, count, _SLICE_S)
            if newer > count and messages.read_statistics(data).paused is paused:
                return
            if self._now_s() >= deadline_s:
                what = "pause" if paused else "continue"
                raise SimulatorTimeoutError(f"Gazebo did not {what} within {timeout_s:g} s.")


def open_control(world: str, environment: dict[str, str] | None = None) -> GzControl:
    """Reach a world.

    Args:
        world: its name.
        environment: ``GZ_PARTITION`` and ``GZ_IP`` of the Gazebo; default: our own.
    """
    return GzControl(world, GzTransport(environment))


class FleetControl:
    """What a fleet asks of its world beside the control path: spawn, remove, move, sense.

    Gazebo does what it is asked with its next step, so nothing here waits for it.

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

    def _pose(self, name: str, north_m: float, east_m: float, yaw_deg: float) -> GzPose:
        quat = quat_from_euler(0.0, 0.0, math.radians(yaw_deg))
        height_m = self._height_m(north_m, east_m) + _DROP_M
        return GzPose(name, (east_m, north_m, height_m), quat_enu_flu_from_ned_frd(quat))

    def spawn(self, config: VehicleConfig) -> None:
        """Have a vehicle put into the world with its next step."""
        pose = config.pose
        place = self._pose("", pose.north_m, pose.east_m, pose.yaw_deg)
        self.control().spawn(self._model_sdf(config), config.label, place, wait=False)

    def remove(self, label: str) -> None:
        """Have a vehicle taken out of the world with its next step."""
        self.control().remove(label, wait=False)

    def move(self, label: str, north_m: float, east_m: float, yaw_deg: float) -> None:
        """Have a vehicle put somewhere else with the next step."""
        self.control().set_pose(self._pose(label, north_m, east_m, yaw_deg), wait=False)

    def replace_sensors(self, records: Mapping[int, SensorData]) -> Mapping[int, SensorData]:
        """The records with Gazebo's own samples, if those are wanted."""
        return records if self._sensors is None else self._sensors.replace(records)

    def close(self) -> None:
        """Let go of the world; harmless when called twice."""
        self._sensors = None
        if self._control is not None:
            self._control.close()
        self._control = None
