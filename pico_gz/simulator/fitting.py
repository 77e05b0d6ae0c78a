"""Which sensors a rover of a given description carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pico_gz.messages import NoiseProfile
from pico_gz.rover import RoverSpec
from pico_gz.simulator.sensors.setup import BatterySetup, RangefinderSetup, SensorSetup

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
