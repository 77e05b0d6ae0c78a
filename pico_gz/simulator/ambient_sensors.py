"""Compass, barometer and rangefinder: what surrounds a vehicle."""

from __future__ import annotations

from math import sqrt
from typing import Protocol

from pico_gz.core import portable_math
from pico_gz.core.messages import BarometerData, CompassData, RangefinderData, Vector3
from pico_gz.core.portable_math import RAD_PER_DEG
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, gauss_markov, saturate_and_quantise
from pico_gz.simulator.random import NormalStream, normal, stream_key, uniform
from pico_gz.simulator.sensor_parts import BAROMETER_PARTS, COMPASS_PARTS
from pico_gz.simulator.sensor_setup import SensorSetup, period_us_of_rate
from pico_gz.simulator.world import MagneticField

# Which draw fills which place of the symmetric soft-iron matrix.
_SOFT_IRON_DRAWS = (0, 1, 2, 1, 3, 4, 2, 4, 5)
_PER_AXIS = 0.5773502691896258


class Compass(Sensor):
    """m = S R^T B + hard iron + motor field per ampere + noise, saturated and quantised."""

    __slots__ = (
        "draws", "field", "hard", "has_soft_iron", "limit", "lsb", "motor", "soft", "white",
    )  # fmt: skip
    stream_fields = ("draws",)

    def __init__(self, setup: SensorSetup, magnetic: MagneticField, seed: int) -> None:
        super().__init__(period_us_of_rate(setup.compass_rate_hz))
        part, scale = COMPASS_PARTS[setup.compass], setup.noise.scale
        self.field = [magnetic.north_gauss, magnetic.east_gauss, magnetic.down_gauss]
        self.white = part.white * scale
        if setup.compass_noise_rad is not None:
            # A heading error is the field's error over its level part.
            self.white = setup.compass_noise_rad * magnetic.horizontal_gauss * scale
        self.limit = part.limit
        self.lsb = part.lsb if scale else 0.0
        # What the vehicle adds to the earth's field is drawn once per run.
        key = stream_key(seed, setup.vehicle_id, "compass.iron")
        raw = 0.0 if setup.compass_calibrated else scale
        hard, soft = part.hard_iron * raw, part.soft_iron * raw
        self.hard = [hard * (2.0 * uniform(key, axis) - 1.0) for axis in range(3)]
        drawn = [soft * (2.0 * uniform(key, 3 + k) - 1.0) for k in range(6)]
        self.has_soft_iron = any(drawn)
        self.soft = [drawn[k] + (place % 4 == 0) for place, k in enumerate(_SOFT_IRON_DRAWS)]
        motor = part.motor_per_a * scale * _PER_AXIS
        self.motor = [motor * normal(key, 9 + axis) for axis in range(3)]
        self.draws = NormalStream(seed, setup.vehicle_id, "compass", 3)

    def sample(self, now_us: int, dt_us: int, motion: Motion, current_a: float) -> CompassData:
        """Return a sample."""
        self._tick(now_us, dt_us)
        x, y, z = self._body_field(motion)
        nx, ny, nz = self.draws.take()
        (hx, hy, hz), (kx, ky, kz) = self.hard, self.motor
        white, limit, lsb = self.white, self.limit, self.lsb
        return CompassData(
            (
                saturate_and_quantise(limit, lsb, x + hx + kx * current_a + white * nx),
                saturate_and_quantise(limit, lsb, y + hy + ky * current_a + white * ny),
                saturate_and_quantise(limit, lsb, z + hz + kz * current_a + white * nz),
            )
        )

    def _body_field(self, m: Motion) -> Vector3:
        north, east, down = self.field
        x = m.r00 * north + m.r10 * east + m.r20 * down
        y = m.r01 * north + m.r11 * east + m.r21 * down
        z = m.r02 * north + m.r12 * east + m.r22 * down
        if not self.has_soft_iron:
            return x, y, z
        a, b, c, d, e, f, g, h, i = self.soft
        return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z


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

    __slots__ = (
        "_gain", "_phi", "draws", "drift", "drift_sigma", "drift_tau_s", "lsb", "origin_alt_m",
        "origin_pa", "per_m", "series", "turn_on", "white",
    )  # fmt: skip
    state_fields = ("drift",)
    stream_fields = ("draws",)

    def __init__(self, setup: SensorSetup, origin_alt_m: float, seed: int) -> None:
        super().__init__(period_us_of_rate(setup.barometer_rate_hz))
        part, scale = BAROMETER_PARTS[setup.barometer], setup.noise.scale
        key = stream_key(seed, setup.vehicle_id, "baro.turn_on")
        self.turn_on = part.turn_on * scale * normal(key, 0)
        self.drift_sigma = part.drift * scale
        self.drift = self.drift_sigma * normal(key, 1)
        self.drift_tau_s = part.drift_s
        self.white = part.white * scale
        self.lsb = part.lsb if scale else 0.0
        self.draws = NormalStream(seed, setup.vehicle_id, "baro", 2)
        self.origin_alt_m = origin_alt_m
        self.origin_pa, self.per_m, self.series = _pressure_series(origin_alt_m)
        self._phi = self._gain = 0.0

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> BarometerData:
        """Return a sample."""
        self._tick(now_us, dt_us)
        slow, white = self.draws.take()
        self.drift = self._phi * self.drift + self._gain * slow
        above_m = 0.0 - motion.down_m
        above_m = -_REACH_M if above_m < -_REACH_M else min(above_m, _REACH_M)
        x = self.per_m * above_m
        series = self.series[0]
        for coefficient in self.series[1:]:
            series = series * x + coefficient
        pressure = self.origin_pa * series + self.turn_on + self.drift + self.white * white
        return BarometerData(
            saturate_and_quantise(_NO_LIMIT, self.lsb, pressure),
            _SEA_LEVEL_C - _COOLING_C_PER_M * (self.origin_alt_m + above_m),
        )

    def _set_interval(self, interval_s: float) -> None:
        self._phi, gain = gauss_markov(interval_s, self.drift_tau_s)
        self._gain = gain * self.drift_sigma


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
        north_m: float,
        east_m: float,
        dir_n: float,
        dir_e: float,
        max_m: float,
        skip_vehicle: int,
    ) -> float:
        """Return the distance along a ray to the nearest surface, ``max_m`` or more if none.

        The direction is a unit vector in NED, ``skip_vehicle`` the id of the one that looks.
        """


