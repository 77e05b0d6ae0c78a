"""The earth's magnetic field as a magnetometer on the vehicle feels it."""

from __future__ import annotations

from collections.abc import Sequence

from pico_gz.messages import CompassData
from pico_gz.simulator.magnetic_field import MagneticField
from pico_gz.simulator.motion import Motion
from pico_gz.simulator.noise import any_of, column, output_stage
from pico_gz.simulator.ops import Column, Ops
from pico_gz.simulator.random import NormalBlock, normal, stream_key, uniform
from pico_gz.simulator.sensors.base import Sensor
from pico_gz.simulator.sensors.parts import COMPASS_PARTS
from pico_gz.simulator.sensors.setup import SensorSetup, period_us_of_rate

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
