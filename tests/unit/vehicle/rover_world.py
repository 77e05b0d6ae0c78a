"""A tiny world for the autopilot alone: one rover on a plane, with simple sensors.

It shares no code with the simulator, so that the autopilot is tested against a second opinion.
"""

from __future__ import annotations

import math
import random

from pico_gz.core.ground_control import MissionItem, MissionType
from pico_gz.core.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    GpsData,
    GpsFixType,
    ImuData,
    SensorData,
)
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.vehicle.autopilot.parameters import preset_params
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot
from pico_gz.vehicle.platform.platform import SitlPlatform

LAT_DEG, LON_DEG, ALT_M = 35.681236, 139.767125, 40.0
STEP_US = 10_000
_M_PER_DEG_LAT = 110_949.0
_M_PER_DEG_LON = 90_530.0
_DECLINATION_RAD = math.radians(-8.0)
_DIP_RAD = math.radians(49.1)
_FIELD_GAUSS = 0.468
_G = 9.80665


def e7_of(north_m: float, east_m: float) -> tuple[int, int]:
    """Place of a point of the plane."""
    return (
        round((LAT_DEG + north_m / _M_PER_DEG_LAT) * 1e7),
        round((LON_DEG + east_m / _M_PER_DEG_LON) * 1e7),
    )


def waypoints(*points: tuple[float, float], **params: float) -> list[MissionItem]:
    """A mission with home as item 0 and these points."""
    lat_e7, lon_e7 = e7_of(0.0, 0.0)
    items = [MissionItem(seq=0, command=16, frame=0, lat_e7=lat_e7, lon_e7=lon_e7)]
    for north_m, east_m in points:
        lat_e7, lon_e7 = e7_of(north_m, east_m)
        items.append(
            MissionItem(seq=len(items), command=16, lat_e7=lat_e7, lon_e7=lon_e7, **params)
        )
    return items


