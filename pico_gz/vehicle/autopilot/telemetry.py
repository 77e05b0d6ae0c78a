"""The telemetry of the rover, gathered on request."""

from __future__ import annotations

from math import floor, sqrt
from typing import TYPE_CHECKING, Any, Final

from pico_gz.core.frames import wrap_deg_360
from pico_gz.core.ground_control import Mode, Telemetry
from pico_gz.core.portable_math import DEG_PER_RAD, atan2
from pico_gz.vehicle.autopilot.failsafe import BatteryMonitor
from pico_gz.vehicle.autopilot.mission import BREACH_BOUNDARY, BREACH_NONE

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.context import RoverContext


# EKF_STATUS_FLAGS.
_ATTITUDE, _VELOCITY_HORIZ, _VELOCITY_VERT = 1, 2, 4
_POS_REL, _POS_ABS, _POS_VERT = 8, 16, 32
_CONST_POS, _PRED_REL, _PRED_ABS, _UNINITIALIZED = 128, 256, 512, 1024
# MAV_SYS_STATUS_SENSOR.
_GYRO, _ACCEL, _MAG, _BARO, _GPS = 0x1, 0x2, 0x4, 0x8, 0x20
_CONTROL = 0x400 | 0x800 | 0x1000 | 0x4000
_MOTORS, _RC, _FENCE, _AHRS = 0x8000, 0x10000, 0x100000, 0x200000
_BATTERY, _PREARM = 0x2000000, 0x10000000
# GPS_FIX_TYPE of MAVLink by our own order of qualities.
_FIX_NUMBERS = (1, 2, 3, 5, 6)
_NO_GPS: Final = 0
_UNKNOWN_HDOP: Final = 99.99
_ORIGIN = (0.0, 0.0)


def build_telemetry(
    rover: RoverContext,
    battery: BatteryMonitor,
    servo_us: tuple[int, ...],
    *,
    ready: bool,
    critical: bool,
) -> Telemetry:
    """Gather everything a ground station may want to know now."""
    mode = rover.modes.current
    return Telemetry(
        time_us=rover.now_us,
        mode=mode.number,
        armed=rover.armed,
        active=mode.number is not Mode.HOLD,
        critical=critical,
        servo_us=servo_us,
        throttle_percent=100.0 * rover.outputs.throttle,
        rc_us=rover.rc.channels_us if rover.rc.seen else (),
        rc_valid=rover.rc.valid,
        **_attitude(rover),
        **_position(rover),
        **_origin(rover),
        **_gps(rover),
        **_surroundings(rover, battery),
        **_navigation(rover),
        **_home_and_fence(rover),
        **_health(rover, battery, ready),
    )


def _attitude(rover: RoverContext) -> dict[str, Any]:
    estimator, tilt = rover.estimator, rover.estimator.tilt
    across = sqrt(tilt.down_y * tilt.down_y + tilt.down_z * tilt.down_z)
    gx, gy, gz = tilt.gyro_rads
    return {
        "roll_rad": atan2(tilt.down_y, tilt.down_z),
        "pitch_rad": atan2(-tilt.down_x, across),
        "yaw_rad": estimator.heading.yaw_rad,
        "rates_radps": (
            gx - tilt.bias_x_radps,
            gy - tilt.bias_y_radps,
            gz - estimator.heading.bias_radps,
        ),
        "accel_mps2": tilt.accel_mss,
        "gyro_radps": tilt.gyro_rads,
        "mag_gauss": estimator.mag_gauss,
        "vibration_mps2": tilt.vibration_mps2,
    }


def _position(rover: RoverContext) -> dict[str, Any]:
    estimator, position, home = rover.estimator, rover.estimator.position, rover.home
    lat_e7, lon_e7 = rover.e7_from_local(position.north_m, position.east_m)
    alt_m = estimator.altitude.alt_m
    relative_m = alt_m - home.alt_m if home.valid else 0.0
    speed = position.speed_mps
    return {
        "position_valid": rover.position_valid(),
        "lat_e7": lat_e7,
        "lon_e7": lon_e7,
        "alt_m": alt_m,
        "relative_alt_m": relative_m,
        "north_m": position.north_m,
        "east_m": position.east_m,
        "down_m": estimator.origin.alt_m - alt_m if estimator.frame is not None else 0.0,
        "velocity_ned_mps": (speed * estimator.cos_yaw, speed * estimator.sin_yaw, 0.0),
        "ground_speed_mps": abs(speed),
        "speed_error_mps": rover.speed.error_mps if rover.armed else 0.0,
    }


def _origin(rover: RoverContext) -> dict[str, Any]:
    if rover.estimator.frame is None:
        return {}
    lat_e7, lon_e7 = rover.e7_of_fixed(_ORIGIN)
    return {
        "origin_lat_e7": lat_e7,
        "origin_lon_e7": lon_e7,
        "origin_alt_m": rover.estimator.origin.alt_m,
        "origin_valid": True,
    }


