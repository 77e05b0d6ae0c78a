"""Wheel encoders: whole ticks of the wheels, before any slip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pico_gz.exact import TWO_PI
from pico_gz.messages import EncoderData
from pico_gz.simulator.motion import Motion
from pico_gz.simulator.noise import any_of, column
from pico_gz.simulator.ops import Column, Ops
from pico_gz.simulator.random import UniformBlock
from pico_gz.simulator.sensors.base import Sensor
from pico_gz.simulator.sensors.setup import SensorSetup, period_us_of_rate


class Encoder(Sensor):
    """floor(N theta / 2 pi) per wheel, less the ticks that were missed."""

    _columns = ("_seen_left", "_seen_right", "_missed_left", "_missed_right")
    _streams = ("_draws",)

    def __init__(self, ops: Ops, vehicles: Sequence[SensorSetup], seed: int) -> None:
        super().__init__(ops, period_us_of_rate(vehicles[0].encoder_rate_hz))
        # Whole floats or plain integers: both hold ticks exactly.
        self._floor: Callable[[Column], Column] = math.floor if self._scalar else np.floor
        self._per_turn = [v.encoder_ticks for v in vehicles]
        self._per_rad = column(ops, [ticks / TWO_PI for ticks in self._per_turn])
        misses = [v.encoder_miss for v in vehicles]
        self._loses_ticks = any_of(misses)
        self._miss = column(ops, misses)
        ids = [v.vehicle_id for v in vehicles]
        self._draws = UniformBlock(seed, ids, "encoder", 2, scalar=self._scalar)
        zeros = [0.0] * len(ids)
        self._seen_left = column(ops, zeros)
        self._seen_right = column(ops, zeros)
        self._missed_left = column(ops, zeros)
        self._missed_right = column(ops, zeros)

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> list[EncoderData]:
        """Return one sample per vehicle."""
        if self.clock.period_us:
            self.clock.tick(now_us, dt_us)
        left = self._floor(motion.wheel_left_rad * self._per_rad)
        right = self._floor(motion.wheel_right_rad * self._per_rad)
        if self._loses_ticks:
            left, right = self._without_missed(left, right)
        if self._scalar:
            return [EncoderData((int(left), int(right)), self._per_turn[0])]
        lefts, rights = left.astype("i8").tolist(), right.astype("i8").tolist()
        return list(map(EncoderData, zip(lefts, rights, strict=True), self._per_turn))

    def _without_missed(self, left: Column, right: Column) -> tuple[Column, Column]:
        """Drop each new tick with the set probability."""
        draw_left, draw_right = self._draws.take()
        self._missed_left = self._missed_left + self._lost(left - self._seen_left, draw_left)
        self._missed_right = self._missed_right + self._lost(right - self._seen_right, draw_right)
        self._seen_left, self._seen_right = left, right
        return left - self._missed_left, right - self._missed_right

    def _lost(self, new: Column, draw: Column) -> Column:
        """Return how many of ``new`` ticks (signed) are lost: their mean, rounded by chance."""
        ops = self._ops
        count = ops.absolute(new)
        lost = ops.floor(count * self._miss + draw)
        return ops.where(new < 0.0, -lost, lost)
