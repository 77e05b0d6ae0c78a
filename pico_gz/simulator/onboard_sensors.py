"""Wheel encoders and battery: the vehicle's own state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pico_gz.core.messages import BatteryData, EncoderData
from pico_gz.core.portable_math import TWO_PI
from pico_gz.core.units import US_PER_S
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, any_of, column, low_pass_gain
from pico_gz.simulator.ops import Column, Ops
from pico_gz.simulator.random import UniformBlock
from pico_gz.simulator.sensor_setup import BatterySetup, SensorSetup, period_us_of_rate


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


_SECONDS_PER_HOUR = 3600.0
_LOW_PASS_HZ = 10.0
# Open-circuit voltage of a lithium cell over its charge, fullest last.
CELL_CURVE = ((0.02, 2.98), (0.15, 3.30), (0.23, 3.46), (0.35, 3.59), (0.50, 3.74),
              (0.77, 3.94), (1.00, 4.17))  # fmt: skip


class Battery(Sensor):
    """V = OCV(charge) - I R behind a 10 Hz low-pass; every step counts the charge drawn.

    ``ratio`` is the terminal voltage over the rated one, which the motors' speed follows;
    ``current_a`` is the present draw.
    """

    _columns = ("_used_as", "_voltage_v", "_open_v", "current_a", "_fixed_v", "_capacity_as")

    def __init__(self, ops: Ops, vehicles: Sequence[SensorSetup]) -> None:
        super().__init__(ops, period_us_of_rate(vehicles[0].battery_rate_hz))
        packs = [v.battery or BatterySetup() for v in vehicles]
        self._cells = column(ops, [float(p.cells) for p in packs])
        self._resistance = column(ops, [0.0 if p.ideal else p.resistance_ohm for p in packs])
        self._idle_a = column(ops, [p.idle_a for p in packs])
        self._both_run_a = column(ops, [2.0 * p.run_a for p in packs])
        self._stall_more_a = column(ops, [p.stall_a - p.run_a for p in packs])
        self._rated_v = column(ops, [p.rated_v for p in packs])
        self._capacity_as = column(ops, [p.capacity_ah * _SECONDS_PER_HOUR for p in packs])
        self._initial = column(ops, [p.initial_soc for p in packs])
        # Above 0: an open-circuit voltage that does not depend on the charge.
        self._fixed_v = column(ops, [p.rated_v if p.ideal else 0.0 for p in packs])
        self._used_as = column(ops, [0.0] * len(packs))
        self._open_v = self._open_circuit_v()
        self._voltage_v = self._open_v
        self.current_a: Column = self._idle_a
        self.ratio: Column = self._voltage_v / self._rated_v
        self._drawn_us = 0
        self._drawn_s = 0.0
        self._gain = 0.0

    def draw(self, dt_us: int, motion: Motion) -> None:
        """Count one step's current; keeps ``current_a`` and ``ratio`` up to date."""
        if dt_us != self._drawn_us:
            self._drawn_us, self._drawn_s = dt_us, dt_us / US_PER_S
            self._gain = low_pass_gain(self._drawn_s, 1.0 / (TWO_PI * _LOW_PASS_HZ))
        load = motion.load_left + motion.load_right
        motors_a = motion.throttle_abs * (self._both_run_a + self._stall_more_a * load)
        self.current_a = current = self._idle_a + motors_a
        self._used_as = self._used_as + current * self._drawn_s
        voltage = self._voltage_v
        loaded = self._open_v - current * self._resistance
        self._voltage_v = voltage = voltage + (loaded - voltage) * self._gain
        self.ratio = voltage / self._rated_v

    def sample(self, now_us: int, dt_us: int) -> list[BatteryData]:
        """Return one sample per vehicle."""
        self.clock.tick(now_us, dt_us)
        self._open_v = self._open_circuit_v()
        charge = self._charge()
        if self._scalar:
            return [BatteryData(self._voltage_v, self.current_a, charge)]
        columns = (self._voltage_v.tolist(), self.current_a.tolist(), charge.tolist())
        return list(map(BatteryData, *columns))

    def set_parameter(self, place: int, name: str, value: float) -> None:
        """Set ``BATT_VOLTAGE`` (open circuit, 0 = by charge) or ``BATT_CAP_AH`` of one vehicle."""
        if name == "BATT_VOLTAGE":
            changed = {"fixed_v": max(0.0, value)}
        elif value > 0.0:
            changed = {"capacity_as": value * _SECONDS_PER_HOUR}
        else:
            raise ConfigError(f"A battery of {value} Ah is impossible.")
        self.load(place, {**self.save(place), **changed})
        self._open_v = self._open_circuit_v()

    def load(self, place: int, state: Mapping[str, Any]) -> None:
        """Set the state of the vehicle at this place."""
        super().load(place, state)
        self.ratio = self._voltage_v / self._rated_v

    def _charge(self) -> Column:
        """Return what is left, 0..1."""
        charge = self._initial - self._used_as / self._capacity_as
        return self._ops.where(charge > 0.0, charge, 0.0)

    def _open_circuit_v(self) -> Column:
        """Return the voltage without load, by straight lines between the curve's points."""
        ops, charge = self._ops, self._charge()
        (s0, v0), (s1, v1) = CELL_CURVE[:2]
        cell_v = v0 + (charge - s0) * ((v1 - v0) / (s1 - s0))
        for (s0, v0), (s1, v1) in pairwise(CELL_CURVE[1:]):
            line = v0 + (charge - s0) * ((v1 - v0) / (s1 - s0))
            cell_v = ops.where(charge >= s0, line, cell_v)
        return ops.where(self._fixed_v > 0.0, self._fixed_v, cell_v * self._cells)