def _gps(rover: RoverContext) -> dict[str, Any]:
    fix = rover.estimator.gps
    if fix is None:
        return {}
    silent = rover.estimator.gps_silent(rover.now_us)
    return {
        "gps_fix": _NO_GPS if silent else _FIX_NUMBERS[fix.fix_type],
        "gps_lat_e7": floor(fix.lat_deg * 1e7 + 0.5),
        "gps_lon_e7": floor(fix.lon_deg * 1e7 + 0.5),
        "gps_alt_m": fix.alt_m,
        "gps_speed_mps": fix.speed_ms,
        "gps_course_deg": fix.course_deg,
        "gps_hdop": _UNKNOWN_HDOP if silent else fix.hdop,
        "gps_satellites": 0 if silent else fix.satellites,
    }


def _surroundings(rover: RoverContext, battery: BatteryMonitor) -> dict[str, Any]:
    altitude = rover.estimator.altitude
    return {
        "pressure_pa": altitude.pressure_pa or 101325.0,
        "temperature_c": altitude.temperature_c,
        "battery_v": battery.voltage_v,
        "battery_a": battery.current_a,
        "battery_remaining_percent": battery.remaining_percent(),
        "battery_consumed_mah": battery.consumed_mah,
    }


def _navigation(rover: RoverContext) -> dict[str, Any]:
    navigator, runner = rover.navigator, rover.runner
    guided = rover.armed and rover.modes.current.autonomous and navigator.has_leg
    shown: dict[str, Any] = {
        "mission_current": runner.current,
        "mission_count": max(0, len(runner.items()) - 1),
        "mission_state": int(runner.state),
    }
    if guided:
        # A target that was reached stays the target until there is another.
        lat_e7, lon_e7 = rover.e7_of_fixed(navigator.destination)
        shown |= {"target_valid": True, "target_lat_e7": lat_e7, "target_lon_e7": lon_e7}
    if guided and not navigator.reached:
        north, east = rover.here()
        bearing = atan2(navigator.destination[1] - east, navigator.destination[0] - north)
        aim = rover.estimator.heading.yaw_rad + navigator.aim_error_rad
        shown |= {
            "target_bearing_deg": wrap_deg_360(bearing * DEG_PER_RAD),
            "nav_bearing_deg": wrap_deg_360(aim * DEG_PER_RAD),
            "waypoint_distance_m": navigator.distance_m,
            "cross_track_m": navigator.cross_track_m,
        }
    return shown


def _home_and_fence(rover: RoverContext) -> dict[str, Any]:
    home, fence = rover.home, rover.fence
    return {
        "home_lat_e7": home.lat_e7,
        "home_lon_e7": home.lon_e7,
        "home_alt_m": home.alt_m,
        "home_valid": home.valid,
        "fence_breached": fence.breached,
        "fence_breach_count": fence.breach_count,
        "fence_breach_type": BREACH_BOUNDARY if fence.breached else BREACH_NONE,
    }


def _health(rover: RoverContext, battery: BatteryMonitor, ready: bool) -> dict[str, Any]:
    estimator, now_us = rover.estimator, rover.now_us
    present = _GYRO | _ACCEL | _CONTROL | _MOTORS | _AHRS | _PREARM
    enabled = present if rover.armed else present & ~_MOTORS
    attitude = estimator.attitude_valid(now_us)
    states = (
        (_MAG, estimator.compass_us >= 0, estimator.compass_healthy(now_us)),
        (_BARO, estimator.baro_us >= 0, estimator.baro_healthy(now_us)),
        (_GPS, estimator.gps is not None, estimator.gps_healthy(now_us)),
        (_RC, rover.rc.seen, rover.rc.valid and not rover.rc.lost()),
        (_FENCE, bool(rover.values["FENCE_ENABLE"]), not rover.fence.breached),
        (_BATTERY, battery.enabled, not battery.below("LOW")),
    )
    healthy = _CONTROL | _MOTORS
    if estimator.imu_fresh(now_us):
        healthy |= _GYRO if estimator.imu_watch.gyro_credible else 0
        healthy |= _ACCEL if estimator.imu_watch.accel_credible else 0
    if attitude:
        healthy |= _AHRS
    if ready:
        healthy |= _PREARM
    # MAVProxy takes a clear bit for a breach, also while there is no fence.
    if not rover.fence.breached:
        healthy |= _FENCE
    for bit, fitted, good in states:
        if fitted:
            present |= bit
            enabled |= bit
            healthy |= bit if good else 0
    position = estimator.position
    return {
        "sensors_present": present,
        "sensors_enabled": enabled,
        "sensors_healthy": healthy,
        "ekf_flags": _ekf_flags(rover, attitude),
        "ekf_variances": (
            position.velocity_ratio,
            position.position_ratio,
            0.0,
            estimator.heading.compass_ratio,
        ),
    }


def _ekf_flags(rover: RoverContext, attitude: bool) -> int:
    if not attitude:
        return _UNINITIALIZED
    flags = _ATTITUDE
    if rover.estimator.baro_healthy(rover.now_us):
        flags |= _POS_VERT | _VELOCITY_VERT
    if rover.position_valid():
        return flags | _VELOCITY_HORIZ | _POS_REL | _POS_ABS | _PRED_REL | _PRED_ABS
    return flags | _CONST_POS
