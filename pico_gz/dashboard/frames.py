"""The message that is sent most: where everybody is. Binary, 16 bytes per rover.

Little-endian. Header, 16 bytes::

    u8  kind (1)    u8 state (place in STATES)    u16 count    u32 step (modulo 2**32)
    f64 simulation time [s]

Then per rover::

    u8  id          u8 flags (unused bits are 0)  u16 yaw, 65536 per turn, clockwise from north
    i32 north [mm]  i32 east [mm]                 i16 forward speed [mm/s]    i16 height [cm]
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from pico_gz.bridge.view import BridgeState, FleetView

KIND = 1
STATES = tuple(state.value for state in BridgeState)

_HEADER = struct.Struct("<BBHId")
_ROW = np.dtype(
    [
        ("id", "u1"),
        ("flags", "u1"),
        ("yaw", "<u2"),
        ("north", "<i4"),
        ("east", "<i4"),
        ("speed", "<i2"),
        ("height", "<i2"),
    ]
)
_MAX_I16, _MAX_I32 = 32767, 2147483647
_YAW_PER_RAD = 65536.0 / (2.0 * np.pi)


def encode_frame(view: FleetView, state: BridgeState) -> bytes:
    """One published step as bytes."""
    header = _HEADER.pack(
        KIND, STATES.index(state.value), len(view.truth), view.step % 2**32, view.time_us / 1e6
    )
    return header + _rows(view).tobytes()


def _rows(view: FleetView) -> NDArray[np.void]:
    rows = np.zeros(len(view.truth), _ROW)
    if not len(rows):
        return rows
    truths = view.truth.values()
    rows["id"] = list(view.truth)
    north, east, down = np.array([(t.north_m, t.east_m, t.down_m) for t in truths]).T
    w, x, y, z = np.array([t.quat_wxyz for t in truths]).T
    velocity = np.array([t.velocity_ned_mps for t in truths])
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    forward = velocity[:, 0] * np.cos(yaw) + velocity[:, 1] * np.sin(yaw)
    rows["yaw"] = _whole(yaw * _YAW_PER_RAD, _MAX_I32) % 65536
    rows["north"] = _whole(north * 1000.0, _MAX_I32)
    rows["east"] = _whole(east * 1000.0, _MAX_I32)
    rows["speed"] = _whole(forward * 1000.0, _MAX_I16)
    rows["height"] = _whole(-down * 100.0, _MAX_I16)
    return rows


def _whole(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    held: NDArray[np.float64] = np.clip(np.nan_to_num(np.rint(values)), -most, most)
    return held.astype(np.int64)
