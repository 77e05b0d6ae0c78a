"""Truth messages from columns of motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pico_gz.messages import VehicleTruth
from pico_gz.simulator.attitude import Attitude, quaternions
from pico_gz.simulator.motion import Motion
from pico_gz.simulator.ops import SCALAR, Ops

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
    columns = [getattr(motion, name) for name in _USED]
    attitudes = quaternions(ops, Attitude.of(motion))
    if ops is SCALAR:
        return [_message(vehicle_ids[0], time_us, columns, list(attitudes))]
    rows = np.stack(columns, axis=1).tolist()
    turned = np.stack(attitudes, axis=1).tolist()
    return [
        _message(vehicle_id, time_us, row, quaternion)
        for vehicle_id, row, quaternion in zip(vehicle_ids, rows, turned, strict=True)
    ]


def _message(
    vehicle_id: int, time_us: int, row: list[float], quaternion: list[float]
) -> VehicleTruth:
    n, e, d, vn, ve, vd, wx, wy, wz, an, ae, ad, ux, uy, uz, wind_n, wind_e = row
    w, x, y, z = quaternion
    return VehicleTruth(
        timestamp_us=time_us,
        vehicle_id=vehicle_id,
        north_m=n,
        east_m=e,
        down_m=d,
        quat_wxyz=(w, x, y, z),
        velocity_ned_mps=(vn, ve, vd),
        rates_frd_radps=(wx, wy, wz),
        accel_ned_mps2=(an, ae, ad),
        angular_accel_frd_radps2=(ux, uy, uz),
        wind_ned_mps=(wind_n, wind_e, 0.0),
    )
