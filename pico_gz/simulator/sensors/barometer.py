"""Air pressure at the vehicle's height."""

from __future__ import annotations

from collections.abc import Sequence

from pico_gz import exact
from pico_gz.messages import BarometerData
from pico_gz.simulator.motion import Motion
from pico_gz.simulator.noise import column, gauss_markov, output_stage
from pico_gz.simulator.ops import Column, Ops
from pico_gz.simulator.random import NormalBlock, normal, stream_key
from pico_gz.simulator.sensors.base import Sensor
from pico_gz.simulator.sensors.parts import BAROMETER_PARTS
from pico_gz.simulator.sensors.setup import SensorSetup, period_us_of_rate

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
    origin_pa = SEA_LEVEL_PA * exact.decimal_power(base, EXPONENT)
    return origin_pa, -LAPSE_PER_M / base, tuple(reversed(coefficients))
