"""Accelerometer and gyro: specific force and angular rate with their errors.

The model is written twice, for one vehicle on floats and for a group on stacked arrays: it runs
every step, and a stack of all six axes costs NumPy a fraction of six single ones. Both do the
same operations in the same order and give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import floor, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pico_gz.core.messages import ImuData
from pico_gz.core.portable_math import TWO_PI
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, any_of, low_pass_gain
from pico_gz.simulator.ops import Column, Ops
from pico_gz.simulator.random import NormalBlock, normal, stream_key
from pico_gz.simulator.sensor_parts import IMU_PARTS, ImuPart
from pico_gz.simulator.sensor_setup import SensorSetup, period_us_of_rate

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


AMBIENT_C = 25.0
# Biases wander slowly: ten steps of their walk per second are enough.
_WANDER_US = 100_000
_WARM_UP_S = 300.0
# The drive shakes the body 8 times per wheel turn going straight. The sides differ, so that the
# phase also runs when the rover spins in place.
_TURNS_LEFT, _TURNS_RIGHT = 5.0 / TWO_PI, 3.0 / TWO_PI
_SHAKE_X, _SHAKE_Y, _SHAKE_Z = 0.5, 0.5, 1.0
_SHAKE_AXES = np.array([[_SHAKE_X], [_SHAKE_Y], [_SHAKE_Z]])
_SHAKE_WHITE = 0.05

Columns3 = tuple[Column, Column, Column]


class Imu(Sensor):
    """f = R^T (a - g) at the IMU's place, shaken, scaled, biased, noisy, saturated, quantised.

    Stacks hold accelerometer x, y, z, then gyro x, y, z.
    """

    _columns = ("_walk", "_warmth_c", "_phase")
    _streams = ("_draws", "_wander_draws")

    def __init__(self, ops: Ops, vehicles: Sequence[SensorSetup], seed: int) -> None:
        super().__init__(ops, period_us_of_rate(vehicles[0].imu_rate_hz))
        self._errors = ImuErrors(vehicles, seed, scalar=self._scalar)
        ids = [v.vehicle_id for v in vehicles]
        self._draws = NormalBlock(seed, ids, "imu", 6, scalar=self._scalar)
        self._wander_draws = NormalBlock(seed, ids, "imu.walk", 6, scalar=self._scalar)
        self._walk: Any = [0.0] * 6 if self._scalar else np.zeros((6, len(ids)))
        # How much warmer than at power-on, and where in its shaking the drive is [turns].
        self._warmth_c: Column = 0.0 if self._scalar else np.zeros(len(ids))
        self._phase: Column = 0.0 if self._scalar else np.zeros(len(ids))
        self._stack = np.zeros((2, 3, len(ids)))
        self._sigma = np.zeros((2, 1, len(ids)))
        self._wander_us = 0
        self._per_s = self._root_s = self._warm_gain = 0.0
        self._variances: tuple[Column, Column] = (0.0, 0.0)
        self._set_bias()

    def align(self, last_us: int) -> None:
        """Prepare for the first sample after ``last_us``."""
        super().align(last_us)
        self._wander_us = (last_us // _WANDER_US + 1) * _WANDER_US

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> list[ImuData]:
        """Return one sample per vehicle."""
        clock = self.clock
        if clock.tick(now_us, dt_us):
            self._set_interval(clock.interval_s)
        if now_us >= self._wander_us:
            self._wander_us = (now_us // _WANDER_US + 1) * _WANDER_US
            self._wander()
        return self._sample_one(motion) if self._scalar else self._sample_group(motion)

    def load(self, place: int, state: Mapping[str, Any]) -> None:
        """Set the state of the vehicle at this place."""
        super().load(place, state)
        self._set_bias()

    def _set_interval(self, interval_s: float) -> None:
        self._variances = self._errors.variances(interval_s)
        self._per_s = 1.0 / interval_s
        wander_s = max(_WANDER_US / US_PER_S, interval_s)
        self._root_s = sqrt(wander_s)
        self._warm_gain = low_pass_gain(wander_s, _WARM_UP_S)

    def _wander(self) -> None:
        """Let the biases walk and the chip warm up."""
        errors, draws, root = self._errors, self._wander_draws.take(), self._root_s
        self._warmth_c = self._warmth_c + (errors.warm_up_c - self._warmth_c) * self._warm_gain
        if self._scalar:
            triples = zip(self._walk, errors.walk, draws, strict=True)
            self._walk = [walk + rate * root * draw for walk, rate, draw in triples]
        else:
            self._walk = self._walk + errors.walk * root * draws
        self._set_bias()

    def _set_bias(self) -> None:
        errors, warmth = self._errors, self._warmth_c
        if self._scalar:
            rows = zip(errors.turn_on, self._walk, errors.per_c, strict=True)
            self._bias: Any = [turn_on + walk + per_c * warmth for turn_on, walk, per_c in rows]
            self._celsius = [AMBIENT_C + warmth]
        else:
            bias = errors.turn_on + self._walk + errors.per_c * warmth
            self._bias = bias.reshape(2, 3, -1)
            self._celsius = (AMBIENT_C + warmth).tolist()

    def _sample_one(self, m: Motion) -> list[ImuData]:
        """Return a lone vehicle's sample; in one piece, because it runs every step."""
        errors = self._errors
        an, ae, ad = m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2 - GRAVITY_MPS2
        fx = m.r00 * an + m.r10 * ae + m.r20 * ad
        fy = m.r01 * an + m.r11 * ae + m.r21 * ad
        fz = m.r02 * an + m.r12 * ae + m.r22 * ad
        if errors.has_lever:
            fx, fy, fz = _with_lever(m, (fx, fy, fz), errors.lever)
        accel_var, gyro_var = self._variances
        if errors.shakes:
            throttle = m.throttle_abs
            phase = _TURNS_LEFT * m.wheel_left_rad + _TURNS_RIGHT * m.wheel_right_rad
            moving = abs(phase - self._phase) * self._per_s
            self._phase = phase
            idle, more = errors.shake
            size = (idle + more * throttle) * (moving if moving < 1.0 else 1.0)
            turn = phase - floor(phase + 0.5)
            shake = size * (turn * (8.0 - 16.0 * abs(turn)))
            fx, fy, fz = fx + shake * _SHAKE_X, fy + shake * _SHAKE_Y, fz + shake * _SHAKE_Z
            white = size * _SHAKE_WHITE
            accel_var = accel_var + white * white
            white = throttle * errors.shake_gyro
            gyro_var = gyro_var + white * white
        b0, b1, b2, b3, b4, b5 = self._bias
        n0, n1, n2, n3, n4, n5 = self._draws.take()
        a, b = errors.figures
        s = sqrt(accel_var)
        accel = _tell_three(a, fx, fy, fz, b0, b1, b2, s * n0, s * n1, s * n2)
        s = sqrt(gyro_var)
        wx, wy, wz = m.rate_x_radps, m.rate_y_radps, m.rate_z_radps
        gyro = _tell_three(b, wx, wy, wz, b3, b4, b5, s * n3, s * n4, s * n5)
        return [ImuData(accel, gyro, self._celsius[0])]

    def _sample_group(self, m: Motion) -> list[ImuData]:
        """Return a group's samples: the same operations on all six axes at once."""
        errors, stack, sigma = self._errors, self._stack, self._sigma
        force = _specific_force(m)
        if errors.has_lever:
            force = _with_lever(m, force, errors.lever)
        stack[0, 0], stack[0, 1], stack[0, 2] = force
        stack[1, 0], stack[1, 1], stack[1, 2] = m.rate_x_radps, m.rate_y_radps, m.rate_z_radps
        sigma[0, 0], sigma[1, 0] = self._variances
        if errors.shakes:
            self._shake_group(m)
        values = stack
        if errors.mixes:
            first, second, third = errors.mix_columns
            values = first * stack[:, 0:1] + second * stack[:, 1:2]
            values += third * stack[:, 2:3]
        values = values + self._bias
        values += np.sqrt(sigma) * self._draws.take().reshape(2, 3, -1)
        np.minimum(values, errors.limit_stack, out=values)
        np.maximum(values, -errors.limit_stack, out=values)
        if errors.any_stepped:
            stepped = values * errors.per_step_stack
            stepped += 0.5
            np.floor(stepped, out=stepped)
            stepped *= errors.step_stack
            values = stepped if errors.all_stepped else np.where(errors.stepped, stepped, values)
        values += 0.0
        (ax, ay, az), (gx, gy, gz) = values.tolist()
        accels, gyros = zip(ax, ay, az, strict=True), zip(gx, gy, gz, strict=True)
        return list(map(ImuData, accels, gyros, self._celsius))

    def _shake_group(self, m: Motion) -> None:
        """Add the drive's vibration: parabolic arcs close to a sine, and white noise.

        Below one shake per second it dies away: standing still must not look like a bias.
        """
        errors, throttle = self._errors, m.throttle_abs
        phase = _TURNS_LEFT * m.wheel_left_rad + _TURNS_RIGHT * m.wheel_right_rad
        moving = np.abs(phase - self._phase) * self._per_s
        self._phase = phase
        idle, more = errors.shake
        size = (idle + more * throttle) * np.minimum(moving, 1.0)
        turn = phase - np.floor(phase + 0.5)
        shake = size * (turn * (8.0 - 16.0 * np.abs(turn)))
        self._stack[0] += shake * _SHAKE_AXES
        white = size * _SHAKE_WHITE
        self._sigma[0, 0] += white * white
        white = throttle * errors.shake_gyro
        self._sigma[1, 0] += white * white


