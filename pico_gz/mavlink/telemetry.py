"""What a vehicle reports, as MAVLink messages.

Streamed messages come packed from ``build``, by tables of their fields; the others are built
when they are wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from pico_gz.core.ground_control import Mode, ParamInfo, Telemetry
from pico_gz.mavlink.codec import Message, Outgoing, Packer, mav

_RC_SLOTS: Final = 18
_SERVOS: Final = 16
_NO_CELLS = (0xFFFF,) * 9  # the whole battery stands in the first of ten
_FREE_BYTES: Final = 65_536
_BOARD_MV: Final = 5000

U8_MAX = 0xFF
U16_MAX = 0xFFFF
U32_MAX = 0xFFFF_FFFF


def whole(value: float, low: int, high: int, *, nan: int = 0) -> int:
    """Round to the nearest integer inside ``low..high``; NaN gives ``nan``."""
    if value != value:
        return nan
    if value <= low:
        return low
    if value >= high:
        return high
    return math.floor(value + 0.5)


def i16(value: float) -> int:
    """Fit into a signed 16-bit field."""
    if -32768.0 <= value < 32767.0:
        return math.floor(value + 0.5)
    return whole(value, -32768, 32767)


def u16(value: float, *, nan: int = 0) -> int:
    """Fit into an unsigned 16-bit field."""
    if 0.0 <= value < 65535.0:
        return math.floor(value + 0.5)
    return whole(value, 0, U16_MAX, nan=nan)


def i32(value: float) -> int:
    """Fit into a signed 32-bit field."""
    return whole(value, -(2**31), 2**31 - 1)


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
        wind_ned_mps: gives the simulated wind; without it WIND does not exist.
    """

    epoch_us: int = 0
    sim_state: Callable[[], SimState | None] | None = None
    wind_ned_mps: Callable[[], tuple[float, float, float]] | None = None


Fields = tuple[Any, ...]
_FieldsOf = Callable[[Telemetry, TelemetrySource], Fields | None]
_table: dict[int, tuple[_FieldsOf, Packer]] = {}


def _fields_of(kind: Any) -> Callable[[_FieldsOf], _FieldsOf]:
    """Register a function that gives the fields of one kind of message, in its own order."""

    def register(function: _FieldsOf) -> _FieldsOf:
        _table[kind.id] = (function, Packer(kind))
        return function

    return register


def build(msg_id: int, t: Telemetry, source: TelemetrySource) -> Outgoing | None:
    """Pack a telemetry message, or return None when there is nothing to report yet.

    Raises:
        EncodeError: a field does not fit its type.
        KeyError: the message is not one of ``TELEMETRY_IDS``.
    """
    fields_of, packer = _table[msg_id]
    fields = fields_of(t, source)
    return None if fields is None else packer(fields)


