"""Compass, barometer and rangefinder: what surrounds a vehicle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pico_gz.core import portable_math
from pico_gz.core.messages import BarometerData, CompassData, RangefinderData
from pico_gz.core.portable_math import FLOATS, RAD_PER_DEG
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, any_of, column, gauss_markov, output_stage
from pico_gz.simulator.ops import SCALAR, Column, Ops
from pico_gz.simulator.random import NormalBlock, normal, stream_key, uniform
from pico_gz.simulator.sensor_parts import BAROMETER_PARTS, COMPASS_PARTS
from pico_gz.simulator.sensor_setup import SensorSetup, period_us_of_rate
from pico_gz.simulator.world import MagneticField

# Which draw fills which place of the symmetric soft-iron matrix.
_SOFT_IRON_DRAWS = ((0, 1, 2), (1, 3, 4), (2, 4, 5))
_PER_AXIS = 0.5773502691896258


class Compass(Sensor):
    """m = S R^T B + hard iron + motor field per ampere + noise, saturated and quantised."""

    _streams = ("_draws",)

    def __init__(
        self, ops: Ops, vehicles: Sequence[SensorSetup], magnetic: MagneticField, seed: int
    ) -> None:
        super().__init__(ops, period_us_of_rate(vehicles[0].compass_rate_hz))
        self._field = (magnetic.north_gauss, magnetic.east_gauss, magnetic.down_gauss)
        horizontal = magnetic.horizontal_gauss
        self._white = column(ops, [_white_gauss(v, horizontal) for v in vehicles])
        iron = [_Iron(v, seed) for v in vehicles]
        self._soft = None
        if any_of([value for i in iron for row in i.soft for value in row]):
            self._soft = [
                [column(ops, [i.soft[r][c] + (r == c) for i in iron]) for c in range(3)]
                for r in range(3)
            ]
        self._hard = [column(ops, [i.hard[axis] for i in iron]) for axis in range(3)]
        self._motor = [column(ops, [i.motor[axis] for i in iron]) for axis in range(3)]
        parts = [COMPASS_PARTS[v.compass] for v in vehicles]
        lsbs = [p.lsb if v.noise.scale else 0.0 for p, v in zip(parts, vehicles, strict=True)]
        self._output = output_stage(ops, [p.limit for p in parts], lsbs)
        ids = [v.vehicle_id for v in vehicles]
        self._draws = NormalBlock(seed, ids, "compass", 3, scalar=self._scalar)

    def sample(
        self, now_us: int, dt_us: int, motion: Motion, current_a: Column
    ) -> list[CompassData]:
        """Return one sample per vehicle."""
        self.clock.tick(now_us, dt_us)
        x, y, z = self._body_field(motion)
        nx, ny, nz = self._draws.take()
        (hx, hy, hz), (kx, ky, kz) = self._hard, self._motor
        white, output = self._white, self._output
        x = output(x + hx + kx * current_a + white * nx)
        y = output(y + hy + ky * current_a + white * ny)
        z = output(z + hz + kz * current_a + white * nz)
        if self._scalar:
            return [CompassData((x, y, z))]
        return list(map(CompassData, zip(x.tolist(), y.tolist(), z.tolist(), strict=True)))

    def _body_field(self, m: Motion) -> tuple[Column, Column, Column]:
        north, east, down = self._field
        x = m.r00 * north + m.r10 * east + m.r20 * down
        y = m.r01 * north + m.r11 * east + m.r21 * down
        z = m.r02 * north + m.r12 * east + m.r22 * down
        if self._soft is None:
            return x, y, z
        (a, b, c), (d, e, f), (g, h, i) = self._soft
        return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z


def _white_gauss(vehicle: SensorSetup, horizontal_gauss: float) -> float:
    """Return the noise per axis; a heading error is the field's error over its level part."""
    if vehicle.compass_noise_rad is not None:
        return vehicle.compass_noise_rad * horizontal_gauss * vehicle.noise.scale
    return COMPASS_PARTS[vehicle.compass].white * vehicle.noise.scale


