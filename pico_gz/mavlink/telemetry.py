"""The autopilot's estimate as packed MAVLink messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pico_gz.core.ground_control import Telemetry
from pico_gz.mavlink.codec import (
    U8_MAX,
    U16_MAX,
    U32_MAX,
    Outgoing,
    Packer,
    i16,
    i32,
    mav,
    u16,
    whole,
)

_RC_SLOTS = 18
_SERVOS = 16
_BATTERY_CELLS = 10
_FREE_BYTES = 65_536

_SYS_STATUS = Packer(mav.MAVLink_sys_status_message)
_SYSTEM_TIME = Packer(mav.MAVLink_system_time_message)
_GPS_RAW_INT = Packer(mav.MAVLink_gps_raw_int_message)
_RAW_IMU = Packer(mav.MAVLink_raw_imu_message)
_SCALED_PRESSURE = Packer(mav.MAVLink_scaled_pressure_message)
_ATTITUDE = Packer(mav.MAVLink_attitude_message)
_LOCAL_POSITION_NED = Packer(mav.MAVLink_local_position_ned_message)
_GLOBAL_POSITION_INT = Packer(mav.MAVLink_global_position_int_message)
_SERVO_OUTPUT_RAW = Packer(mav.MAVLink_servo_output_raw_message)
_MISSION_CURRENT = Packer(mav.MAVLink_mission_current_message)
_NAV_CONTROLLER_OUTPUT = Packer(mav.MAVLink_nav_controller_output_message)
_RC_CHANNELS = Packer(mav.MAVLink_rc_channels_message)
_VFR_HUD = Packer(mav.MAVLink_vfr_hud_message)
_POSITION_TARGET_GLOBAL_INT = Packer(mav.MAVLink_position_target_global_int_message)
_BATTERY_STATUS = Packer(mav.MAVLink_battery_status_message)
_MEMINFO = Packer(mav.MAVLink_meminfo_message)
_FENCE_STATUS = Packer(mav.MAVLink_fence_status_message)
_SIMSTATE = Packer(mav.MAVLink_simstate_message)
_EKF_STATUS_REPORT = Packer(mav.MAVLink_ekf_status_report_message)
_VIBRATION = Packer(mav.MAVLink_vibration_message)
_HOME_POSITION = Packer(mav.MAVLink_home_position_message)
_GPS_GLOBAL_ORIGIN = Packer(mav.MAVLink_gps_global_origin_message)
_CURRENT_MODE = Packer(mav.MAVLink_current_mode_message)


@dataclass(frozen=True, slots=True)
class SimState:
    """Where the simulator says a vehicle is, for SIMSTATE only; angles in radians, FRD."""

    roll_rad: float
    pitch_rad: float
    yaw_rad: float
    accel_mps2: tuple[float, float, float]
    gyro_radps: tuple[float, float, float]
    lat_e7: int
    lon_e7: int


@dataclass(frozen=True, slots=True)
class TelemetrySource:
    """What messages need beside the telemetry.

    Attributes:
        epoch_us: Unix time at simulation time zero [us].
        sim_state: gives the simulator's own state; without it SIMSTATE does not exist.
    """

    epoch_us: int = 0
    sim_state: Callable[[], SimState | None] | None = None


Builder = Callable[[Telemetry, TelemetrySource], Outgoing | None]


def _boot_ms(t: Telemetry) -> int:
    return (t.time_us // 1000) & U32_MAX


def _centidegrees(yaw_rad: float) -> int:
    """Return a heading in 0..35999; NaN is "unknown"."""
    if not math.isfinite(yaw_rad):
        return U16_MAX
    return math.floor(math.degrees(yaw_rad) * 100.0 + 0.5) % 36000


def _sys_status(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _SYS_STATUS(
        t.sensors_present & U32_MAX,
        t.sensors_enabled & U32_MAX,
        t.sensors_healthy & U32_MAX,
        whole(t.load_permille, 0, 1000),
        u16(t.battery_v * 1000.0),
        i16(t.battery_a * 100.0),
        whole(t.battery_remaining_percent, -1, 100, nan=-1),
        *(0, 0, 0, 0, 0, 0),
    )


def _system_time(t: Telemetry, s: TelemetrySource) -> Outgoing:
    return _SYSTEM_TIME(s.epoch_us + t.time_us, _boot_ms(t))


def _gps_raw_int(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _GPS_RAW_INT(
        t.time_us,
        whole(t.gps_fix, 0, 8),
        t.gps_lat_e7,
        t.gps_lon_e7,
        i32(t.gps_alt_m * 1000.0),
        u16(t.gps_hdop * 100.0, nan=U16_MAX),
        U16_MAX,
        u16(t.gps_speed_mps * 100.0, nan=U16_MAX),
        _centidegrees(math.radians(t.gps_course_deg)),
        whole(t.gps_satellites, 0, U8_MAX, nan=U8_MAX),
    )


def _raw_imu(t: Telemetry, _: TelemetrySource) -> Outgoing:
    milli_g = 1000.0 / 9.80665
    return _RAW_IMU(
        t.time_us,
        *(i16(axis * milli_g) for axis in t.accel_mps2),
        *(i16(axis * 1000.0) for axis in t.gyro_radps),
        *(i16(axis * 1000.0) for axis in t.mag_gauss),
        0,
        i16(t.temperature_c * 100.0),
    )


def _scaled_pressure(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _SCALED_PRESSURE(_boot_ms(t), t.pressure_pa * 0.01, 0.0, i16(t.temperature_c * 100.0))


def _attitude(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _ATTITUDE(_boot_ms(t), t.roll_rad, t.pitch_rad, t.yaw_rad, *t.rates_radps)


def _local_position_ned(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _LOCAL_POSITION_NED(_boot_ms(t), t.north_m, t.east_m, t.down_m, *t.velocity_ned_mps)


def _global_position_int(t: Telemetry, _: TelemetrySource) -> Outgoing:
    north, east, down = t.velocity_ned_mps
    return _GLOBAL_POSITION_INT(
        _boot_ms(t),
        t.lat_e7,
        t.lon_e7,
        i32(t.alt_m * 1000.0),
        i32(t.relative_alt_m * 1000.0),
        i16(north * 100.0),
        i16(east * 100.0),
        i16(down * 100.0),
        _centidegrees(t.yaw_rad),
    )


def _servo_output_raw(t: Telemetry, _: TelemetrySource) -> Outgoing:
    servos = [u16(pulse) for pulse in t.servo_us[:_SERVOS]]
    servos += [0] * (_SERVOS - len(servos))
    return _SERVO_OUTPUT_RAW(t.time_us & U32_MAX, 0, *servos)


def _mission_current(t: Telemetry, _: TelemetrySource) -> Outgoing:
    total = t.mission_count or U16_MAX  # which means that there is no mission
    return _MISSION_CURRENT(
        whole(t.mission_current, 0, U16_MAX), whole(total, 0, U16_MAX), t.mission_state & U8_MAX, 0
    )


def _nav_controller_output(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _NAV_CONTROLLER_OUTPUT(
        math.degrees(t.roll_rad),
        math.degrees(t.pitch_rad),
        i16(t.nav_bearing_deg),
        i16(t.target_bearing_deg),
        u16(t.waypoint_distance_m),
        0.0,
        t.speed_error_mps,
        t.cross_track_m,
    )


def _rc_channels(t: Telemetry, _: TelemetrySource) -> Outgoing:
    channels = [u16(pulse) for pulse in t.rc_us[:_RC_SLOTS]]
    count = len(channels)
    channels += [U16_MAX] * (_RC_SLOTS - count)
    return _RC_CHANNELS(_boot_ms(t), count, *channels, 254 if t.rc_valid else 0)


def _vfr_hud(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _VFR_HUD(
        0.0,
        t.ground_speed_mps,
        _centidegrees(t.yaw_rad) // 100 if math.isfinite(t.yaw_rad) else 0,
        u16(abs(t.throttle_percent)),
        t.alt_m,
        -t.velocity_ned_mps[2],
    )


def _position_target_global_int(t: Telemetry, _: TelemetrySource) -> Outgoing | None:
    if not t.target_valid:
        return None
    ignore_all_but_position = 0b1101_1111_1000
    return _POSITION_TARGET_GLOBAL_INT(
        _boot_ms(t),
        mav.MAV_FRAME_GLOBAL,
        ignore_all_but_position,
        t.target_lat_e7,
        t.target_lon_e7,
        t.alt_m,
        *(0.0,) * 8,
    )


def _battery_status(t: Telemetry, _: TelemetrySource) -> Outgoing:
    voltages = [U16_MAX] * _BATTERY_CELLS
    voltages[0] = whole(t.battery_v * 1000.0, 0, U16_MAX - 1)
    return _BATTERY_STATUS(
        0,
        mav.MAV_BATTERY_FUNCTION_ALL,
        mav.MAV_BATTERY_TYPE_LIPO,
        32767,
        voltages,
        i16(t.battery_a * 100.0),
        i32(t.battery_consumed_mah),
        -1,
        whole(t.battery_remaining_percent, -1, 100, nan=-1),
    )


def _meminfo(_t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _MEMINFO(0, U16_MAX, _FREE_BYTES)


def _fence_status(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _FENCE_STATUS(
        int(t.fence_breached),
        u16(t.fence_breach_count),
        whole(t.fence_breach_type, 0, U8_MAX),
        _boot_ms(t) if t.fence_breached else 0,
    )


def _simstate(_t: Telemetry, s: TelemetrySource) -> Outgoing | None:
    state = s.sim_state() if s.sim_state is not None else None
    if state is None:
        return None
    return _SIMSTATE(
        state.roll_rad,
        state.pitch_rad,
        state.yaw_rad,
        *state.accel_mps2,
        *state.gyro_radps,
        state.lat_e7,
        state.lon_e7,
    )


def _ekf_status_report(t: Telemetry, _: TelemetrySource) -> Outgoing:
    velocity, position, height, compass = t.ekf_variances
    return _EKF_STATUS_REPORT(t.ekf_flags & U16_MAX, velocity, position, height, compass, 0.0)


def _vibration(t: Telemetry, _: TelemetrySource) -> Outgoing:
    return _VIBRATION(t.time_us, *t.vibration_mps2, 0, 0, 0)


def home_position(t: Telemetry, _: TelemetrySource) -> Outgoing | None:
    """Build HOME_POSITION, or None before there is a home."""
    if not t.home_valid:
        return None
    return _HOME_POSITION(
        t.home_lat_e7,
        t.home_lon_e7,
        i32(t.home_alt_m * 1000.0),
        *(0.0, 0.0, 0.0),
        [1.0, 0.0, 0.0, 0.0],
        *(0.0, 0.0, 0.0),
        t.time_us,
    )


def gps_global_origin(t: Telemetry, _: TelemetrySource) -> Outgoing | None:
    """Build GPS_GLOBAL_ORIGIN: where the local positions count from."""
    if not t.origin_valid:
        return None
    return _GPS_GLOBAL_ORIGIN(
        t.origin_lat_e7, t.origin_lon_e7, i32(t.origin_alt_m * 1000.0), t.time_us
    )


def current_mode(t: Telemetry, _: TelemetrySource) -> Outgoing:
    """Build CURRENT_MODE."""
    return _CURRENT_MODE(0, int(t.mode), int(t.mode))


BUILDERS: dict[int, Builder] = {
    mav.MAVLINK_MSG_ID_SYS_STATUS: _sys_status,
    mav.MAVLINK_MSG_ID_SYSTEM_TIME: _system_time,
    mav.MAVLINK_MSG_ID_GPS_RAW_INT: _gps_raw_int,
    mav.MAVLINK_MSG_ID_RAW_IMU: _raw_imu,
    mav.MAVLINK_MSG_ID_SCALED_PRESSURE: _scaled_pressure,
    mav.MAVLINK_MSG_ID_ATTITUDE: _attitude,
    mav.MAVLINK_MSG_ID_LOCAL_POSITION_NED: _local_position_ned,
    mav.MAVLINK_MSG_ID_GLOBAL_POSITION_INT: _global_position_int,
    mav.MAVLINK_MSG_ID_SERVO_OUTPUT_RAW: _servo_output_raw,
    mav.MAVLINK_MSG_ID_MISSION_CURRENT: _mission_current,
    mav.MAVLINK_MSG_ID_NAV_CONTROLLER_OUTPUT: _nav_controller_output,
    mav.MAVLINK_MSG_ID_RC_CHANNELS: _rc_channels,
    mav.MAVLINK_MSG_ID_VFR_HUD: _vfr_hud,
    mav.MAVLINK_MSG_ID_POSITION_TARGET_GLOBAL_INT: _position_target_global_int,
    mav.MAVLINK_MSG_ID_BATTERY_STATUS: _battery_status,
    mav.MAVLINK_MSG_ID_MEMINFO: _meminfo,
    mav.MAVLINK_MSG_ID_FENCE_STATUS: _fence_status,
    mav.MAVLINK_MSG_ID_SIMSTATE: _simstate,
    mav.MAVLINK_MSG_ID_EKF_STATUS_REPORT: _ekf_status_report,
    mav.MAVLINK_MSG_ID_VIBRATION: _vibration,
    mav.MAVLINK_MSG_ID_HOME_POSITION: home_position,
    mav.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN: gps_global_origin,
    mav.MAVLINK_MSG_ID_CURRENT_MODE: current_mode,
}