def _boot_ms(t: Telemetry) -> int:
    return (t.time_us // 1000) & U32_MAX


def _centidegrees(yaw_rad: float) -> int:
    """Return a heading in 0..35999; NaN is "unknown"."""
    if not math.isfinite(yaw_rad):
        return U16_MAX
    return math.floor(math.degrees(yaw_rad) * 100.0 + 0.5) % 36000


@_fields_of(mav.MAVLink_sys_status_message)
def _sys_status(t: Telemetry, _: TelemetrySource) -> Fields:
    return (
        t.sensors_present & U32_MAX,
        t.sensors_enabled & U32_MAX,
        t.sensors_healthy & U32_MAX,
        whole(t.load_permille, 0, 1000),
        u16(t.battery_v * 1000.0),
        i16(t.battery_a * 100.0),
        whole(t.battery_remaining_percent, -1, 100, nan=-1),
        *(0, 0, 0, 0, 0, 0),
    )


@_fields_of(mav.MAVLink_system_time_message)
def _system_time(t: Telemetry, s: TelemetrySource) -> Fields:
    return (s.epoch_us + t.time_us, _boot_ms(t))


@_fields_of(mav.MAVLink_gps_raw_int_message)
def _gps_raw_int(t: Telemetry, _: TelemetrySource) -> Fields:
    return (
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


def _imu(t: Telemetry) -> Fields:
    milli_g = 1000.0 / 9.80665
    ax, ay, az = t.accel_mps2
    gx, gy, gz = t.gyro_radps
    mx, my, mz = t.mag_gauss
    return (
        *(i16(ax * milli_g), i16(ay * milli_g), i16(az * milli_g)),
        *(i16(gx * 1000.0), i16(gy * 1000.0), i16(gz * 1000.0)),
        *(i16(mx * 1000.0), i16(my * 1000.0), i16(mz * 1000.0)),
    )


@_fields_of(mav.MAVLink_raw_imu_message)
def _raw_imu(t: Telemetry, _: TelemetrySource) -> Fields:
    return (t.time_us, *_imu(t), 0, i16(t.temperature_c * 100.0))


@_fields_of(mav.MAVLink_scaled_imu2_message)
def _scaled_imu2(t: Telemetry, _: TelemetrySource) -> Fields:
    """The one IMU there is, once more: Mission Planner draws both."""
    return (_boot_ms(t), *_imu(t), i16(t.temperature_c * 100.0))


@_fields_of(mav.MAVLink_power_status_message)
def _power_status(_t: Telemetry, _: TelemetrySource) -> Fields:
    return (_BOARD_MV, 0, 0)


@_fields_of(mav.MAVLink_ahrs_message)
def _ahrs(t: Telemetry, _: TelemetrySource) -> Fields:
    drift = (raw - rate for raw, rate in zip(t.gyro_radps, t.rates_radps, strict=True))
    return (*drift, 0.0, 0.0, 0.0, t.ekf_variances[3])


@_fields_of(mav.MAVLink_ahrs2_message)
def _ahrs2(t: Telemetry, _: TelemetrySource) -> Fields:
    """The one estimate there is, once more."""
    return (t.roll_rad, t.pitch_rad, t.yaw_rad, t.alt_m, t.lat_e7, t.lon_e7)


@_fields_of(mav.MAVLink_wind_message)
def _wind(_t: Telemetry, s: TelemetrySource) -> Fields | None:
    if s.wind_ned_mps is None:
        return None
    north, east, down = s.wind_ned_mps()
    # The direction is where it comes from.
    return (math.degrees(math.atan2(-east, -north)), math.hypot(north, east), down)


@_fields_of(mav.MAVLink_scaled_pressure_message)
def _scaled_pressure(t: Telemetry, _: TelemetrySource) -> Fields:
    return (_boot_ms(t), t.pressure_pa * 0.01, 0.0, i16(t.temperature_c * 100.0))


@_fields_of(mav.MAVLink_attitude_message)
def _attitude(t: Telemetry, _: TelemetrySource) -> Fields:
    return (_boot_ms(t), t.roll_rad, t.pitch_rad, t.yaw_rad, *t.rates_radps)


@_fields_of(mav.MAVLink_local_position_ned_message)
def _local_position_ned(t: Telemetry, _: TelemetrySource) -> Fields:
    return (_boot_ms(t), t.north_m, t.east_m, t.down_m, *t.velocity_ned_mps)


@_fields_of(mav.MAVLink_global_position_int_message)
def _global_position_int(t: Telemetry, _: TelemetrySource) -> Fields:
    north, east, down = t.velocity_ned_mps
    return (
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


@_fields_of(mav.MAVLink_servo_output_raw_message)
def _servo_output_raw(t: Telemetry, _: TelemetrySource) -> Fields:
    servos = [u16(pulse) for pulse in t.servo_us[:_SERVOS]]
    servos += [0] * (_SERVOS - len(servos))
    return (t.time_us & U32_MAX, 0, *servos)


@_fields_of(mav.MAVLink_mission_current_message)
def _mission_current(t: Telemetry, _: TelemetrySource) -> Fields:
    total = t.mission_count or U16_MAX  # which means that there is no mission
    return (
        whole(t.mission_current, 0, U16_MAX),
        whole(total, 0, U16_MAX),
        t.mission_state & U8_MAX,
        0,
    )


@_fields_of(mav.MAVLink_nav_controller_output_message)
def _nav_controller_output(t: Telemetry, _: TelemetrySource) -> Fields:
    return (
        math.degrees(t.roll_rad),
        math.degrees(t.pitch_rad),
        i16(t.nav_bearing_deg),
        i16(t.target_bearing_deg),
        u16(t.waypoint_distance_m),
        0.0,
        t.speed_error_mps,
        t.cross_track_m,
    )


@_fields_of(mav.MAVLink_rc_channels_message)
def _rc_channels(t: Telemetry, _: TelemetrySource) -> Fields:
    channels = [u16(pulse) for pulse in t.rc_us[:_RC_SLOTS]]
    count = len(channels)
    channels += [U16_MAX] * (_RC_SLOTS - count)
    return (_boot_ms(t), count, *channels, 254 if t.rc_valid else 0)


@_fields_of(mav.MAVLink_vfr_hud_message)
def _vfr_hud(t: Telemetry, _: TelemetrySource) -> Fields:
    return (
        0.0,
        t.ground_speed_mps,
        _centidegrees(t.yaw_rad) // 100 if math.isfinite(t.yaw_rad) else 0,
        u16(abs(t.throttle_percent)),
        t.alt_m,
        -t.velocity_ned_mps[2],
    )


@_fields_of(mav.MAVLink_position_target_global_int_message)
def _position_target_global_int(t: Telemetry, _: TelemetrySource) -> Fields | None:
    if not t.target_valid:
        return None
    ignore_all_but_position = 0b1101_1111_1000
    return (
        _boot_ms(t),
        mav.MAV_FRAME_GLOBAL,
        ignore_all_but_position,
        t.target_lat_e7,
        t.target_lon_e7,
        t.alt_m,
        *(0.0,) * 8,
    )


@_fields_of(mav.MAVLink_battery_status_message)
def _battery_status(t: Telemetry, _: TelemetrySource) -> Fields:
    return (
        0,
        mav.MAV_BATTERY_FUNCTION_ALL,
        mav.MAV_BATTERY_TYPE_LIPO,
        32767,
        whole(t.battery_v * 1000.0, 0, U16_MAX - 1),
        *_NO_CELLS,
        i16(t.battery_a * 100.0),
        i32(t.battery_consumed_mah),
        -1,
        whole(t.battery_remaining_percent, -1, 100, nan=-1),
    )


@_fields_of(mav.MAVLink_meminfo_message)
def _meminfo(_t: Telemetry, _: TelemetrySource) -> Fields:
    return (0, U16_MAX, _FREE_BYTES)


@_fields_of(mav.MAVLink_fence_status_message)
def _fence_status(t: Telemetry, _: TelemetrySource) -> Fields:
    return (
        int(t.fence_breached),
        u16(t.fence_breach_count),
        whole(t.fence_breach_type, 0, U8_MAX),
        _boot_ms(t) if t.fence_breached else 0,
    )


@_fields_of(mav.MAVLink_simstate_message)
def _simstate(_t: Telemetry, s: TelemetrySource) -> Fields | None:
    state = s.sim_state() if s.sim_state is not None else None
    if state is None:
        return None
    return (
        state.roll_rad,
        state.pitch_rad,
        state.yaw_rad,
        *state.accel_mps2,
        *state.gyro_radps,
        state.lat_e7,
        state.lon_e7,
    )


@_fields_of(mav.MAVLink_ekf_status_report_message)
def _ekf_status_report(t: Telemetry, _: TelemetrySource) -> Fields:
    velocity, position, height, compass = t.ekf_variances
    return (t.ekf_flags & U16_MAX, velocity, position, height, compass, 0.0)


@_fields_of(mav.MAVLink_vibration_message)
def _vibration(t: Telemetry, _: TelemetrySource) -> Fields:
    return (t.time_us, *t.vibration_mps2, 0, 0, 0)


@_fields_of(mav.MAVLink_home_position_message)
def _home_position(t: Telemetry, _: TelemetrySource) -> Fields | None:
    if not t.home_valid:
        return None
    return (
        t.home_lat_e7,
        t.home_lon_e7,
        i32(t.home_alt_m * 1000.0),
        *(0.0, 0.0, 0.0),
        *(1.0, 0.0, 0.0, 0.0),
        *(0.0, 0.0, 0.0),
        t.time_us,
    )


@_fields_of(mav.MAVLink_gps_global_origin_message)
def _gps_global_origin(t: Telemetry, _: TelemetrySource) -> Fields | None:
    if not t.origin_valid:
        return None
    return (t.origin_lat_e7, t.origin_lon_e7, i32(t.origin_alt_m * 1000.0), t.time_us)


@_fields_of(mav.MAVLink_current_mode_message)
def _current_mode(t: Telemetry, _: TelemetrySource) -> Fields:
    return (0, int(t.mode), int(t.mode))


TELEMETRY_IDS = frozenset(_table)


_MANUAL_MODES = frozenset({Mode.MANUAL, Mode.ACRO, Mode.STEERING})
_AUTONOMOUS_MODES = frozenset(
    {Mode.LOITER, Mode.CIRCLE, Mode.AUTO, Mode.RTL, Mode.SMART_RTL, Mode.GUIDED}
)
_FIRMWARE_VERSION = (4, 6, 0)
_FIRMWARE_OFFICIAL: Final = 255
_CUSTOM_VERSION = list(b"pico_gz0")
_NO_VERSION = [0] * 8
_MODE_NOT_SELECTABLE: Final = 2

# What the services here really do.
CAPABILITIES = (
    mav.MAV_PROTOCOL_CAPABILITY_PARAM_FLOAT
    | mav.MAV_PROTOCOL_CAPABILITY_FTP
    | mav.MAV_PROTOCOL_CAPABILITY_MISSION_INT
    | mav.MAV_PROTOCOL_CAPABILITY_COMMAND_INT
    | mav.MAV_PROTOCOL_CAPABILITY_SET_ATTITUDE_TARGET
    | mav.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_LOCAL_NED
    | mav.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_GLOBAL_INT
    | mav.MAV_PROTOCOL_CAPABILITY_MAVLINK2
    | mav.MAV_PROTOCOL_CAPABILITY_MISSION_FENCE
    | mav.MAV_PROTOCOL_CAPABILITY_MISSION_RALLY
    | mav.MAV_PROTOCOL_CAPABILITY_PARAM_ENCODE_C_CAST
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a vehicle claims to be.

    Attributes:
        autopilot: ``MAV_AUTOPILOT``; 3 ArduPilot (rover modes), 0 generic.
        vehicle_type: ``MAV_TYPE``; 10 rover, 11 boat.
    """

    autopilot: int = mav.MAV_AUTOPILOT_ARDUPILOTMEGA
    vehicle_type: int = mav.MAV_TYPE_GROUND_ROVER


def heartbeat(identity: Identity, t: Telemetry) -> Message:
    """Build HEARTBEAT."""
    base_mode = mav.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
    if t.mode in _MANUAL_MODES:
        base_mode |= mav.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED
    if t.mode in _AUTONOMOUS_MODES:
        base_mode |= mav.MAV_MODE_FLAG_GUIDED_ENABLED
    if t.armed:
        base_mode |= mav.MAV_MODE_FLAG_SAFETY_ARMED
    status = mav.MAV_STATE_ACTIVE if t.active else mav.MAV_STATE_STANDBY
    if t.critical:
        status = mav.MAV_STATE_CRITICAL
    elif t.mode is Mode.INITIALISING:
        status = mav.MAV_STATE_CALIBRATING
    return mav.MAVLink_heartbeat_message(
        identity.vehicle_type, identity.autopilot, base_mode, int(t.mode), status, 3
    )


def autopilot_version(system_id: int) -> Message:
    """Build AUTOPILOT_VERSION."""
    major, minor, patch = _FIRMWARE_VERSION
    version = major << 24 | minor << 16 | patch << 8 | _FIRMWARE_OFFICIAL
    return mav.MAVLink_autopilot_version_message(
        CAPABILITIES,
        version,
        0,
        0,
        0,
        _CUSTOM_VERSION,
        _NO_VERSION,
        _NO_VERSION,
        0,
        0,
        system_id,
    )


def available_modes() -> list[Message]:
    """Build AVAILABLE_MODES, one per mode, numbered from 1."""
    modes = list(Mode)
    return [
        mav.MAVLink_available_modes_message(
            len(modes),
            number,
            0,
            int(mode),
            _MODE_NOT_SELECTABLE if mode is Mode.INITIALISING else 0,
            mode.name.encode("ascii"),
        )
        for number, mode in enumerate(modes, start=1)
    ]


def banner() -> tuple[str, ...]:
    """Return the lines of the start-up banner; Mission Planner looks for "rover" in them."""
    version = ".".join(str(part) for part in _FIRMWARE_VERSION)
    return (f"ArduRover V{version} (pico_gz)", "pico_gz simulated rover")


def param_value(info: ParamInfo, total: int) -> Message:
    """Build PARAM_VALUE; integers travel as the nearest float (C cast)."""
    return mav.MAVLink_param_value_message(
        info.name.encode("ascii", "replace"), info.value, int(info.type), total, info.index
    )


_CHUNK_BYTES: Final = 50
_MAX_CHUNKS: Final = 5
_text_numbers = count(1)


def status_messages(severity: int, text: str) -> list[Message]:
    """Build STATUSTEXT messages; a long text gets an id and numbered chunks.

    Control characters become "?": a terminal at the other end may obey them.
    """
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    data = clean.encode("ascii", "replace")[: _CHUNK_BYTES * _MAX_CHUNKS]
    level = min(max(severity, 0), 7)
    if len(data) <= _CHUNK_BYTES:
        return [mav.MAVLink_statustext_message(level, data)]
    number = next(_text_numbers) % 0xFFFF + 1
    chunks = [data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES)]
    if len(chunks[-1]) == _CHUNK_BYTES:
        # The receiver knows the end by a chunk that is not full.
        chunks.append(b"")
    return [
        mav.MAVLink_statustext_message(level, chunk, number, index)
        for index, chunk in enumerate(chunks)
    ]
