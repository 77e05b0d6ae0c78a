"""Wheel encoders and battery: the vehicle's own state."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import floor
from typing import Any

from pico_gz.core.messages import BatteryData, EncoderData
from pico_gz.core.portable_math import TWO_PI
from pico_gz.core.units import US_PER_S
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, low_pass_gain
from pico_gz.simulator.random import stream_key, uniform
from pico_gz.simulator.sensor_setup import BatterySetup, SensorSetup, period_us_of_rate


class Encoder(Sensor):
    """floor(N theta / 2 pi) per wheel, less the ticks that were missed."""

    __slots__ = (
        "draws", "key", "miss", "missed_left", "missed_right", "per_rad", "per_turn", "seen_left",
        "seen_right",
    )  # fmt: skip
    state_fields = ("seen_left", "seen_right", "missed_left", "missed_right", "draws")

    def __init__(self, setup: SensorSetup, seed: int) -> None:
        super().__init__(period_us_of_rate(setup.encoder_rate_hz))
        self.per_turn = setup.encoder_ticks
        self.per_rad = setup.encoder_ticks / TWO_PI
        self.miss = setup.encoder_miss
        self.key = stream_key(seed, setup.vehicle_id, "encoder")
        self.draws = 0  # samples drawn for, two draws each
        self.seen_left = self.seen_right = 0
        self.missed_left = self.missed_right = 0

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> EncoderData:
        """Return a sample."""
        if self.period_us:
            self._tick(now_us, dt_us)
        left = floor(motion.wheel_left_rad * self.per_rad)
        right = floor(motion.wheel_right_rad * self.per_rad)
        if self.miss == 0.0:
            return EncoderData((left, right), self.per_turn)
        self.missed_left += self._lost(left - self.seen_left, 2 * self.draws)
        self.missed_right += self._lost(right - self.seen_right, 2 * self.draws + 1)
        self.draws += 1
        self.seen_left, self.seen_right = left, right
        return EncoderData((left - self.missed_left, right - self.missed_right), self.per_turn)

    def _lost(self, new: int, draw: int) -> int:
        """Return how many of ``new`` ticks (signed) are lost: their mean, rounded by chance."""
        lost = floor(abs(new) * self.miss + uniform(self.key, draw))
        return -lost if new < 0 else lost


_SECONDS_PER_HOUR = 3600.0
_LOW_PASS_HZ = 10.0
# Open-circuit voltage of a lithium cell over its charge, fullest last.
CELL_CURVE = ((0.02, 2.98), (0.15, 3.30), (0.23, 3.46), (0.35, 3.59), (0.50, 3.74),
              (0.77, 3.94), (1.00, 4.17))  # fmt: skip
# (charge, volts, volts per charge) from where each line of the curve begins.
_LINES = tuple((s0, v0, (v1 - v0) / (s1 - s0)) for (s0, v0), (s1, v1) in pairwise(CELL_CURVE))


class Battery(Sensor):
    """V = OCV(charge) - I R behind a 10 Hz low-pass; every step counts the charge drawn.

    ``ratio`` is the terminal voltage over the rated one, which the motors' speed follows;
    ``current_a`` is the present draw.
    """

    __slots__ = (
        "_drawn_s", "_drawn_us", "_gain", "both_run_a", "capacity_as", "cells", "current_a",
        "fixed_v", "idle_a", "initial", "open_v", "rated_v", "ratio", "resistance",
        "stall_more_a", "used_as", "voltage_v",
    )  # fmt: skip
    state_fields = ("used_as", "voltage_v", "open_v", "current_a", "fixed_v", "capacity_as")

    def __init__(self, setup: SensorSetup) -> None:
        super().__init__(period_us_of_rate(setup.battery_rate_hz))
        pack = setup.battery or BatterySetup()
        self.cells = float(pack.cells)
        self.resistance = 0.0 if pack.ideal else pack.resistance_ohm
        self.idle_a = pack.idle_a
        self.both_run_a = 2.0 * pack.run_a
        self.stall_more_a = pack.stall_a - pack.run_a
        self.rated_v = pack.rated_v
        self.capacity_as = pack.capacity_ah * _SECONDS_PER_HOUR
        self.initial = pack.initial_soc
        # Above 0: an open-circuit voltage that does not depend on the charge.
        self.fixed_v = pack.rated_v if pack.ideal else 0.0
        self.used_as = 0.0
        self.voltage_v = self.open_v = self._open_circuit_v(self._charge())
        self.current_a = self.idle_a
        self.ratio = self.voltage_v / self.rated_v
        self._drawn_us = 0
        self._drawn_s = self._gain = 0.0

    def draw(self, dt_us: int, motion: Motion) -> None:
        """Count one step's current; keeps ``current_a`` and ``ratio`` up to date."""
        if dt_us != self._drawn_us:
            self._drawn_us, self._drawn_s = dt_us, dt_us / US_PER_S
            self._gain = low_pass_gain(self._drawn_s, 1.0 / (TWO_PI * _LOW_PASS_HZ))
        load = motion.load_left + motion.load_right
        motors_a = motion.throttle_abs * (self.both_run_a + self.stall_more_a * load)
        self.current_a = current = self.idle_a + motors_a
        self.used_as = self.used_as + current * self._drawn_s
        voltage = self.voltage_v
        loaded = self.open_v - current * self.resistance
        self.voltage_v = voltage = voltage + (loaded - voltage) * self._gain
        self.ratio = voltage / self.rated_v

    def sample(self, now_us: int, dt_us: int) -> BatteryData:
        """Return a sample."""
        self._tick(now_us, dt_us)
        charge = self._charge()
        self.open_v = self._open_circuit_v(charge)
        return BatteryData(self.voltage_v, self.current_a, charge)

    def set_parameter(self, name: str, value: float) -> None:
        """Set ``BATT_VOLTAGE`` (open circuit, 0 = by charge) or ``BATT_CAP_AH``."""
        if name == "BATT_VOLTAGE":
            self.fixed_v = max(0.0, value)
        elif value > 0.0:
            self.capacity_as = value * _SECONDS_PER_HOUR
        else:
            raise ConfigError(f"A battery of {value} Ah is impossible.")
        self.open_v = self._open_circuit_v(self._charge())

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave."""
        super().load(state)
        self.ratio = self.voltage_v / self.rated_v

    def _charge(self) -> float:
        """Return what is left, 0..1."""
        charge = self.initial - self.used_as / self.capacity_as
        return charge if charge > 0.0 else 0.0

    def _open_circuit_v(self, charge: float) -> float:
        """Return the voltage without load, by straight lines between the curve's points."""
        if self.fixed_v > 0.0:
            return self.fixed_v
        start, volts, slope = _LINES[0]
        for line in _LINES[1:]:
            if charge >= line[0]:
                start, volts, slope = line
        return (volts + (charge - start) * slope) * self.cells
