"""The error figures of a group's IMUs, after parts, noise profiles and the draws of this run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pico_gz.simulator.noise import any_of
from pico_gz.simulator.random import normal, stream_key
from pico_gz.simulator.sensors.parts import IMU_PARTS, ImuPart
from pico_gz.simulator.sensors.setup import SensorSetup

# Where each draw of a run is used: 6 turn-on biases, 6 per degree, then two 3 x 3 matrices.
_TURN_ON, _PER_C, _MIX = 0, 6, 12
# Part of a limit's square that rounding cannot carry beyond the limit.
_SAFE = 0.999


class ImuErrors:
    """Figures of a group, as floats or lists for a lone vehicle and as stacks for a group.

    Stacks of six hold accelerometer x, y, z, then gyro x, y, z. ``mixes``, ``shakes`` and
    ``has_lever`` say whether any vehicle needs that step at all. ``figures`` of a lone vehicle
    are, for accelerometer and gyro, the nine of its matrix, the limit, the square of a length
    that surely lies within it, the resolution and its inverse.
    """

    def __init__(self, vehicles: Sequence[SensorSetup], seed: int, *, scalar: bool) -> None:
        self._scalar = scalar
        self._parts = [_effective_part(v) for v in vehicles]
        keys = [stream_key(seed, v.vehicle_id, "imu.turn_on") for v in vehicles]
        self._set_biases(keys)
        self._set_mixes(keys)
        self._set_limits(vehicles)
        shake = [
            (p.vibration_mps2, v.vibration) for p, v in zip(self._parts, vehicles, strict=True)
        ]
        self.shake = (
            self._column([idle * factor for (idle, _), factor in shake]),
            self._column([more * factor for (_, more), factor in shake]),
        )
        gyro = [p.vibration_radps * v.vibration for p, v in zip(self._parts, vehicles, strict=True)]
        self.shake_gyro = self._column(gyro)
        self.shakes = any_of([*(sum(pair) * f for pair, f in shake), *gyro])
        levers = [v.imu_position_frd_m for v in vehicles]
        self.has_lever = any_of([value for lever in levers for value in lever])
        self.lever = tuple(self._column([lever[axis] for lever in levers]) for axis in range(3))

    def variances(self, interval_s: float) -> tuple[Any, Any]:
        """Return the white variance per sample of (accelerometer, gyro)."""
        accel = [_variance(p.accel_density, p.accel_white, interval_s) for p in self._parts]
        gyro = [_variance(p.gyro_density, p.gyro_white, interval_s) for p in self._parts]
        return self._column(accel), self._column(gyro)

    def _set_biases(self, keys: Sequence[int]) -> None:
        self.walk = self._six(lambda p: (p.accel_walk, p.gyro_walk))
        self.turn_on = self._drawn_six(keys, _TURN_ON, lambda p: (p.accel_turn_on, p.gyro_turn_on))
        self.per_c = self._drawn_six(keys, _PER_C, lambda p: (p.accel_per_c, p.gyro_per_c))
        self.warm_up_c = self._column([p.warm_up_c for p in self._parts])

    def _set_mixes(self, keys: Sequence[int]) -> None:
        """Set scale and cross-talk: ``mix[sensor][row][column]`` of each vehicle."""
        self.mixes = any_of([p.scale + p.cross for p in self._parts])
        matrices = [
            [[[_mix(p, key, s, r, c) for c in range(3)] for r in range(3)] for s in range(2)]
            for p, key in zip(self._parts, keys, strict=True)
        ]
        if self._scalar:
            self._mix_rows = [[value for row in matrix for value in row] for matrix in matrices[0]]
        else:
            # One stack (sensor, row, vehicle) per column of the matrix.
            stacked = np.array(matrices)
            self.mix_columns = [
                np.ascontiguousarray(np.moveaxis(stacked[:, :, :, c], 0, -1)) for c in range(3)
            ]

    def _set_limits(self, vehicles: Sequence[SensorSetup]) -> None:
        fine = [v.noise.scale == 0.0 for v in vehicles]
        parts = list(zip(self._parts, fine, strict=True))
        limits = [(p.accel_limit, p.gyro_limit) for p, _ in parts]
        lsbs = [(0.0, 0.0) if smooth else (p.accel_lsb, p.gyro_lsb) for p, smooth in parts]
        if self._scalar:
            rows = zip(self._mix_rows, limits[0], lsbs[0], strict=True)
            self.figures = tuple(
                (*mix, limit, _SAFE * (limit * limit), lsb, 1.0 / (lsb or 1.0))
                for mix, limit, lsb in rows
            )
            return
        # Of the full shape (sensor, axis, vehicle): arrays of one shape multiply fastest.
        self.limit_stack = _three_axes(limits)
        lsb_stack = _three_axes(lsbs)
        self.stepped = lsb_stack > 0.0
        self.step_stack = np.where(self.stepped, lsb_stack, 1.0)
        self.per_step_stack = 1.0 / self.step_stack
        self.all_stepped, self.any_stepped = bool(self.stepped.all()), bool(self.stepped.any())

    def _column(self, values: Sequence[float]) -> Any:
        return values[0] if self._scalar else np.array(values)

    def _six(self, pair: Callable[[ImuPart], tuple[float, float]]) -> Any:
        rows = [[pair(p)[axis // 3] for p in self._parts] for axis in range(6)]
        return [row[0] for row in rows] if self._scalar else np.array(rows)

    def _drawn_six(
        self, keys: Sequence[int], first: int, pair: Callable[[ImuPart], tuple[float, float]]
    ) -> Any:
        rows = [
            [
                pair(p)[axis // 3] * normal(key, first + axis)
                for p, key in zip(self._parts, keys, strict=True)
            ]
            for axis in range(6)
        ]
        return [row[0] for row in rows] if self._scalar else np.array(rows)


def _three_axes(pairs: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """Return (accelerometer, gyro) figures of each vehicle as a stack (sensor, axis, vehicle)."""
    return np.repeat(np.array(pairs).T[:, np.newaxis, :], 3, axis=1)


def _variance(density: float, white: float, interval_s: float) -> float:
    return density * density / interval_s + white * white


def _mix(part: ImuPart, key: int, sensor: int, row: int, col: int) -> float:
    draw = normal(key, _MIX + 9 * sensor + 3 * row + col)
    return 1.0 + part.scale * draw if row == col else part.cross * draw


def _effective_part(vehicle: SensorSetup) -> ImuPart:
    """Return the vehicle's part with every figure multiplied by its noise profile."""
    part, scale = IMU_PARTS[vehicle.imu], vehicle.noise.scale
    if vehicle.accel_noise_mss is not None:
        part = replace(part, accel_density=0.0, accel_white=vehicle.accel_noise_mss)
    if vehicle.gyro_noise_rads is not None:
        part = replace(part, gyro_density=0.0, gyro_white=vehicle.gyro_noise_rads)
    idle, more = part.vibration_mps2
    scaled = {
        name: getattr(part, name) * scale
        for name in (
            "accel_density", "gyro_density", "accel_white", "gyro_white", "accel_walk",
            "gyro_walk", "accel_turn_on", "gyro_turn_on", "accel_per_c", "gyro_per_c",
            "scale", "cross", "vibration_radps",
        )
    }  # fmt: skip
    return replace(part, vibration_mps2=(idle * scale, more * scale), **scaled)
