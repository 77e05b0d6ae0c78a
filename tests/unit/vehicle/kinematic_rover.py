"""A rover of a few lines, for driving what runs on a platform without a simulator."""

from __future__ import annotations

import math
import random

from pico_gz.core.autopilot import Autopilot
from pico_gz.core.messages import (
    ActuatorCommands,
    CompassData,
    EncoderData,
    GpsData,
    ImuData,
    SensorData,
)
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.vehicle.platform.platform import SitlPlatform

STEP_US = 10_000
STEP_S = STEP_US / 1e6
WHEEL_RADIUS_M = 0.033
TICKS_PER_TURN = 20
GPS_EVERY = 20
GPS_DELAY_STEPS = 10
FIELD_GAUSS = (0.307, 0.354)
DECLINATION_RAD = math.radians(-7.74)


class KinematicRover:
    """Moves by lagged wheel speeds, and measures with the errors of real parts."""

    def __init__(
        self,
        *,
        drive: DriveKind = DriveKind.SKID,
        top_speed_mps: float = 1.0,
        base_m: float = 0.24,
        lag_s: float = 0.1,
        deadband: float = 0.05,
        yaw_rad: float = 0.0,
        noisy: bool = True,
        missing: tuple[str, ...] = (),
    ) -> None:
        self.drive = drive
        self.top_speed_mps = top_speed_mps
        self.base_m = base_m
        self.lag_s = lag_s
        self.deadband = deadband
        self.north_m = self.east_m = 0.0
        self.yaw_rad = yaw_rad
        self.path: list[tuple[float, float]] = [(0.0, 0.0)]
        self.time_us = 0
        self._wheels_mps = [0.0, 0.0]
        self._wheels_m = [0.0, 0.0]
        self._speeds = [0.0] * (GPS_DELAY_STEPS + 1)
        self._steps = 0
        self._random = random.Random(5)
        self._noise = 1.0 if noisy else 0.0
        self._gyro_bias = 0.02 * self._noise
        self._missing = missing

    def step(self, commands: ActuatorCommands) -> SensorData:
        """Move for 10 ms and measure."""
        speed_mps, rate_radps = self._velocities(commands)
        middle = self.yaw_rad + rate_radps * STEP_S / 2
        self.north_m += speed_mps * STEP_S * math.cos(middle)
        self.east_m += speed_mps * STEP_S * math.sin(middle)
        self.yaw_rad += rate_radps * STEP_S
        self.path.append((self.north_m, self.east_m))
        self._speeds = [*self._speeds[1:], speed_mps]
        self._steps += 1
        self.time_us += STEP_US
        return self._measure(speed_mps, rate_radps)

    def _velocities(self, commands: ActuatorCommands) -> tuple[float, float]:
        skid = self.drive is DriveKind.SKID
        wanted = commands.motors if skid else (commands.motors[0],) * 2
        keep = math.exp(-STEP_S / self.lag_s)
        for side in (0, 1):
            u = wanted[side]
            size = max(0.0, abs(u) - self.deadband) / (1.0 - self.deadband)
            target = math.copysign(size, u) * self.top_speed_mps
            self._wheels_mps[side] = target + (self._wheels_mps[side] - target) * keep
            self._wheels_m[side] += self._wheels_mps[side] * STEP_S
        left, right = self._wheels_mps
        if skid:
            return (left + right) / 2, (left - right) / self.base_m
        steer_rad = math.radians(30.0) * commands.servos[0]
        return left, left * math.tan(steer_rad) / self.base_m

    def _measure(self, speed_mps: float, rate_radps: float) -> SensorData:
        gauss = self._random.gauss
        gyro_z = rate_radps + self._gyro_bias + self._noise * gauss(0.0, 2.6e-3)
        imu = ImuData((0.0, speed_mps * rate_radps, -9.80665), (0.0, 0.0, gyro_z))
        magnetic_rad = self.yaw_rad - DECLINATION_RAD
        horizontal, down = FIELD_GAUSS
        x = horizontal * math.cos(magnetic_rad) + self._noise * gauss(0.0, 0.003)
        y = -horizontal * math.sin(magnetic_rad) + self._noise * gauss(0.0, 0.003)
        gps = None
        if self._steps % GPS_EVERY == 0:
            heard = abs(self._speeds[0] + self._noise * (0.02 + gauss(0.0, 0.05)))
            gps = GpsData(lat_deg=35.0, lon_deg=139.0, alt_m=40.0, speed_ms=heard, course_deg=0.0)
        turns = [metres / (math.tau * WHEEL_RADIUS_M) for metres in self._wheels_m]
        ticks = (math.floor(turns[0] * TICKS_PER_TURN), math.floor(turns[1] * TICKS_PER_TURN))
        samples = {
            "imu": imu,
            "compass": CompassData((x, y, down)),
            "gps": gps,
            "encoders": EncoderData(ticks, TICKS_PER_TURN),
        }
        for name in self._missing:
            samples[name] = None
        return SensorData(timestamp_us=self.time_us, vehicle_id=1, **samples)


def drive(
    autopilot: Autopilot, platform: SitlPlatform, rover: KinematicRover, limit_s: float
) -> float:
    """Run the autopilot on the rover until it is done; return the time it took [s]."""
    begin_us = rover.time_us
    while not autopilot.status().done and rover.time_us - begin_us < limit_s * 1e6:
        platform.inject_sensors(rover.step(platform.collect_actuator_commands()))
        if rover.time_us % autopilot.period_us == 0:
            autopilot.tick(rover.time_us)
    return (rover.time_us - begin_us) / 1e6