def _specific_force(m: Motion) -> Columns3:
    """Return R^T (a - g) [m/s^2, FRD]."""
    an, ae, ad = m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2 - GRAVITY_MPS2
    return (
        m.r00 * an + m.r10 * ae + m.r20 * ad,
        m.r01 * an + m.r11 * ae + m.r21 * ad,
        m.r02 * an + m.r12 * ae + m.r22 * ad,
    )


def _with_lever(m: Motion, force: Columns3, lever: Any) -> Columns3:
    """Add alpha x p + w x (w x p) for an IMU at p from the reference point."""
    fx, fy, fz = force
    px, py, pz = lever
    wx, wy, wz = m.rate_x_radps, m.rate_y_radps, m.rate_z_radps
    ax, ay, az = m.ang_accel_x_radps2, m.ang_accel_y_radps2, m.ang_accel_z_radps2
    vx, vy, vz = wy * pz - wz * py, wz * px - wx * pz, wx * py - wy * px
    return (
        fx + (ay * pz - az * py) + (wy * vz - wz * vy),
        fy + (az * px - ax * pz) + (wz * vx - wx * vz),
        fz + (ax * py - ay * px) + (wx * vy - wy * vx),
    )


def _tell_three(
    figures: tuple[float, ...],
    x: float, y: float, z: float,
    bx: float, by: float, bz: float,
    nx: float, ny: float, nz: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Return three axes scaled and mixed, biased, noisy, saturated and quantised."""
    a, b, c, d, e, f, g, h, i, limit, safe_sq, lsb, per_lsb = figures
    u = a * x + b * y + c * z + bx + nx
    v = d * x + e * y + f * z + by + ny
    w = g * x + h * y + i * z + bz + nz
    # Shorter than the limit as a vector: no axis can be beyond it.
    if not u * u + v * v + w * w < safe_sq:
        u, v, w = (max(-limit, min(limit, value)) for value in (u, v, w))
    if lsb:
        return (
            floor(u * per_lsb + 0.5) * lsb,
            floor(v * per_lsb + 0.5) * lsb,
            floor(w * per_lsb + 0.5) * lsb,
        )
    return u + 0.0, v + 0.0, w + 0.0
