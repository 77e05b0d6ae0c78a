"""Rovers behind an FDM server, stepped by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pico_gz.core.frames import quat_rotate
from pico_gz.core.messages import ActuatorCommands, VehicleTruth
from pico_gz.core.units import seconds_from_us
from pico_gz.testing.twin_rover import TwinPose, TwinRover
from pico_gz.vehicle.external.fdm_server import FdmServer

_FULL_WHEEL_RADPS = 10.0


class FdmRig:
    """Steps a server and its rovers together.

    Attributes:
        time_us: simulation time.
        steps: made so far.
        commands: the newest command of every vehicle.
    """

    def __init__(
        self, server: FdmServer, *, step_us: int = 2000, poses: Sequence[TwinPose] = ()
    ) -> None:
        self.server = server
        self.time_us = 0
        self.steps = 0
        self.commands: dict[int, ActuatorCommands] = {}
        self.missing: tuple[int, ...] = ()
        self._step_us = step_us
        self._digest = hashlib.sha256()
        self._rovers = {
            vehicle_id: TwinRover(poses[i] if i < len(poses) else None)
            for i, vehicle_id in enumerate(server.vehicle_ids())
        }

    def rover(self, vehicle_id: int) -> TwinRover:
        """The rover of a vehicle."""
        return self._rovers[vehicle_id]

    def hand_over(self) -> None:
        """Give every vehicle the state of now."""
        self.server.hand_over({}, self.truth(), self.time_us)

    def collect(self, timeout_s: float) -> bool:
        """Take what the autopilots want; True when nobody is missing."""
        self.commands.update(self.server.collect(timeout_s))
        self.missing = self.server.unanswered()
        return not self.missing

    def advance(self) -> None:
        """Move all rovers by one step."""
        dt_s = seconds_from_us(self._step_us)
        for vehicle_id, rover in self._rovers.items():
            command = self.commands.get(vehicle_id)
            left, right = _wheels(command)
            rover.step(left * _FULL_WHEEL_RADPS, right * _FULL_WHEEL_RADPS, dt_s)
            self._digest.update(repr((vehicle_id, left, right, rover.position_ned_m)).encode())
        self.time_us += self._step_us
        self.steps += 1

    def step(self, timeout_s: float = 1.0) -> bool:
        """One whole step; True when every connected autopilot took part."""
        self.hand_over()
        complete = self.collect(timeout_s)
        self.advance()
        return complete

    def trace_sha256(self) -> str:
        """Digest of every step's commands and positions."""
        return self._digest.hexdigest()

    def truth(self) -> dict[int, VehicleTruth]:
        """Where the rovers are."""
        return {i: self._truth_of(i, rover) for i, rover in self._rovers.items()}

    def _truth_of(self, vehicle_id: int, rover: TwinRover) -> VehicleTruth:
        imu = rover.imu()
        north, east, down = rover.position_ned_m
        x, y, _ = imu.accel_frd_mps2
        quat = rover.quaternion()
        return VehicleTruth(
            timestamp_us=self.time_us,
            vehicle_id=vehicle_id,
            north_m=north,
            east_m=east,
            down_m=down,
            quat_wxyz=quat,
            velocity_ned_mps=rover.velocity_ned_mps,
            rates_frd_radps=imu.gyro_frd_radps,
            accel_ned_mps2=quat_rotate(quat, (x, y, 0.0)),
        )


def _wheels(command: ActuatorCommands | None) -> tuple[float, float]:
    """Wheel commands of either kind of drive; an Ackermann is steered like a skid here."""
    if command is None or not command.motors:
        return 0.0, 0.0
    if command.servos:
        throttle, steering = command.motors[0], command.servos[0]
        return throttle * (1.0 + 0.5 * steering), throttle * (1.0 - 0.5 * steering)
    return command.motors[0], command.motors[1]
