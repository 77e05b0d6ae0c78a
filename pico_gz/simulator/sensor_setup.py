"""Which sensors a vehicle carries and how accurate they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import US_PER_S
from pico_gz.core.vehicle_config import NoiseProfile, VehicleId
from pico_gz.errors import ConfigError
from pico_gz.simulator.sensor_parts import (
    BAROMETER_PARTS,
    COMPASS_PARTS,
    GPS_PARTS,
    IMU_PARTS,
    find_part,
)

NOMINAL_CELL_V = 3.7
_NOT_NEGATIVE = (
    "accel_noise_mss",
    "gyro_noise_rads",
    "gps_noise_m",
    "compass_noise_rad",
    "vibration",
    "gps_latency_ms",
    "gps_first_fix_s",
    "encoder_ticks",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatterySetup:
    """A lithium battery and what the motors draw from it.

    Attributes:
        cells: in series.
        capacity_ah: charge when full [Ah].
        resistance_ohm: inner resistance of the pack.
        idle_a: drawn by the electronics.
        run_a: drawn by each motor at full command, unloaded; ``stall_a`` when blocked.
        initial_soc: charge at the start, 0..1.
        nominal_v: voltage at which the motors reach their rated speed; 0 = 3.7 V per cell.
        ideal: constant nominal voltage; current and charge are still counted.
    """

    cells: int = 2
    capacity_ah: float = 2.0
    resistance_ohm: float = 0.1
    idle_a: float = 0.15
    run_a: float = 0.5
    stall_a: float = 2.5
    initial_soc: float = 1.0
    nominal_v: float = 0.0
    ideal: bool = False

    def __post_init__(self) -> None:
        """Refuse impossible batteries."""
        if self.cells < 1 or not self.capacity_ah > 0.0 or not self.resistance_ohm >= 0.0:
            raise ConfigError(f"A battery needs cells, capacity and no negative resistance: {self}")
        if not 0.0 <= self.initial_soc <= 1.0:
            raise ConfigError(f"Battery charge {self.initial_soc} is outside 0..1.")

    @property
    def rated_v(self) -> float:
        """The nominal voltage [V]."""
        return self.nominal_v or NOMINAL_CELL_V * self.cells


@dataclass(frozen=True, slots=True, kw_only=True)
class RangefinderSetup:
    """A distance sensor; the defaults are an HC-SR04.

    Attributes:
        bearing_deg: where it looks, clockwise from the bow.
        min_m: and ``max_m``: what it can tell.
        beam_deg: full width of its cone; 0 = a single ray.
        white_m: noise per sample, plus ``relative`` times the distance.
    """

    bearing_deg: float = 0.0
    min_m: float = 0.02
    max_m: float = 4.0
    beam_deg: float = 15.0
    white_m: float = 0.003
    relative: float = 0.01

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        if not 0.0 <= self.min_m < self.max_m < 1.0e6:
            raise ConfigError(f"Rangefinder range {self.min_m}..{self.max_m} m is empty.")
        if not isfinite(self.bearing_deg) or not 0.0 <= self.beam_deg <= 90.0:
            raise ConfigError(f"Rangefinder direction is impossible: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorSetup:
    """Everything the sensor models need to know about one vehicle.

    Part names are those of ``parts.py``; an empty name means "not fitted". Rates are in hertz,
    0 means every step; a rate above the step rate gives one sample per step.

    Attributes:
        vehicle_id: keys all random draws.
        noise: multiplies every sigma and bias; ``off`` also switches quantisation off.
        accel_noise_mss: and ``gyro_noise_rads``: white noise per sample instead of the part's.
        gps_noise_m: white position noise instead of the part's position errors.
        compass_noise_rad: white heading noise instead of the part's.
        imu_position_frd_m: where the IMU sits, from the vehicle's reference point.
        vibration: factor on the shaking caused by the drive.
        gps_latency_ms: age of a fix when it is delivered.
        gps_first_fix_s: time from power-on to the first fix.
        compass_calibrated: hard and soft iron removed.
        encoder_ticks: per wheel turn, 0 = no encoders.
        encoder_miss: probability that a tick is missed.
        battery: ``None`` = no battery sensor, rated voltage.
        rangefinders: in the order of ``SensorData.rangefinders``.
    """

    vehicle_id: int
    noise: NoiseProfile = NoiseProfile.TYPICAL
    imu: str = "icm20948"
    gps: str = "standard"
    compass: str = "qmc5883l"
    barometer: str = "bmp280"
    imu_rate_hz: float = 100.0
    gps_rate_hz: float = 5.0
    compass_rate_hz: float = 50.0
    barometer_rate_hz: float = 25.0
    encoder_rate_hz: float = 0.0
    battery_rate_hz: float = 10.0
    range_rate_hz: float = 20.0
    accel_noise_mss: float | None = None
    gyro_noise_rads: float | None = None
    gps_noise_m: float | None = None
    compass_noise_rad: float | None = None
    imu_position_frd_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    vibration: float = 1.0
    gps_latency_ms: float = 100.0
    gps_first_fix_s: float = 0.0
    compass_calibrated: bool = True
    encoder_ticks: int = 20
    encoder_miss: float = 0.0
    battery: BatterySetup | None = BatterySetup()
    rangefinders: tuple[RangefinderSetup, ...] = ()

    def __post_init__(self) -> None:
        """Check every name and number.

        Raises:
            ConfigError: a part is unknown or a figure is impossible.
        """
        VehicleId(self.vehicle_id)
        for table, name, kind in (
            (IMU_PARTS, self.imu, "IMU"),
            (GPS_PARTS, self.gps, "GPS receiver"),
            (COMPASS_PARTS, self.compass, "compass"),
            (BAROMETER_PARTS, self.barometer, "barometer"),
        ):
            if name:
                find_part(table, name, kind)
        for name in ("imu", "gps", "compass", "barometer", "encoder", "battery", "range"):
            _check_rate(f"{name}_rate_hz", getattr(self, f"{name}_rate_hz"))
        for name in _NOT_NEGATIVE:
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < 1.0e9:
                raise ConfigError(f"Vehicle {self.vehicle_id}: {name} = {value} is impossible.")
        if not 0.0 <= self.encoder_miss <= 1.0:
            raise ConfigError(f"Encoder miss probability {self.encoder_miss} is outside 0..1.")

    def carries(self, field: str) -> bool:
        """Whether there is a sensor for this field of ``SensorData``."""
        fitted = {"encoders": self.encoder_ticks, "battery": self.battery is not None}
        return bool(fitted[field] if field in fitted else getattr(self, field))

    @property
    def group_key(self) -> tuple[object, ...]:
        """What vehicles of one ``SensorSuite`` must have in common: sensors fitted and rates."""
        return (
            bool(self.imu) and self.imu_rate_hz,
            bool(self.gps) and (self.gps_rate_hz, self.gps_latency_ms),
            bool(self.compass) and self.compass_rate_hz,
            bool(self.barometer) and self.barometer_rate_hz,
            self.encoder_ticks > 0 and self.encoder_rate_hz,
            self.battery is not None and self.battery_rate_hz,
            self.rangefinders != () and (len(self.rangefinders), self.range_rate_hz),
        )


def period_us_of_rate(rate_hz: float) -> int:
    """Return the time between samples; 0 = every step [us]."""
    return round(US_PER_S / rate_hz) if rate_hz > 0.0 else 0


def _check_rate(name: str, rate_hz: float) -> None:
    if not 0.0 <= rate_hz <= 1.0e5:
        raise ConfigError(f"{name} = {rate_hz} is not a rate between 0 (every step) and 100 kHz.")


FULL_CELL_V = 4.17


def fit_sensors(
    spec: RoverSpec,
    vehicle_id: int,
    noise: NoiseProfile = NoiseProfile.TYPICAL,
    changes: Mapping[str, Any] | None = None,
) -> SensorSetup:
    """Return the sensors of one rover.

    Args:
        spec: the rover.
        vehicle_id: whose sensors they are.
        noise: how bad they are; a ``noise_free`` rover has perfect ones.
        changes: fields of ``SensorSetup`` to replace, such as ``gps_rate_hz``.
    """
    setup = SensorSetup(
        vehicle_id=vehicle_id,
        noise=NoiseProfile.OFF if spec.noise_free else noise,
        imu=spec.imu,
        gps=spec.gps,
        compass=spec.compass,
        barometer=spec.barometer,
        imu_rate_hz=spec.imu_rate_hz,
        compass_rate_hz=spec.compass_rate_hz,
        barometer_rate_hz=spec.barometer_rate_hz,
        range_rate_hz=spec.range_rate_hz,
        imu_position_frd_m=spec.imu_position_frd_m,
        gps_latency_ms=spec.gps_latency_ms,
        gps_first_fix_s=spec.gps_first_fix_s,
        compass_calibrated=spec.compass_calibrated,
        encoder_ticks=spec.encoder_ticks,
        encoder_miss=spec.encoder_miss,
        battery=BatterySetup(
            cells=spec.battery_cells,
            capacity_ah=spec.battery_capacity_ah,
            resistance_ohm=spec.battery_ohm,
            idle_a=spec.idle_a,
            run_a=spec.run_a,
            stall_a=spec.stall_a,
            # ``max_speed`` is that of a full battery; from there it only gets slower.
            nominal_v=FULL_CELL_V * spec.battery_cells,
            ideal=spec.noise_free,
        ),
        rangefinders=tuple(
            RangefinderSetup(
                bearing_deg=bearing,
                min_m=spec.range_min_m,
                max_m=spec.range_max_m,
                beam_deg=spec.range_beam_deg,
            )
            for bearing in spec.rangefinders_deg
        ),
    )
    return replace(setup, **changes) if changes else setup
