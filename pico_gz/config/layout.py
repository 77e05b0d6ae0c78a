"""Where the vehicles of a fleet start."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pico_gz import exact
from pico_gz.config.settings import LayoutKind
from pico_gz.exact import FLOATS
from pico_gz.messages.vehicle import Pose


def place(kind: LayoutKind, spacing_m: float, vehicle_ids: Sequence[int]) -> dict[int, Pose]:
    """Give every vehicle its start.

    line
        vehicle n at north 0, east ``spacing_m * (n - 1)``, looking north; so a vehicle stands at
        the same place whoever else is there.
    grid
        as square as possible, rows eastward, the next row north of it, looking north.
    circle
        neighbours ``spacing_m`` apart on a circle round the origin, the first in the north,
        clockwise, looking outward.
    explicit
        all at the origin: their own ``north_m`` and ``east_m`` say where.
    """
    ids = sorted(vehicle_ids)
    if kind is LayoutKind.LINE:
        return {number: Pose(east_m=spacing_m * (number - 1)) for number in ids}
    if kind is LayoutKind.GRID:
        columns = math.isqrt(len(ids) - 1) + 1 if ids else 1
        return {
            number: Pose(north_m=spacing_m * row, east_m=spacing_m * column)
            for number, (row, column) in zip(
                ids, (divmod(index, columns) for index in range(len(ids))), strict=True
            )
        }
    if kind is LayoutKind.CIRCLE:
        return _circle(spacing_m, ids)
    return {number: Pose() for number in ids}


def _circle(spacing_m: float, ids: Sequence[int]) -> dict[int, Pose]:
    count = len(ids)
    if count == 1:
        return {ids[0]: Pose()}
    # The chord between neighbours is spacing_m: 2 r sin(pi / count).
    half_sine, _ = exact.sincos(FLOATS, math.pi / count)
    radius_m = spacing_m / (2.0 * half_sine)
    poses = {}
    for index, number in enumerate(ids):
        yaw_deg = 360.0 * index / count
        sine, cosine = exact.sincos(FLOATS, yaw_deg * exact.RAD_PER_DEG)
        poses[number] = Pose(north_m=radius_m * cosine, east_m=radius_m * sine, yaw_deg=yaw_deg)
    return poses
