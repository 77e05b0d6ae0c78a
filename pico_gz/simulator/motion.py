"""How one vehicle (floats) or a fleet (arrays) moves: what sensors are computed from."""

from __future__ import annotations

from pico_gz.simulator.ops import Column

MOTION_FIELDS = (
    "north_m", "east_m", "down_m",
    "vel_n_mps", "vel_e_mps", "vel_d_mps",
    "accel_n_mps2", "accel_e_mps2", "accel_d_mps2",
    "r00", "r01", "r02", "r10", "r11", "r12", "r20", "r21", "r22",
    "rate_x_radps", "rate_y_radps", "rate_z_radps",
    "ang_accel_x_radps2", "ang_accel_y_radps2", "ang_accel_z_radps2",
    "wheel_left_rad", "wheel_right_rad",
    "load_left", "load_right", "throttle_abs", "speed_mps",
    "wind_n_mps", "wind_e_mps",
)  # fmt: skip


class Motion:
    """Truth in columns. NED world, FRD body; ``rIJ`` is the rotation NED-from-FRD, row I.

    ``wheel_*_rad`` are wheel angles since the start (before slip), ``load_*`` the motor loads
    0..1 and ``throttle_abs`` the mean |command| 0..1, for battery, vibration and compass.
    """

    __slots__ = MOTION_FIELDS

    north_m: Column
    east_m: Column
    down_m: Column
    vel_n_mps: Column
    vel_e_mps: Column
    vel_d_mps: Column
    accel_n_mps2: Column
    accel_e_mps2: Column
    accel_d_mps2: Column
    r00: Column
    r01: Column
    r02: Column
    r10: Column
    r11: Column
    r12: Column
    r20: Column
    r21: Column
    r22: Column
    rate_x_radps: Column
    rate_y_radps: Column
    rate_z_radps: Column
    ang_accel_x_radps2: Column
    ang_accel_y_radps2: Column
    ang_accel_z_radps2: Column
    wheel_left_rad: Column
    wheel_right_rad: Column
    load_left: Column
    load_right: Column
    throttle_abs: Column
    speed_mps: Column
    wind_n_mps: Column
    wind_e_mps: Column

    def __init__(self) -> None:
        for name in MOTION_FIELDS:
            setattr(self, name, 0.0)
        self.r00 = self.r11 = self.r22 = 1.0
