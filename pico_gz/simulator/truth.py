"""Truth messages from columns of motion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from pico_gz.messages import VehicleTruth
from pico_gz.simulator.attitude import quaternions
from pico_gz.simulator.motion import Motion
from pico_gz.simulator.ops import ARRAY, SCALAR, Ops

# In threes, as the vectors of the message; the wind has no third.
_USED = (
    "north_m", "east_m", "down_m",
    "vel_n_mps", "vel_e_mps", "vel_d_mps",
    "rate_x_radps", "rate_y_radps", "rate_z_radps",
    "accel_n_mps2", "accel_e_mps2", "accel_d_mps2",
    "ang_accel_x_radps2", "ang_accel_y_radps2", "ang_accel_z_radps2",
    "wind_n_mps", "wind_e_mps",
)  # fmt: skip


def truth_of(
    ops: Ops, vehicle_ids: Sequence[int], time_us: int, motion: Motion
) -> list[VehicleTruth]:
    """One message per vehicle of a lane, in its order."""
    if ops is SCALAR:
        return [_truth_of_one(vehicle_ids[0], time_us, motion)]
    return _truth_of_group(vehicle_ids, time_us, motion)


def _truth_of_one(vehicle_id: int, time_us: int, m: Motion) -> VehicleTruth:
    return VehicleTruth(
        time_us,
        vehicle_id,
        m.north_m,
        m.east_m,
        m.down_m,
        quaternions(SCALAR, m),
        (m.vel_n_mps, m.vel_e_mps, m.vel_d_mps),
        (m.rate_x_radps, m.rate_y_radps, m.rate_z_radps),
        (m.accel_n_mps2, m.accel_e_mps2, m.accel_d_mps2),
        (m.ang_accel_x_radps2, m.ang_accel_y_radps2, m.ang_accel_z_radps2),
        (m.wind_n_mps, m.wind_e_mps, 0.0),
    )


def _truth_of_group(vehicle_ids: Sequence[int], time_us: int, motion: Motion) -> list[VehicleTruth]:
    # Column by column into ``map``: without a Python frame per vehicle it takes a third.
    n, e, d, vn, ve, vd, wx, wy, wz, an, ae, ad, ux, uy, uz, wind_n, wind_e = np.stack(
        [getattr(motion, name) for name in _USED]
    ).tolist()
    turned = np.stack(quaternions(ARRAY, motion)).tolist()
    return list(
        map(
            VehicleTruth,
            repeat(time_us),
            vehicle_ids,
            n,
            e,
            d,
            zip(*turned, strict=True),
            zip(vn, ve, vd, strict=True),
            zip(wx, wy, wz, strict=True),
            zip(an, ae, ad, strict=True),
            zip(ux, uy, uz, strict=True),
            zip(wind_n, wind_e, repeat(0.0), strict=False),
        )
    )
