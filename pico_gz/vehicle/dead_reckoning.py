"""Heading and distance for scripted drivers, from sensors alone."""

from __future__ import annotations

import math
from typing import ClassVar

from pico_gz.core.messages import CompassData, GpsFixType
from pico_gz.core.portable_math import atan2
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import US_PER_S
from pico_gz.vehicle.platform.platform import SitlPlatform
from pico_gz.vehicle.platform.sensor_inputs import ImuSample

# The gyro is trusted over seconds, the compass (motor fields, noise) only over this time.
COMPASS_TIME_S = 10.0
# A gap in the IMU samples is bridged by no more than this.
MAX_IMU_GAP_S = 0.1


class HeadingEstimate(Snapshot):
    """Turned angle since the start [rad], right positive, counting whole turns.

    While the vehicle stands, ``level`` learns the gyro's bias and the compass direction that
    counts as 0. On flat ground with sensors in body axes (FRD) only.

    Attributes:
        angle_rad: turned so far.
        rate_radps: turning now.
        source_count: samples that have arrived; 0 means that there is nothing to steer by.
    """

    _state_fields: ClassVar[tuple[str, ...]] = (
        "angle_rad",
        "rate_radps",
        "source_count",
        "_bias_radps",
        "_bias_samples",
        "_mag_x",
        "_mag_y",
        "_imu_us",
        "_compass_us",
    )

    def __init__(self) -> None:
        self.angle_rad = 0.0
        self.rate_radps = 0.0
        self.source_count = 0
        self._bias_radps = 0.0
        self._bias_samples = 0
        # Sum of the horizontal field while standing: its direction is the zero.
        self._mag_x = 0.0
        self._mag_y = 0.0
        self._imu_us = -1
        self._compass_us = -1

    def level(self, platform: SitlPlatform) -> None:
        """Learn from the new samples; the vehicle stands."""
        for time_us, imu in platform.read_body_imu():
            self.source_count += 1
            self._bias_samples += 1
            self._bias_radps += (imu.gyro_rads[2] - self._bias_radps) / self._bias_samples
            self._imu_us = time_us
        compass = platform.read_body_compass()
        if compass is not None:
            self.source_count += 1
            self._mag_x += compass.mag_gauss[0]
            self._mag_y += compass.mag_gauss[1]
            self._compass_us = platform.timer.now_us()

    def update(self, platform: SitlPlatform) -> None:
        """Turn by the new samples."""
        for sample in platform.read_body_imu():
            self._turn(sample)
        compass = platform.read_body_compass()
        if compass is not None:
            self._pull(compass, platform.timer.now_us())

    def _turn(self, sample: ImuSample) -> None:
        time_us, imu = sample
        self.source_count += 1
        self.rate_radps = imu.gyro_rads[2] - self._bias_radps
        gap_s = (time_us - self._imu_us) / US_PER_S if self._imu_us >= 0 else 0.0
        self.angle_rad += self.rate_radps * min(gap_s, MAX_IMU_GAP_S)
        self._imu_us = time_us

    def _pull(self, compass: CompassData, now_us: int) -> None:
        self.source_count += 1
        x, y, _ = compass.mag_gauss
        if self._mag_x == 0.0 and self._mag_y == 0.0:
            self._mag_x, self._mag_y = x, y
        # Heading is atan2(-y, x); the angle between both fields, without either heading.
        turned_rad = atan2(self._mag_y * x - self._mag_x * y, self._mag_x * x + self._mag_y * y)
        error_rad = math.remainder(turned_rad - self.angle_rad, math.tau)
        gap_s = max(0, now_us - self._compass_us) / US_PER_S
        without_gyro = self._imu_us < 0
        self.angle_rad += error_rad * (1.0 if without_gyro else min(1.0, gap_s / COMPASS_TIME_S))
        self._compass_us = now_us


# What full throttle is taken for when there is no GPS.
ASSUMED_TOP_SPEED_MPS = 1.0


class Odometer(Snapshot):
    """Path length of the present leg [m].

    The first leg is measured by GPS speed, which also calibrates a wheel turn; later
    legs are measured by the encoders, so that equal legs come out equally long. Without
    encoders it is GPS speed throughout, and without GPS the commanded throttle.

    Attributes:
        distance_m: driven on this leg.
        speed_mps: newest speed over ground, ``None`` without a fix so far.
    """

    _state_fields: ClassVar[tuple[str, ...]] = (
        "distance_m",
        "speed_mps",
        "_turns",
        "_leg_turns",
        "_metres_per_turn",
    )

    def __init__(self) -> None:
        self.distance_m = 0.0
        self.speed_mps: float | None = None
        self._turns: float | None = None
        self._leg_turns: float | None = None
        self._metres_per_turn: float | None = None

    def begin_leg(self) -> None:
        """Count from here; what the finished leg taught about the wheels is kept."""
        driven_turns = self._driven_turns()
        if self._metres_per_turn is None and self.speed_mps is not None and driven_turns > 1.0:
            self._metres_per_turn = self.distance_m / driven_turns
        self.distance_m = 0.0
        self._leg_turns = self._turns

    def update(self, platform: SitlPlatform, throttle: float, dt_s: float) -> None:
        """Integrate the new samples, or the time that has passed."""
        self._read(platform)
        if self._metres_per_turn is not None:
            self.distance_m = self._driven_turns() * self._metres_per_turn
        elif throttle != 0.0:
            assumed_mps = abs(throttle) * ASSUMED_TOP_SPEED_MPS
            self.distance_m += (assumed_mps if self.speed_mps is None else self.speed_mps) * dt_s

    def _read(self, platform: SitlPlatform) -> None:
        gps = platform.read_gps()
        if gps is not None and gps.fix_type is not GpsFixType.NO_FIX:
            self.speed_mps = gps.speed_ms
        encoders = platform.read_encoders()
        if encoders is not None and encoders.ticks_per_turn > 0:
            self._turns = sum(encoders.ticks) / (2 * encoders.ticks_per_turn)
            if self._leg_turns is None:
                self._leg_turns = self._turns

    def _driven_turns(self) -> float:
        if self._turns is None or self._leg_turns is None:
            return 0.0
        return abs(self._turns - self._leg_turns)
