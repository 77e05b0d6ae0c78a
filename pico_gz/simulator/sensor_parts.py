"""The error figures of real sensor parts, by name.

Figures are one sigma unless said otherwise; where a data sheet only gives a limit, a third of
it is taken as sigma. ``simple`` parts have white noise alone, set by explicit figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pico_gz.core.messages import GpsFixType
from pico_gz.core.portable_math import RAD_PER_DEG
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.errors import ConfigError, did_you_mean

Part = TypeVar("Part")

_ICM_ACCEL_LSB = GRAVITY_MPS2 / 2048.0
_ICM_GYRO_LSB = RAD_PER_DEG * 2000.0 / 32768.0
_NO_LIMIT = 1.0e12


@dataclass(frozen=True, slots=True, kw_only=True)
class ImuPart:
    """An inertial sensor: accelerometer in m/s^2, gyro in rad/s.

    Attributes:
        accel_density: and ``gyro_density``: white noise per square root of hertz.
        accel_white: and ``gyro_white``: white noise per sample, whatever the rate.
        accel_walk: and ``gyro_walk``: bias random walk per square root of second.
        accel_turn_on: and ``gyro_turn_on``: bias drawn once per run.
        accel_per_c: and ``gyro_per_c``: bias per degree of warming up.
        scale: and ``cross``: relative scale error and axis cross-talk.
        accel_limit: and ``gyro_limit``: full scale.
        accel_lsb: and ``gyro_lsb``: resolution, 0 = continuous.
        vibration_mps2: (when moving, further at full throttle) amplitude of the shaking.
        vibration_radps: white gyro noise at full throttle.
        warm_up_c: how much warmer it gets than at power-on.
    """

    accel_density: float = 0.0
    gyro_density: float = 0.0
    accel_white: float = 0.0
    gyro_white: float = 0.0
    accel_walk: float = 0.0
    gyro_walk: float = 0.0
    accel_turn_on: float = 0.0
    gyro_turn_on: float = 0.0
    accel_per_c: float = 0.0
    gyro_per_c: float = 0.0
    scale: float = 0.0
    cross: float = 0.0
    accel_limit: float = _NO_LIMIT
    gyro_limit: float = _NO_LIMIT
    accel_lsb: float = 0.0
    gyro_lsb: float = 0.0
    vibration_mps2: tuple[float, float] = (0.0, 0.0)
    vibration_radps: float = 0.0
    warm_up_c: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpsPart:
    """A satellite receiver: horizontal figures per axis in metres and m/s.

    Attributes:
        drift_m: slow (Gauss-Markov) position error with time constant ``drift_s``.
        white_m: position noise per sample.
        bad: (drift, white) under the noise profile ``bad`` where it is not simply three times.
        vertical: how much worse the vertical is.
        velocity_drift_mps: slow velocity error with time constant ``velocity_drift_s``.
        velocity_white_mps: velocity noise per sample.
        satellites: fewest and most in view.
        fix_type: what it reports when all is well.
    """

    drift_m: float = 0.0
    drift_s: float = 120.0
    white_m: float = 0.0
    bad: tuple[float, float] | None = None
    vertical: float = 1.7
    velocity_drift_mps: float = 0.0
    velocity_drift_s: float = 5.0
    velocity_white_mps: float = 0.0
    satellites: tuple[int, int] = (12, 12)
    fix_type: GpsFixType = GpsFixType.FIX_3D


@dataclass(frozen=True, slots=True, kw_only=True)
class CompassPart:
    """A magnetometer, in gauss.

    Attributes:
        white: noise per sample.
        limit: full scale.
        lsb: resolution, 0 = continuous.
        motor_per_a: field of the motor leads per ampere.
        hard_iron: and ``soft_iron`` (relative): what is left in when nobody calibrated it.
    """

    white: float = 0.0
    limit: float = _NO_LIMIT
    lsb: float = 0.0
    motor_per_a: float = 0.0
    hard_iron: float = 0.0
    soft_iron: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BarometerPart:
    """A barometer, in pascals.

    Attributes:
        white: noise per sample.
        drift: slow (Gauss-Markov) error with time constant ``drift_s``.
        turn_on: offset drawn once per run.
        lsb: resolution, 0 = continuous.
    """

    white: float = 0.0
    drift: float = 0.0
    drift_s: float = 600.0
    turn_on: float = 0.0
    lsb: float = 0.0


IMU_PARTS: Mapping[str, ImuPart] = {
    "icm20948": ImuPart(
        accel_density=2.3e-3, gyro_density=2.6e-4, accel_walk=1.0e-4, gyro_walk=2.0e-6,
        accel_turn_on=0.15, gyro_turn_on=0.02, accel_per_c=2.6e-3, gyro_per_c=3.0e-4,
        scale=0.005, cross=0.005,
        accel_limit=32767.0 * _ICM_ACCEL_LSB, gyro_limit=32767.0 * _ICM_GYRO_LSB,
        accel_lsb=_ICM_ACCEL_LSB, gyro_lsb=_ICM_GYRO_LSB,
        vibration_mps2=(0.3, 1.2), vibration_radps=0.02, warm_up_c=20.0,
    ),
    "mpu6050": ImuPart(
        accel_density=3.9e-3, gyro_density=8.7e-5, accel_walk=2.0e-4, gyro_walk=4.0e-6,
        accel_turn_on=0.2, gyro_turn_on=0.12, accel_per_c=5.0e-3, gyro_per_c=1.0e-3,
        scale=0.01, cross=0.007,
        accel_limit=32767.0 * _ICM_ACCEL_LSB, gyro_limit=32767.0 * _ICM_GYRO_LSB,
        accel_lsb=_ICM_ACCEL_LSB, gyro_lsb=_ICM_GYRO_LSB,
        vibration_mps2=(0.3, 1.2), vibration_radps=0.02, warm_up_c=20.0,
    ),
    "simple": ImuPart(accel_white=0.1, gyro_white=0.01),
}  # fmt: skip

GPS_PARTS: Mapping[str, GpsPart] = {
    "standard": GpsPart(
        drift_m=0.35, white_m=0.15, bad=(1.2, 0.5),
        velocity_drift_mps=0.03, velocity_white_mps=0.05, satellites=(10, 14),
    ),
    "m8": GpsPart(
        drift_m=2.0, white_m=0.6,
        velocity_drift_mps=0.03, velocity_white_mps=0.05, satellites=(10, 14),
    ),
    "m10": GpsPart(
        drift_m=1.25, white_m=0.35,
        velocity_drift_mps=0.03, velocity_white_mps=0.05, satellites=(12, 18),
    ),
    "rtk": GpsPart(
        drift_m=0.01, white_m=0.01, velocity_drift_mps=0.01, velocity_white_mps=0.02,
        satellites=(18, 24), fix_type=GpsFixType.RTK_FIXED,
    ),
    "simple": GpsPart(white_m=0.5, vertical=1.0),
}  # fmt: skip

COMPASS_PARTS: Mapping[str, CompassPart] = {
    "qmc5883l": CompassPart(
        white=3.0e-3, limit=8.0, lsb=1.0 / 3000.0,
        motor_per_a=2.0e-3, hard_iron=0.15, soft_iron=0.05,
    ),
    "hmc5883l": CompassPart(
        white=2.0e-3, limit=1.3, lsb=1.0 / 1090.0,
        motor_per_a=2.0e-3, hard_iron=0.15, soft_iron=0.05,
    ),
    "ak09916": CompassPart(
        white=3.0e-3, limit=49.0, lsb=1.5e-3,
        motor_per_a=2.0e-3, hard_iron=0.15, soft_iron=0.05,
    ),
    "simple": CompassPart(),
}  # fmt: skip

BAROMETER_PARTS: Mapping[str, BarometerPart] = {
    "bmp280": BarometerPart(white=1.0, drift=10.0, turn_on=33.0, lsb=0.16),
    "bmp390": BarometerPart(white=0.2, drift=3.0, turn_on=17.0, lsb=0.016),
    "simple": BarometerPart(),
}


def find_part(table: Mapping[str, Part], name: str, kind: str) -> Part:
    """Return a part by name.

    Raises:
        ConfigError: there is none; the nearest names are offered.
    """
    try:
        return table[name]
    except KeyError:
        raise ConfigError(f"Unknown {kind} {name!r}.", hint=did_you_mean(name, table)) from None
