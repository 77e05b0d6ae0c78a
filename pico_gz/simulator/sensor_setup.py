"""Which sensors a vehicle carries and how accurate they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import msgspec

from pico_gz.core.rover_spec import FittedSensors, NotNegative, Rate, RoverSpec, limit_problems
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
        min_m: and ``max_m``: what it can measure.
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


class SensorSetup(FittedSensors, frozen=True, kw_only=True):
    """Everything the sensor models need to know about one vehicle; a part "" is not fitted.

    Attributes:
        vehicle_id: keys all random draws.
        noise: multiplies every sigma and bias; ``off`` also switches quantisation off.
        vibration: factor on the shaking caused by the drive.
        battery: ``None`` = no battery sensor, rated voltage.
        rangefinders: in the order of ``SensorData.rangefinders``.
    """

    vehicle_id: int
    noise: NoiseProfile = NoiseProfile.TYPICAL
    encoder_rate_hz: Rate = 0.0
    battery_rate_hz: Rate = 10.0
    vibration: NotNegative = 1.0
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
        problems = limit_problems(self)
        if problems:
            raise ConfigError(f"Vehicle {self.vehicle_id}: {'; '.join(problems)}.")

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
        changes: fields of ``SensorSetup`` to replace, such as ``vibration``.
    """
    setup = SensorSetup(
        **{name: getattr(spec, name) for name in FittedSensors.__struct_fields__},
        vehicle_id=vehicle_id,
        noise=NoiseProfile.OFF if spec.noise_free else noise,
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
    return msgspec.structs.replace(setup, **changes) if changes else setup
