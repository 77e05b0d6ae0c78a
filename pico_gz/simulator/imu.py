"""Accelerometer and gyro: specific force and angular rate with their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import floor, sqrt
from typing import Any

from pico_gz.core.messages import ImuData, Vector3
from pico_gz.core.portable_math import TWO_PI
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, low_pass_gain
from pico_gz.simulator.random import NormalStream, normal, stream_key
from pico_gz.simulator.sensor_parts import IMU_PARTS, ImuPart
from pico_gz.simulator.sensor_setup import SensorSetup, period_us_of_rate

AMBIENT_C = 25.0
# Where each draw of a run is used: 6 turn-on biases, 6 per degree, then two 3 x 3 matrices.
_TURN_ON, _PER_C, _MIX = 0, 6, 12
# Part of a limit's square that rounding cannot carry beyond the limit.
_SAFE = 0.999
# Biases wander slowly: ten steps of their walk per second are enough.
_WANDER_US = 100_000
_WARM_UP_S = 300.0
# The drive shakes the body 8 times per wheel turn going straight. The sides differ, so that the
# phase also runs when the rover spins in place.
_TURNS_LEFT, _TURNS_RIGHT = 5.0 / TWO_PI, 3.0 / TWO_PI
_SHAKE_X, _SHAKE_Y, _SHAKE_Z = 0.5, 0.5, 1.0
_SHAKE_WHITE = 0.05


class Imu(Sensor):
    """f = R^T (a - g) at the IMU's place, shaken, scaled, biased, noisy, saturated, quantised.

    Lists of six hold accelerometer x, y, z, then gyro x, y, z. ``accel`` and ``gyro`` are the
    nine figures of a matrix (scale and cross-talk), the limit, the square of a length that
    surely lies within it, the resolution and its inverse.
    """

    __slots__ = (
        "_accel_var", "_gyro_var", "_per_s", "_root_s", "_warm_gain", "accel", "bias",
        "densities_sq", "draws", "gyro", "has_lever", "lever", "per_c", "phase", "shake",
        "shakes", "turn_on", "walk", "walk_rate", "wander_draws", "wander_us", "warm_up_c",
        "warmth_c", "whites_sq",
    )  # fmt: skip
    state_fields = ("walk", "warmth_c", "phase")
    stream_fields = ("draws", "wander_draws")

    def __init__(self, setup: SensorSetup, seed: int) -> None:
        super().__init__(period_us_of_rate(setup.imu_rate_hz))
        part = _effective_part(setup)
        key = stream_key(seed, setup.vehicle_id, "imu.turn_on")
        self.draws = NormalStream(seed, setup.vehicle_id, "imu", 6)
        self.wander_draws = NormalStream(seed, setup.vehicle_id, "imu.walk", 6)
        self.walk_rate = [part.accel_walk] * 3 + [part.gyro_walk] * 3
        sigmas = (part.accel_turn_on, part.gyro_turn_on)
        self.turn_on = [sigmas[k // 3] * normal(key, _TURN_ON + k) for k in range(6)]
        sigmas = (part.accel_per_c, part.gyro_per_c)
        self.per_c = [sigmas[k // 3] * normal(key, _PER_C + k) for k in range(6)]
        smooth = setup.noise.scale == 0.0
        limits = (part.accel_limit, part.accel_lsb), (part.gyro_limit, part.gyro_lsb)
        self.accel, self.gyro = (
            [
                *_matrix(part, key, number),
                limit,
                _SAFE * (limit * limit),
                0.0 if smooth else lsb,
                1.0 / ((0.0 if smooth else lsb) or 1.0),
            ]
            for number, (limit, lsb) in enumerate(limits)
        )
        idle, more = part.vibration_mps2
        # Shaking at rest, further at full throttle, and white noise of the gyro.
        self.shake = [part * setup.vibration for part in (idle, more, part.vibration_radps)]
        self.shakes = any(self.shake)
        self.lever = list(setup.imu_position_frd_m)
        self.has_lever = any(self.lever)
        self.densities_sq = [part.accel_density * part.accel_density]
        self.densities_sq.append(part.gyro_density * part.gyro_density)
        self.whites_sq = [part.accel_white * part.accel_white, part.gyro_white * part.gyro_white]
        self.walk = [0.0] * 6
        # How much warmer than at power-on, and where in its shaking the drive is [turns].
        self.warm_up_c = part.warm_up_c
        self.warmth_c = self.phase = 0.0
        self.wander_us = 0
        self._accel_var = self._gyro_var = self._per_s = self._root_s = self._warm_gain = 0.0
        self.bias: list[float] = []
        self._set_bias()

    def align(self, last_us: int) -> None:
        """Prepare for the first sample after ``last_us``."""
        super().align(last_us)
        self.wander_us = (last_us // _WANDER_US + 1) * _WANDER_US

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave."""
        super().load(state)
        self._set_bias()

    def sample(self, now_us: int, dt_us: int, m: Motion) -> ImuData:
        """Return a sample; in one piece, because it runs every step."""
        self._tick(now_us, dt_us)
        if now_us >= self.wander_us:
            self._wander(now_us)
        an, ae, ad = m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2 - GRAVITY_MPS2
        fx = m.r00 * an + m.r10 * ae + m.r20 * ad
        fy = m.r01 * an + m.r11 * ae + m.r21 * ad
        fz = m.r02 * an + m.r12 * ae + m.r22 * ad
        if self.has_lever:
            fx, fy, fz = _with_lever(m, (fx, fy, fz), self.lever)
        accel_var, gyro_var = self._accel_var, self._gyro_var
        if self.shakes:
            throttle = m.throttle_abs
            phase = _TURNS_LEFT * m.wheel_left_rad + _TURNS_RIGHT * m.wheel_right_rad
            # Below one shake per second it dies away: standing must not look like a bias.
            moving = abs(phase - self.phase) * self._per_s
            self.phase = phase
            idle, more, shake_gyro = self.shake
            size = (idle + more * throttle) * (moving if moving < 1.0 else 1.0)
            turn = phase - floor(phase + 0.5)
            # Parabolic arcs, close to a sine.
            shake = size * (turn * (8.0 - 16.0 * abs(turn)))
            fx, fy, fz = fx + shake * _SHAKE_X, fy + shake * _SHAKE_Y, fz + shake * _SHAKE_Z
            white = size * _SHAKE_WHITE
            accel_var = accel_var + white * white
            white = throttle * shake_gyro
            gyro_var = gyro_var + white * white
        b0, b1, b2, b3, b4, b5 = self.bias
        n0, n1, n2, n3, n4, n5 = self.draws.take()
        s = sqrt(accel_var)
        accel = _three(self.accel, fx, fy, fz, b0, b1, b2, s * n0, s * n1, s * n2)
        s = sqrt(gyro_var)
        wx, wy, wz = m.rate_x_radps, m.rate_y_radps, m.rate_z_radps
        gyro = _three(self.gyro, wx, wy, wz, b3, b4, b5, s * n3, s * n4, s * n5)
        return ImuData(accel, gyro, AMBIENT_C + self.warmth_c)

    def _set_interval(self, interval_s: float) -> None:
        self._accel_var = self.densities_sq[0] / interval_s + self.whites_sq[0]
        self._gyro_var = self.densities_sq[1] / interval_s + self.whites_sq[1]
        self._per_s = 1.0 / interval_s
        wander_s = max(_WANDER_US / US_PER_S, interval_s)
        self._root_s = sqrt(wander_s)
        self._warm_gain = low_pass_gain(wander_s, _WARM_UP_S)

    def _wander(self, now_us: int) -> None:
        """Let the biases walk and the chip warm up."""
        self.wander_us = (now_us // _WANDER_US + 1) * _WANDER_US
        self.warmth_c = self.warmth_c + (self.warm_up_c - self.warmth_c) * self._warm_gain
        root = self._root_s
        triples = zip(self.walk, self.walk_rate, self.wander_draws.take(), strict=True)
        self.walk = [walk + rate * root * draw for walk, rate, draw in triples]
        self._set_bias()

    def _set_bias(self) -> None:
        warmth = self.warmth_c
        rows = zip(self.turn_on, self.walk, self.per_c, strict=True)
        self.bias = [turn_on + walk + per_c * warmth for turn_on, walk, per_c in rows]


def _matrix(part: ImuPart, key: int, sensor: int) -> list[float]:
    """Return scale and cross-talk of accelerometer (0) or gyro (1), row by row."""
    draws = [normal(key, _MIX + 9 * sensor + k) for k in range(9)]
    return [1.0 + part.scale * d if k % 4 == 0 else part.cross * d for k, d in enumerate(draws)]


def _effective_part(setup: SensorSetup) -> ImuPart:
    """Return the vehicle's part with every figure multiplied by its noise profile."""
    part, scale = IMU_PARTS[setup.imu], setup.noise.scale
    if setup.accel_noise_mss is not None:
        part = replace(part, accel_density=0.0, accel_white=setup.accel_noise_mss)
    if setup.gyro_noise_rads is not None:
        part = replace(part, gyro_density=0.0, gyro_white=setup.gyro_noise_rads)
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


def _with_lever(m: Motion, force: Vector3, lever: list[float]) -> Vector3:
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


def _three(
    figures: list[float],
    x: float, y: float, z: float,
    bx: float, by: float, bz: float,
    nx: float, ny: float, nz: float,
) -> Vector3:  # fmt: skip
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