class _Iron:
    """What one vehicle adds to the earth's field, drawn once per run."""

    __slots__ = ("hard", "motor", "soft")

    def __init__(self, vehicle: SensorSetup, seed: int) -> None:
        part, scale = COMPASS_PARTS[vehicle.compass], vehicle.noise.scale
        key = stream_key(seed, vehicle.vehicle_id, "compass.iron")
        raw = 0.0 if vehicle.compass_calibrated else scale
        hard, soft = part.hard_iron * raw, part.soft_iron * raw
        self.hard = [hard * (2.0 * uniform(key, axis) - 1.0) for axis in range(3)]
        drawn = [soft * (2.0 * uniform(key, 3 + k) - 1.0) for k in range(6)]
        self.soft = [[drawn[k] for k in row] for row in _SOFT_IRON_DRAWS]
        motor = part.motor_per_a * scale * _PER_AXIS
        self.motor = [motor * normal(key, 9 + axis) for axis in range(3)]


SEA_LEVEL_PA = 101325.0
LAPSE_PER_M = 2.25577e-5
EXPONENT = 5.25588
_SEA_LEVEL_C = 15.0
_COOLING_C_PER_M = 0.0065
_TERMS = 8
# The series below is good to 1e-12 of itself this far from the origin's height.
_REACH_M = 4000.0
_NO_LIMIT = 1.0e12


class Barometer(Sensor):
    """p = 101325 (1 - 2.25577e-5 h)^5.25588, a slow drift, white noise, resolution."""

    _columns = ("_drift",)
    _streams = ("_draws",)

    def __init__(
        self, ops: Ops, vehicles: Sequence[SensorSetup], origin_alt_m: float, seed: int
    ) -> None:
        super().__init__(ops, period_us_of_rate(vehicles[0].barometer_rate_hz))
        parts = [BAROMETER_PARTS[v.barometer] for v in vehicles]
        scales = [v.noise.scale for v in vehicles]
        keys = [stream_key(seed, v.vehicle_id, "baro.turn_on") for v in vehicles]
        rows = list(zip(parts, scales, keys, strict=True))
        self._turn_on = column(ops, [p.turn_on * s * normal(key, 0) for p, s, key in rows])
        self._drift = column(ops, [p.drift * s * normal(key, 1) for p, s, key in rows])
        self._drift_sigma = column(ops, [p.drift * s for p, s, _ in rows])
        self._drift_s = [p.drift_s for p in parts]
        self._white = column(ops, [p.white * s for p, s, _ in rows])
        lsbs = [p.lsb if s else 0.0 for p, s, _ in rows]
        self._output = output_stage(ops, [_NO_LIMIT] * len(rows), lsbs)
        ids = [v.vehicle_id for v in vehicles]
        self._draws = NormalBlock(seed, ids, "baro", 2, scalar=self._scalar)
        self._origin_alt_m = origin_alt_m
        # Zero for every vehicle: flat ground may come as a single number for the whole group.
        self._origin_m = column(ops, [0.0] * len(rows))
        self._origin_pa, self._per_m, self._series = _pressure_series(origin_alt_m)
        self._phi: Column = 0.0
        self._gain: Column = 0.0

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> list[BarometerData]:
        """Return one sample per vehicle."""
        if self.clock.tick(now_us, dt_us):
            self._set_interval(self.clock.interval_s)
        slow, white = self._draws.take()
        self._drift = self._phi * self._drift + self._gain * slow
        above_m = self._ops.clip(self._origin_m - motion.down_m, -_REACH_M, _REACH_M)
        pressure = self._true_pa(above_m) + self._turn_on + self._drift + self._white * white
        pressure = self._output(pressure)
        temperature = _SEA_LEVEL_C - _COOLING_C_PER_M * (self._origin_alt_m + above_m)
        if self._scalar:
            return [BarometerData(pressure, temperature)]
        return list(map(BarometerData, pressure.tolist(), temperature.tolist()))

    def _true_pa(self, above_m: Column) -> Column:
        x = self._per_m * above_m
        series = self._series[0]
        for coefficient in self._series[1:]:
            series = series * x + coefficient
        return self._origin_pa * series

    def _set_interval(self, interval_s: float) -> None:
        steps = [gauss_markov(interval_s, tau_s) for tau_s in self._drift_s]
        self._phi = column(self._ops, [phi for phi, _ in steps])
        self._gain = column(self._ops, [gain for _, gain in steps]) * self._drift_sigma


