"""Where the simulator has a vehicle, for SIMSTATE: beside the telemetry, never in it."""

from __future__ import annotations

from collections.abc import Callable

from pico_gz.bridge.view import FleetView
from pico_gz.frames import euler_from_quat, quat_conjugate, quat_rotate
from pico_gz.local_frame import LocalFrame
from pico_gz.mavlink.telemetry import SimState
from pico_gz.messages import VehicleTruth
from pico_gz.simulator.ops import SCALAR

_GRAVITY_MPS2 = 9.80665


class TruthReader:
    """Reads a vehicle's truth from the newest published view; observers only."""

    def __init__(self, view: Callable[[], FleetView], frame: LocalFrame) -> None:
        self._view = view
        self._frame = frame

    def of(self, vehicle_id: int) -> Callable[[], SimState | None]:
        """Return what gives the state of one vehicle, ``None`` before its first step."""

        def read() -> SimState | None:
            truth = self._view().truth.get(vehicle_id)
            return None if truth is None else _state(truth, self._frame)

        return read


def _state(truth: VehicleTruth, frame: LocalFrame) -> SimState:
    roll_rad, pitch_rad, yaw_rad = euler_from_quat(truth.quat_wxyz)
    north, east, down = truth.accel_ned_mps2
    lat_deg, lon_deg, _ = frame.geodetic_from_ned(SCALAR, truth.north_m, truth.east_m, truth.down_m)
    return SimState(
        roll_rad=roll_rad,
        pitch_rad=pitch_rad,
        yaw_rad=yaw_rad,
        # What an accelerometer feels: a rover at rest is held up against gravity.
        accel_mps2=quat_rotate(
            quat_conjugate(truth.quat_wxyz), (north, east, down - _GRAVITY_MPS2)
        ),
        gyro_radps=truth.rates_frd_radps,
        lat_e7=round(lat_deg * 1e7),
        lon_e7=round(lon_deg * 1e7),
    )
