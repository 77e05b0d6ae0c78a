"""Attitude as a rotation matrix NED-from-FRD, from heading and ground."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pico_gz.simulator.motion import Motion
from pico_gz.simulator.ops import SCALAR, Column, Ops

Vector = tuple[Column, Column, Column]
Quaternions = tuple[Column, Column, Column, Column]
Formula = Callable[[Ops, "Attitude | Motion"], Quaternions]


class Attitude(NamedTuple):
    """Rows of the rotation; its columns are the body's axes seen in NED."""

    r00: Column
    r01: Column
    r02: Column
    r10: Column
    r11: Column
    r12: Column
    r20: Column
    r21: Column
    r22: Column

    @classmethod
    def of(cls, motion: Motion) -> Attitude:
        """The attitude that a motion holds."""
        m = motion
        return cls(m.r00, m.r01, m.r02, m.r10, m.r11, m.r12, m.r20, m.r21, m.r22)

    def put(self, motion: Motion) -> None:
        """Write it into a motion."""
        for name, value in zip(self._fields, self, strict=True):
            setattr(motion, name, value)

    def turn(self, x: Column, y: Column, z: Column) -> Vector:
        """Turn a vector from the body into NED."""
        return (
            self.r00 * x + self.r01 * y + self.r02 * z,
            self.r10 * x + self.r11 * y + self.r12 * z,
            self.r20 * x + self.r21 * y + self.r22 * z,
        )


def level_attitude(cos_yaw: Column, sin_yaw: Column, zero: Column, one: Column) -> Attitude:
    """On level ground only the heading counts."""
    return Attitude(cos_yaw, -sin_yaw, zero, sin_yaw, cos_yaw, zero, zero, zero, one)


def surface_attitude(
    ops: Ops, cos_yaw: Column, sin_yaw: Column, to_north: Column, to_east: Column
) -> Attitude:
    """Standing on ground that rises by ``to_north`` and ``to_east`` per metre."""
    rise = to_north * cos_yaw + to_east * sin_yaw
    x_scale = 1.0 / ops.sqrt(1.0 + rise * rise)
    x0, x1, x2 = cos_yaw * x_scale, sin_yaw * x_scale, -rise * x_scale
    z_scale = 1.0 / ops.sqrt(1.0 + (to_north * to_north + to_east * to_east))
    z0, z1, z2 = to_north * z_scale, to_east * z_scale, z_scale
    # y = z cross x
    y0, y1, y2 = z1 * x2 - z2 * x1, z2 * x0 - z0 * x2, z0 * x1 - z1 * x0
    return Attitude(x0, y0, z0, x1, y1, z1, x2, y2, z2)


def body_rates(ops: Ops, before: Attitude, now: Attitude, dt_s: float) -> Vector:
    """Mean angular rate in the body frame that leads from one attitude to the other.

    The rotation vector comes from the antisymmetric part of the relative rotation (its length
    is the sine of the angle) by the series of the arc sine, good for angles up to about 0.5.
    """
    a, b = before, now
    # relative = before^T now; only its off-diagonal elements are needed.
    r21 = a.r02 * b.r01 + a.r12 * b.r11 + a.r22 * b.r21
    r12 = a.r01 * b.r02 + a.r11 * b.r12 + a.r21 * b.r22
    r02 = a.r00 * b.r02 + a.r10 * b.r12 + a.r20 * b.r22
    r20 = a.r02 * b.r00 + a.r12 * b.r10 + a.r22 * b.r20
    r10 = a.r01 * b.r00 + a.r11 * b.r10 + a.r21 * b.r20
    r01 = a.r00 * b.r01 + a.r10 * b.r11 + a.r20 * b.r21
    x, y, z = 0.5 * (r21 - r12), 0.5 * (r02 - r20), 0.5 * (r10 - r01)
    s = x * x + y * y + z * z
    scale = 1.0 + s * (
        1.0 / 6.0
        + s * (3.0 / 40.0 + s * (15.0 / 336.0 + s * (105.0 / 3456.0 + s * 945.0 / 42240.0)))
    )
    scale = scale / dt_s
    return x * scale, y * scale, z * scale


def quaternions(ops: Ops, attitude: Attitude | Motion) -> Quaternions:
    """(w, x, y, z) of attitudes, w >= 0; roots and divisions only.

    The largest of the four comes from the diagonal, the others from it, so that nothing is
    divided by a small number.
    """
    if ops is SCALAR:
        return _formula(attitude)(ops, attitude)
    rows = attitude if isinstance(attitude, Attitude) else Attitude.of(attitude)
    largest = _largest(ops, rows)
    found = np.empty((4, len(largest)))
    for number, formula in enumerate(_BY_LARGEST):
        chosen = largest == number
        if ops.any(chosen):
            found[:, chosen] = formula(ops, Attitude(*(column[chosen] for column in rows)))
    w, x, y, z = found
    return w, x, y, z


def _formula(r: Attitude | Motion) -> Formula:
    """Which component of one attitude to begin with."""
    if r.r00 + r.r11 + r.r22 > 0.0:
        return _from_w
    if r.r00 >= r.r11 and r.r00 >= r.r22:
        return _from_x
    return _from_y if r.r11 >= r.r22 else _from_z


def _largest(ops: Ops, r: Attitude) -> Column:
    """Which component to begin with: 0 w, 1 x, 2 y, 3 z."""
    by_diagonal = ops.where(
        (r.r00 >= r.r11) & (r.r00 >= r.r22), 1.0, ops.where(r.r11 >= r.r22, 2.0, 3.0)
    )
    return ops.where(r.r00 + r.r11 + r.r22 > 0.0, 0.0, by_diagonal)


def _from_w(ops: Ops, r: Attitude | Motion) -> Quaternions:
    w = 0.5 * ops.sqrt(1.0 + (r.r00 + r.r11 + r.r22))
    scale = 0.25 / w
    return w, (r.r21 - r.r12) * scale, (r.r02 - r.r20) * scale, (r.r10 - r.r01) * scale


def _from_x(ops: Ops, r: Attitude | Motion) -> Quaternions:
    x = 0.5 * ops.sqrt(1.0 + r.r00 - r.r11 - r.r22)
    scale = 0.25 / x
    return _upright(
        ops, (r.r21 - r.r12) * scale, x, (r.r01 + r.r10) * scale, (r.r02 + r.r20) * scale
    )


def _from_y(ops: Ops, r: Attitude | Motion) -> Quaternions:
    y = 0.5 * ops.sqrt(1.0 + r.r11 - r.r00 - r.r22)
    scale = 0.25 / y
    return _upright(
        ops, (r.r02 - r.r20) * scale, (r.r01 + r.r10) * scale, y, (r.r12 + r.r21) * scale
    )


def _from_z(ops: Ops, r: Attitude | Motion) -> Quaternions:
    z = 0.5 * ops.sqrt(1.0 + r.r22 - r.r00 - r.r11)
    scale = 0.25 / z
    return _upright(
        ops, (r.r10 - r.r01) * scale, (r.r02 + r.r20) * scale, (r.r12 + r.r21) * scale, z
    )


def _upright(ops: Ops, w: Column, x: Column, y: Column, z: Column) -> Quaternions:
    """Of the two quaternions of one attitude, the one with w >= 0."""
    sign = ops.where(w < 0.0, -1.0, 1.0)
    return w * sign, x * sign, y * sign, z * sign


_BY_LARGEST = (_from_w, _from_x, _from_y, _from_z)
