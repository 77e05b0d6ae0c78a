"""Distance to what stands in front of a vehicle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pico_gz import exact
from pico_gz.exact import FLOATS, RAD_PER_DEG
from pico_gz.messages import RangefinderData
from pico_gz.simulator.motion import Motion
from pico_gz.simulator.noise import column
from pico_gz.simulator.ops import SCALAR, Column, Ops
from pico_gz.simulator.random import NormalBlock
from pico_gz.simulator.sensors.base import Sensor
from pico_gz.simulator.sensors.setup import SensorSetup, period_us_of_rate


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
        both = [exact.sincos(FLOATS, angle) for angle in angles]
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