class Rangefinder(Sensor):
    """A distance sensor: a cone of one or three rays, noise, range.

    Nothing in range reads as the longest distance, what is too near as the shortest.
    """

    __slots__ = (
        "bearing_deg", "draws", "max_m", "min_m", "ray_count", "rays", "relative", "scene",
        "vehicle_id",
        "white_m",
    )  # fmt: skip
    stream_fields = ("draws",)

    def __init__(self, setup: SensorSetup, index: int, seed: int, scene: Scene | None) -> None:
        super().__init__(period_us_of_rate(setup.range_rate_hz))
        fitted, scale = setup.rangefinders[index], setup.noise.scale
        self.scene = scene
        self.vehicle_id = setup.vehicle_id
        self.white_m = fitted.white_m * scale
        self.relative = fitted.relative * scale
        self.min_m, self.max_m = fitted.min_m, fitted.max_m
        self.bearing_deg = fitted.bearing_deg
        # sin and cos of the rays' bearings, one after the other.
        sides = (0.0, -0.5, 0.5) if fitted.beam_deg else (0.0,)
        angles = [(fitted.bearing_deg + side * fitted.beam_deg) * RAD_PER_DEG for side in sides]
        self.rays = [part for angle in angles for part in portable_math.sincos(angle)]
        self.ray_count = 0 if scene is None else len(sides)
        self.draws = NormalStream(seed, setup.vehicle_id, f"range.{index}", 1)

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> RangefinderData:
        """Return a sample."""
        self._tick(now_us, dt_us)
        (draw,) = self.draws.take()
        seen = self._nearest(motion)
        read = self.max_m
        if seen < self.max_m:
            read = seen + (self.white_m + self.relative * seen) * draw
            read = max(self.min_m, min(self.max_m, read))
        return RangefinderData(read, self.min_m, self.max_m, self.bearing_deg)

    def _nearest(self, m: Motion) -> float:
        """Return the shortest of the rays' distances, the longest range if nothing is hit."""
        nearest = self.max_m
        if self.scene is None:
            return nearest
        for sine, cosine in zip(self.rays[::2], self.rays[1::2], strict=True):
            dir_n = m.r00 * cosine + m.r01 * sine
            dir_e = m.r10 * cosine + m.r11 * sine
            length = sqrt(dir_n * dir_n + dir_e * dir_e) or 1.0
            seen = self.scene.cast(
                m.north_m, m.east_m, dir_n / length, dir_e / length, self.max_m, self.vehicle_id
            )
            nearest = min(nearest, seen)
        return nearest