class World:
    """One rover, its sensors and its autopilot, stepped together."""

    def __init__(
        self,
        preset: str = "pico_trail_freenove",
        *,
        noise: float = 0.0,
        seed: int = 1,
        encoders: bool = True,
        yaw_deg: float = 0.0,
        params: dict[str, float] | None = None,
        **kwargs: object,
    ) -> None:
        self.skid = "ackermann" not in preset
        drive = DriveKind.SKID if self.skid else DriveKind.ACKERMANN
        self.platform = SitlPlatform(1, drive=drive)
        self.autopilot = RoverAutopilot(
            {**preset_params(preset), **(params or {})}, drive=drive, **kwargs
        )
        self.autopilot.start(self.platform)
        self.noise = noise
        self.random = random.Random(seed)
        self.with_encoders = encoders
        self.gyro_bias = 0.02 * noise * self.random.gauss(0.0, 1.0)
        self.accel_bias = 0.15 * noise * self.random.gauss(0.0, 1.0)
        self.gps_n = self.gps_e = 0.0
        self.north = self.east = self.speed = self.rate = self.steer = 0.0
        self.yaw = math.radians(yaw_deg)
        self.wheel = [0.0, 0.0]
        self.turned = [0.0, 0.0]
        self.past: list[tuple[float, float, float, float]] = []
        self.time_us = 0
        self.gps_on = True
        self.compass_on = True
        self.fix_type = GpsFixType.FIX_3D
        self.voltage = 7.6
        self.texts: list[str] = []
        self.stuck = False
        self.gyro_dead = self.accel_dead = False

    # --- stepping -------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Step for so long."""
        for _ in range(round(seconds * 1e6 / STEP_US)):
            self.step()

    def run_until(self, condition, timeout_s: float) -> bool:
        """Step until a condition holds; false when it never does."""
        for _ in range(round(timeout_s * 1e6 / STEP_US)):
            self.step()
            if condition():
                return True
        return False

    def step(self) -> None:
        commands = self.platform.collect_actuator_commands()
        speed_before = self.speed
        self._move(commands, STEP_US * 1e-6)
        self.time_us += STEP_US
        self.platform.inject_sensors(self._sense((self.speed - speed_before) / (STEP_US * 1e-6)))
        if self.time_us % self.autopilot.period_us == 0:
            self.autopilot.tick(self.time_us)
            self.hear()

    def hear(self) -> None:
        """Note what the autopilot says."""
        self.texts += [text.text for text in self.autopilot.drain_texts()]

    def _move(self, commands, dt: float) -> None:
        if self.skid:
            targets = [_dead(u) for u in commands.motors]
            for side in (0, 1):
                self.wheel[side] += (targets[side] - self.wheel[side]) * dt / (0.1 + dt)
            self.speed = 0.5 * (self.wheel[0] + self.wheel[1])
            self.rate = (self.wheel[0] - self.wheel[1]) / 0.24
        else:
            target = _dead(commands.motors[0])
            self.speed += (target - self.speed) * dt / (0.15 + dt)
            want = commands.servos[0] * math.radians(30.0)
            self.steer += max(-5.8 * dt, min(5.8 * dt, want - self.steer))
            self.rate = self.speed * math.tan(self.steer) / 0.17
            self.wheel = [self.speed, self.speed]
        if self.stuck:
            self.speed = self.rate = 0.0
        half = 0.5 * self.rate * dt
        self.north += self.speed * dt * math.cos(self.yaw + half)
        self.east += self.speed * dt * math.sin(self.yaw + half)
        self.yaw += self.rate * dt
        for side in (0, 1):
            self.turned[side] += self.wheel[side] * dt / 0.033

    def _sense(self, accel: float) -> SensorData:
        gauss, noise = self.random.gauss, self.noise
        imu = ImuData(
            (
                accel + self.accel_bias + noise * gauss(0, 0.1),
                self.speed * self.rate + noise * gauss(0, 0.1),
                -_G + noise * gauss(0, 0.1),
            ),
            (
                0.5 * self.gyro_bias + noise * gauss(0, 0.005),
                -0.7 * self.gyro_bias + noise * gauss(0, 0.005),
                self.rate + self.gyro_bias + noise * gauss(0, 0.01),
            ),
        )
        if self.gyro_dead:
            imu = ImuData(imu.accel_mss, (0.0, 0.0, 0.0))
        if self.accel_dead:
            imu = ImuData((0.0, 0.0, 0.0), imu.gyro_rads)
        tick = self.time_us // STEP_US
        return SensorData(
            timestamp_us=self.time_us,
            vehicle_id=1,
            imu=imu,
            gps=self._gps(tick),
            compass=self._compass() if tick % 2 == 0 and self.compass_on else None,
            barometer=BarometerData(100_845.0 + noise * gauss(0, 1.0)) if tick % 4 == 0 else None,
            encoders=self._encoders() if self.with_encoders else None,
            battery=BatteryData(self.voltage, 0.8) if tick % 10 == 0 else None,
        )

    def _gps(self, tick: int) -> GpsData | None:
        self.past.append((self.north, self.east, self.speed, self.yaw))
        if len(self.past) > 11:
            self.past.pop(0)
        if tick % 20 != 0 or not self.gps_on:
            return None
        gauss, noise = self.random.gauss, self.noise
        phi = math.exp(-0.2 / 120.0)
        self.gps_n = phi * self.gps_n + noise * 0.35 * math.sqrt(1 - phi * phi) * gauss(0, 1)
        self.gps_e = phi * self.gps_e + noise * 0.35 * math.sqrt(1 - phi * phi) * gauss(0, 1)
        north, east, speed, yaw = self.past[0]
        vel_n = speed * math.cos(yaw) + noise * gauss(0, 0.05)
        vel_e = speed * math.sin(yaw) + noise * gauss(0, 0.05)
        return GpsData(
            lat_deg=LAT_DEG + (north + self.gps_n + noise * gauss(0, 0.15)) / _M_PER_DEG_LAT,
            lon_deg=LON_DEG + (east + self.gps_e + noise * gauss(0, 0.15)) / _M_PER_DEG_LON,
            alt_m=ALT_M + noise * gauss(0, 0.3),
            speed_ms=math.hypot(vel_n, vel_e),
            course_deg=math.degrees(math.atan2(vel_e, vel_n)) % 360.0,
            velocity_ned_mps=(vel_n, vel_e, 0.0),
            fix_type=self.fix_type,
        )

    def _compass(self) -> CompassData:
        gauss, noise = self.random.gauss, self.noise
        flat = _FIELD_GAUSS * math.cos(_DIP_RAD)
        angle = _DECLINATION_RAD - self.yaw
        return CompassData(
            (
                flat * math.cos(angle) + noise * gauss(0, 0.003),
                flat * math.sin(angle) + noise * gauss(0, 0.003),
                _FIELD_GAUSS * math.sin(_DIP_RAD) + noise * gauss(0, 0.003),
            )
        )

    def _encoders(self) -> EncoderData:
        left, right = (math.floor(20 * angle / (2 * math.pi)) for angle in self.turned)
        return EncoderData((left, right), 20)

    # --- short cuts -----------------------------------------------------------------------

    def ready(self) -> World:
        """Wait for a position, then arm."""
        self.run(3.0)
        assert self.autopilot.arm() == 0, self.texts
        return self

    def drive_mission(self, items: list[MissionItem], timeout_s: float) -> bool:
        """Upload, arm, AUTO; true when the mission gets done."""
        self.ready()
        assert self.autopilot.missions.replace(MissionType.MISSION, items) == 0
        assert self.autopilot.set_mode(10) == 0, self.texts
        return self.run_until(lambda: self.autopilot.status().done, timeout_s)

    @property
    def estimator(self):
        return self.autopilot._rover.estimator


def _dead(u: float) -> float:
    """Motors ignore commands below 5 %."""
    return 0.0 if abs(u) < 0.05 else math.copysign((abs(u) - 0.05) / 0.95, u)