def _pressure_series(origin_alt_m: float) -> tuple[float, float, tuple[float, ...]]:
    """Return (pressure at the origin, x per metre, coefficients) of the binomial series.

    1 - c (h0 + a) = (1 - c h0)(1 + x) with x = -c a / (1 - c h0), so the power at the origin is
    computed once and (1 + x)^5.25588 by a short series.
    """
    base = 1.0 - LAPSE_PER_M * origin_alt_m
    coefficients = [1.0]
    for k in range(_TERMS):
        coefficients.append(coefficients[-1] * (EXPONENT - k) / (k + 1))
    origin_pa = SEA_LEVEL_PA * portable_math.decimal_power(base, EXPONENT)
    return origin_pa, -LAPSE_PER_M / base, tuple(reversed(coefficients))


class Scene(Protocol):
    """What a rangefinder looks at."""

    def cast(
        self,
        ops: Ops,
        north_m: Column,
        east_m: Column,
        dir_n: Column,
        dir_e: Column,
        max_m: Column,
        skip_vehicle: Column,
    ) -> Column:
        """Return the distance along a ray to the nearest surface, ``max_m`` or more if none.

        Positions, directions (unit vectors in NED) and ``skip_vehicle`` (the id of the vehicle
        that looks) are one value each, or arrays with one element per vehicle.
        """


class Rangefinder(Sensor):
    """One distance sensor of each vehicle: a cone of one or three rays, noise, range.

    Nothing in range reads as the longest distance, what is too near as the shortest.
    """

    _streams = ("_draws",)

    def __init__(
        self,
        ops: Ops,
        vehicles: Sequence[SensorSetup],
        index: int,
        seed: int,
        scene: Scene | None,
    ) -> None:
        fitted = [v.rangefinders[index] for v in vehicles]
        super().__init__(ops, period_us_of_rate(vehicles[0].range_rate_hz))
        self._fitted = fitted
        self._scene = scene
        scales = [v.noise.scale for v in vehicles]
        pairs = list(zip(fitted, scales, strict=True))
        self._white_m = column(ops, [f.white_m * scale for f, scale in pairs])
        self._relative = column(ops, [f.relative * scale for f, scale in pairs])
        self._min_m = column(ops, [f.min_m for f in fitted])
        self._max_m = column(ops, [f.max_m for f in fitted])
        self._rays = [self._ray(side) for side in (0.0, -0.5, 0.5)]
        if all(f.beam_deg == 0.0 for f in fitted):
            del self._rays[1:]
        ids = [v.vehicle_id for v in vehicles]
        self._ids: Column = ids[0] if ops is SCALAR else np.array(ids)
        self._draws = NormalBlock(seed, ids, f"range.{index}", 1, scalar=self._scalar)

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> list[RangefinderData]:
        """Return one sample per vehicle."""
        self.clock.tick(now_us, dt_us)
        (draw,) = self._draws.take()
        seen = self._nearest(motion)
        noisy = seen + (self._white_m + self._relative * seen) * draw
        hit = seen < self._max_m
        told = self._ops.clip(noisy, self._min_m, self._max_m)
        told = self._ops.where(hit, told, self._max_m)
        distances = [told] if self._scalar else told.tolist()
        return [
            RangefinderData(distance, f.min_m, f.max_m, f.bearing_deg)
            for distance, f in zip(distances, self._fitted, strict=True)
        ]

    def _ray(self, side: float) -> tuple[Column, Column]:
        """Return (cos, sin) of a ray's bearing; ``side`` is a fraction of the beam."""
        angles = [(f.bearing_deg + side * f.beam_deg) * RAD_PER_DEG for f in self._fitted]
        both = [portable_math.sincos(FLOATS, angle) for angle in angles]
        return column(self._ops, [c for _, c in both]), column(self._ops, [s for s, _ in both])

    def _nearest(self, m: Motion) -> Column:
        """Return the shortest of the rays' distances, the longest range if nothing is hit."""
        ops, scene = self._ops, self._scene
        nearest = self._max_m
        if scene is None:
            return nearest
        for cosine, sine in self._rays:
            dir_n = m.r00 * cosine + m.r01 * sine
            dir_e = m.r10 * cosine + m.r11 * sine
            length = ops.sqrt(dir_n * dir_n + dir_e * dir_e)
            length = ops.where(length > 0.0, length, 1.0)
            seen = scene.cast(
                ops, m.north_m, m.east_m, dir_n / length, dir_e / length, self._max_m, self._ids
            )
            nearest = ops.minimum(nearest, seen)
        return nearest
