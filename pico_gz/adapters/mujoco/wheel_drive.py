"""From commands to wheel speeds and steering angles.

Motors, controller and battery are the drive model of the rover description, the same as in
Lightweight: deadband, lag, limits, what a slope and wind take from the motors. It gives the speed
and yaw rate that the rover is to have; the wheels turn as fast as that needs on ground that
grips, and MuJoCo's contacts decide what becomes of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from pico_gz.adapters.mujoco.rover_mjcf import SERVO_SAG_S, skid_half_track_m
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.simulator.drive_model import DriveModel
from pico_gz.simulator.steering import AckermannDrive
from pico_gz.simulator.world import AIR_DENSITY_KGPM3

# Slower than this a curvature is not known from speed and yaw rate [m/s].
_SLOW_MPS: Final = 0.01


class WheelDrive:
    """The motors of one rover.

    Attributes:
        commands: (left, right) or (throttle, steering), each in -1..1.
        is_skid: it is the former.
        battery_scaling: the battery's voltage matters.
    """

    __slots__ = (
        "_corners", "_curvature", "_drive", "_dt_us", "_half_track_m", "_memory", "_per_m",
        "_yaw_radps", "battery_scaling", "commands", "drag_gain", "is_skid", "spec",
    )  # fmt: skip

    def __init__(self, spec: RoverSpec, drive: DriveModel) -> None:
        self.spec = spec
        self.commands = (0.0, 0.0)
        self.battery_scaling = spec.battery_scaling
        self.drag_gain = 0.5 * AIR_DENSITY_KGPM3 * spec.drag_area_m2
        self._drive = drive
        self._dt_us = 0
        self.is_skid = spec.drive is DriveKind.SKID
        self._half_track_m = skid_half_track_m(spec)
        self._per_m = 1.0 / spec.wheel_radius_m
        half_m, base_m = 0.5 * spec.track_m, spec.axle_distance_m
        # Ahead of the rear axle, to the right.
        self._corners = ((base_m, -half_m), (base_m, half_m), (0.0, -half_m), (0.0, half_m))
        self._curvature = 0.0
        self.move_at(0.0)

    def move_at(self, speed_mps: float) -> None:
        """Go straight on at a speed."""
        self._memory = self._drive.moving(speed_mps)
        self._yaw_radps = self._curvature = 0.0

    def advance(
        self, dt_us: int, commands: tuple[float, float], battery_ratio: float, push: float | None
    ) -> tuple[float, ...]:
        """The controls at the end of a step; arguments as of ``DriveModel.advance``."""
        if dt_us != self._dt_us:
            self._dt_us = dt_us
            self._drive.prepare(dt_us)
        travel = self._drive.advance(self._memory, self._yaw_radps, commands, battery_ratio, push)
        self._memory = travel.memory
        self._yaw_radps = yaw = travel.yaw_radps
        speed = travel.speed_mps
        if push is not None:
            speed -= push * SERVO_SAG_S
        if self.is_skid:
            left = (speed + yaw * self._half_track_m) * self._per_m
            right = (speed - yaw * self._half_track_m) * self._per_m
            return left, right, left, right
        return self._steered(speed, yaw)

    def _steered(self, speed: float, yaw: float) -> tuple[float, ...]:
        """Every wheel rolls about the same centre; a joint about the upward axis turns left."""
        if abs(speed) > _SLOW_MPS:
            self._curvature = yaw / speed
        elif isinstance(self._drive, AckermannDrive):
            self._curvature = math.tan(self._memory[1]) / self.spec.wheel_base
        curve = self._curvature
        turns, angles = [], []
        for ahead_m, right_m in self._corners:
            along, across = 1.0 - curve * right_m, curve * ahead_m
            turns.append(speed * self._per_m * math.copysign(math.hypot(along, across), along))
            angles.append(-math.atan2(across, along))
        return (*turns, angles[0], angles[1])

    def drag(self, speed_mps: float, air_mps: float) -> float:
        """What the air adds along the body's x axis [m/s^2].

        Args:
            speed_mps: forward speed.
            air_mps: wind along the body.

        A driven rover's top speed was measured in still air: its motors make up for that much.
        """
        relative = air_mps - speed_mps
        force = relative * abs(relative)
        if any(abs(one) > self.spec.deadband for one in self.commands[: 1 + self.is_skid]):
            most = self.spec.max_speed
            paid = max(-most, min(most, speed_mps))
            force += paid * abs(paid)
        return force * self.drag_gain / self.spec.mass_kg

    def save(self) -> dict[str, Any]:
        """The state as plain values."""
        return {
            "memory": list(self._memory),
            "yaw": self._yaw_radps,
            "curvature": self._curvature,
            "commands": list(self.commands),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save`` gave."""
        self._memory = tuple(state["memory"])
        self._yaw_radps, self._curvature = state["yaw"], state["curvature"]
        first, second = state["commands"]
        self.commands = (first, second)
