"""Attitude of an aircraft from gyro, accelerometer, GPS velocity and compass.

The gyro is integrated. What the accelerometers feel, minus the acceleration that the GPS shows,
is gravity: that levels the attitude in turns, too. The compass holds the heading.
"""

from __future__ import annotations

import math
from typing import ClassVar, Final

from pico_gz.core.frames import (
    Quaternion,
    Vector3,
    euler_from_quat,
    quat_conjugate,
    quat_from_euler,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    wrap_pi,
)
from pico_gz.core.messages import CompassData, ImuData
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S

# Share of an error that is corrected per second; slow, because fixes are late and noisy.
LEVEL_PS: Final = 0.15
HEADING_PS: Final = 0.5
BIAS_PS2: Final = 0.004
# Longer gaps between samples are not integrated: the sensor has failed meanwhile.
_MAX_GAP_S: Final = 0.1


class AttitudeEstimate(Snapshot):
    """Keeps roll, pitch, yaw and turn rates.

    Attributes:
        rates_frd_radps: of the body, without the gyro's bias.
        declination_rad: from the compass's north to true north, as far as it is known.
    """

    _state_fields: ClassVar[tuple[str, ...]] = (
        "declination_rad", "rates_frd_radps", "_bias", "_correction", "_count", "_force",
        "_gyro", "_last_us", "_quat", "_velocity",
    )  # fmt: skip

    def __init__(self) -> None:
        self.rates_frd_radps: Vector3 = (0.0, 0.0, 0.0)
        self.declination_rad = 0.0
        self._quat: Quaternion = (1.0, 0.0, 0.0, 0.0)
        self._bias = [0.0, 0.0, 0.0]
        self._correction = [0.0, 0.0, 0.0]  # NED [rad/s]
        self._force = [0.0, 0.0, 0.0]
        self._gyro = [0.0, 0.0, 0.0]
        self._count = 0
        self._last_us = -1
        self._velocity: list[float] = []

    def euler_rad(self) -> Vector3:
        """Roll, pitch and yaw."""
        return euler_from_quat(self._quat)

    def learn(self, data: ImuData) -> None:
        """Take a sample at rest, or in level flight: the mean gives the gyro's bias."""
        self._gyro = [a + b for a, b in zip(self._gyro, data.gyro_rads, strict=True)]
        self._force = [a + b for a, b in zip(self._force, data.accel_mss, strict=True)]
        self._count += 1

    def begin(self, compass: CompassData | None) -> bool:
        """Set bias and attitude from what was learned; false without samples."""
        if not self._count or compass is None:
            return False
        self._bias = [total / self._count for total in self._gyro]
        x, y, z = self._force
        roll = math.atan2(-y, -z)
        pitch = math.atan2(x, math.hypot(y, z))
        level = quat_rotate(quat_from_euler(roll, pitch, 0.0), compass.mag_gauss)
        self._quat = quat_from_euler(roll, pitch, -math.atan2(level[1], level[0]))
        self._clear_force()
        return True

    def set_heading(self, error_rad: float) -> None:
        """Turn the estimate about the vertical; from then on the compass is that much off."""
        self.declination_rad = wrap_pi(self.declination_rad + error_rad)
        self._turn((0.0, 0.0, error_rad))

    def update(self, time_us: int, data: ImuData) -> None:
        """Take an IMU sample."""
        dt_s = (time_us - self._last_us) / US_PER_S if self._last_us >= 0 else 0.0
        self._last_us = time_us
        wx, wy, wz = (w - b for w, b in zip(data.gyro_rads, self._bias, strict=True))
        self.rates_frd_radps = (wx, wy, wz)
        if dt_s > _MAX_GAP_S:
            return
        half = 0.5 * dt_s
        self._quat = quat_multiply(self._quat, (1.0, wx * half, wy * half, wz * half))
        x, y, z = self._correction
        self._turn((x * dt_s, y * dt_s, z * dt_s))
        felt = quat_rotate(self._quat, data.accel_mss)
        self._force = [a + b for a, b in zip(self._force, felt, strict=True)]
        self._count += 1

    def see_compass(self, data: CompassData) -> None:
        """Hold the heading by the compass."""
        north, east, _ = quat_rotate(self._quat, data.mag_gauss)
        self._correction[2] = HEADING_PS * wrap_pi(self.declination_rad - math.atan2(east, north))

    def see_velocity(self, velocity_ned_mps: Vector3, dt_s: float) -> None:
        """Level the attitude by the velocity of a fix, ``dt_s`` after the one before."""
        before, self._velocity = self._velocity, list(velocity_ned_mps)
        if not before or not self._count or not 0.0 < dt_s < 1.0:
            self._clear_force()
            return
        expected = [(now - then) / dt_s for now, then in zip(self._velocity, before, strict=True)]
        expected[2] -= GRAVITY_MPS2
        felt = [part / self._count for part in self._force]
        self._clear_force()
        size = math.hypot(*expected) * math.hypot(*felt)
        if size < 1.0:
            return
        north = (felt[1] * expected[2] - felt[2] * expected[1]) / size
        east = (felt[2] * expected[0] - felt[0] * expected[2]) / size
        self._correction[:2] = [LEVEL_PS * north, LEVEL_PS * east]
        drift = quat_rotate(quat_conjugate(self._quat), (north, east, 0.0))
        self._bias = [b - BIAS_PS2 * d * dt_s for b, d in zip(self._bias, drift, strict=True)]

    def _clear_force(self) -> None:
        self._force, self._count = [0.0, 0.0, 0.0], 0

    def _turn(self, by_ned_rad: Vector3) -> None:
        x, y, z = by_ned_rad
        self._quat = quat_normalize(quat_multiply((1.0, 0.5 * x, 0.5 * y, 0.5 * z), self._quat))
