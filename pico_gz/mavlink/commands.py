"""Commands and requests: every command is answered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pico_gz.core.ground_control import Mode, Result
from pico_gz.errors import PicoGzError
from pico_gz.mavlink import telemetry
from pico_gz.mavlink.codec import Message, mav, sender_of
from pico_gz.mavlink.endpoint import Handler, Service, VehicleEndpoint
from pico_gz.mavlink.links import Channel
from pico_gz.mavlink.missions import GLOBAL_FRAMES, RELATIVE_FRAMES, is_place
from pico_gz.mavlink.streams import OFF, STREAMABLE

_FORCE_MAGIC = 21196
_STORAGE_WRITE = 1
_STORAGE_RESET = 2
# MAV_RESULT_COMMAND_INT_ONLY: a place in 32-bit floats is not good enough here.
_INT_ONLY = 8
_MAX_MESSAGE_ID = 0xFF_FFFF
_MAX_INTERVAL_US = 2**31 - 1
_SEVERITY_INFO = 6
_ON_BOARD = (
    mav.MAV_CMD_DO_SET_RELAY,
    mav.MAV_CMD_DO_SET_SERVO,
    mav.MAV_CMD_DO_FENCE_ENABLE,
    mav.MAV_CMD_DO_MOTOR_TEST,
    mav.MAV_CMD_DO_AUX_FUNCTION,
)


class _DeniedError(Exception):
    """A parameter of a command is out of range."""


def integer_in(value: float, low: int, high: int) -> int | None:
    """Return a received number as an integer, or None unless it is one inside the range."""
    if not low <= value <= high or value != math.floor(value):
        return None
    return int(value)


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command, from either message; ``params`` are numbers 1..7 at index 0..6."""

    number: int
    params: tuple[float, ...]
    is_int: bool
    channel: Channel
    frame: int = mav.MAV_FRAME_GLOBAL

    def whole(self, number: int, low: int, high: int) -> int:
        """Return parameter ``number`` (from 1) as an integer; anything else is denied."""
        value = integer_in(self.params[number - 1], low, high)
        if value is None:
            raise _DeniedError
        return value

    def place_e7(self) -> tuple[int, int]:
        """Return latitude and longitude in 1e-7 degrees; what is no place is denied."""
        scale = 1.0 if self.is_int else 1e7
        lat, lon = self.params[4] * scale, self.params[5] * scale
        if self.frame not in GLOBAL_FRAMES or not is_place(lat, lon):
            raise _DeniedError
        return math.floor(lat + 0.5), math.floor(lon + 0.5)


class CommandService(Service):
    """COMMAND_LONG, COMMAND_INT and the older requests to one vehicle."""

    def __init__(self, endpoint: VehicleEndpoint) -> None:
        super().__init__(endpoint)
        self._inject = endpoint.shared.inject
        vehicle = endpoint.vehicle
        self._table: dict[int, Callable[[CommandRequest], int]] = {
            mav.MAV_CMD_NAV_RETURN_TO_LAUNCH: lambda _: vehicle.set_mode(Mode.RTL),
            mav.MAV_CMD_DO_SET_MODE: self._set_mode,
            mav.MAV_CMD_DO_CHANGE_SPEED: self._change_speed,
            mav.MAV_CMD_DO_SET_HOME: self._set_home,
            mav.MAV_CMD_DO_REPOSITION: self._reposition,
            mav.MAV_CMD_DO_PAUSE_CONTINUE: lambda c: vehicle.set_paused(not c.whole(1, 0, 1)),
            mav.MAV_CMD_DO_SET_REVERSE: lambda c: vehicle.set_reverse(bool(c.whole(1, 0, 1))),
            mav.MAV_CMD_DO_SET_MISSION_CURRENT: (
                lambda c: vehicle.missions.set_current(c.whole(1, 0, 0xFFFF))
            ),
            mav.MAV_CMD_PREFLIGHT_CALIBRATION: self._calibrate,
            mav.MAV_CMD_PREFLIGHT_STORAGE: self._storage,
            mav.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN: (
                lambda c: vehicle.reboot() if c.params[0] == 1.0 else Result.UNSUPPORTED
            ),
            mav.MAV_CMD_MISSION_START: lambda c: vehicle.start_mission(c.whole(1, 0, 0xFFFF)),
            mav.MAV_CMD_COMPONENT_ARM_DISARM: self._arm_disarm,
            mav.MAV_CMD_RUN_PREARM_CHECKS: lambda _: vehicle.prearm_checks(),
            mav.MAV_CMD_INJECT_FAILURE: self._inject_failure,
            mav.MAV_CMD_GET_HOME_POSITION: (
                lambda c: self._report(mav.MAVLINK_MSG_ID_HOME_POSITION, c.channel)
            ),
            mav.MAV_CMD_GET_MESSAGE_INTERVAL: self._get_message_interval,
            mav.MAV_CMD_SET_MESSAGE_INTERVAL: self._set_message_interval,
            mav.MAV_CMD_REQUEST_MESSAGE: self._request_message,
            mav.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES: self._capabilities,
            mav.MAV_CMD_DO_SEND_BANNER: self._banner,
            mav.MAV_CMD_NAV_SET_YAW_SPEED: self._set_yaw_speed,
            mav.MAV_CMD_DO_FLIGHTTERMINATION: (
                lambda c: vehicle.disarm(force=True) if c.whole(1, 0, 1) else Result.ACCEPTED
            ),
            mav.MAV_CMD_DO_START_MAG_CAL: self._calibrate_compass,
            mav.MAV_CMD_DO_ACCEPT_MAG_CAL: lambda _: Result.ACCEPTED,
            mav.MAV_CMD_DO_CANCEL_MAG_CAL: lambda _: Result.ACCEPTED,
            **dict.fromkeys(_ON_BOARD, lambda c: vehicle.do_command(c.number, c.params)),
        }

    def handlers(self) -> dict[int, Handler]:
        return {
            mav.MAVLINK_MSG_ID_COMMAND_LONG: self._on_long,
            mav.MAVLINK_MSG_ID_COMMAND_INT: self._on_int,
            mav.MAVLINK_MSG_ID_SET_MODE: self._on_set_mode_message,
            mav.MAVLINK_MSG_ID_REQUEST_DATA_STREAM: self._on_data_stream,
            mav.MAVLINK_MSG_ID_AUTOPILOT_VERSION_REQUEST: self._on_version_request,
            mav.MAVLINK_MSG_ID_LOG_REQUEST_LIST: self._on_log_list,
            mav.MAVLINK_MSG_ID_TIMESYNC: self._on_timesync,
            mav.MAVLINK_MSG_ID_SET_GPS_GLOBAL_ORIGIN: self._on_set_origin,
        }

    def _on_long(self, m: Message, channel: Channel) -> None:
        params = (m.param1, m.param2, m.param3, m.param4, m.param5, m.param6, m.param7)
        self._run(CommandRequest(m.command, params, False, channel), m)

    def _on_int(self, m: Message, channel: Channel) -> None:
        params = (m.param1, m.param2, m.param3, m.param4, m.x, m.y, m.z)
        self._run(CommandRequest(m.command, params, True, channel, m.frame), m)

    def _run(self, command: CommandRequest, message: Message) -> None:
        result: int = Result.FAILED
        try:
            action = self._table.get(command.number)
            result = Result.UNSUPPORTED if action is None else action(command)
        except _DeniedError:
            result = Result.DENIED
        finally:
            # Whatever happens, silence would cost the ground station three time-outs.
            self._acknowledge(command.channel, command.number, result, message)
        self._endpoint.vehicle_changed()

    def _on_set_mode_message(self, m: Message, channel: Channel) -> None:
        result = Result.UNSUPPORTED
        if m.base_mode & mav.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            result = self._vehicle.set_mode(m.custom_mode)
        self._acknowledge(channel, mav.MAVLINK_MSG_ID_SET_MODE, result, m)
        self._endpoint.vehicle_changed()

    def _acknowledge(self, channel: Channel, number: int, result: int, message: Message) -> None:
        ack = mav.MAVLink_command_ack_message(number, int(result), 0, 0, *sender_of(message))
        self._endpoint.reply(channel, ack)

    # --- what the commands do; params of MAV_CMD are named in its table ---------------------

    def _set_mode(self, command: CommandRequest) -> Result:
        base_mode, mode = command.whole(1, 0, 255), command.whole(2, 0, 255)
        if not base_mode & mav.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            return Result.UNSUPPORTED
        return self._vehicle.set_mode(mode)

    def _change_speed(self, command: CommandRequest) -> Result:
        speed_mps = command.params[1]
        if not (math.isfinite(speed_mps) and speed_mps >= 0.0):
            return Result.DENIED
        return self._vehicle.change_speed(speed_mps)

    def _set_home(self, command: CommandRequest) -> Result:
        if command.params[0] == 1.0:
            return self._vehicle.set_home_here()
        lat_e7, lon_e7 = command.place_e7()
        alt_m = command.params[6]
        if not math.isfinite(alt_m):
            return Result.DENIED
        if command.frame in RELATIVE_FRAMES:
            alt_m += self._endpoint.telemetry().home_alt_m
        return self._vehicle.set_home(lat_e7, lon_e7, alt_m)

    def _reposition(self, command: CommandRequest) -> int:
        if not command.is_int:
            return _INT_ONLY
        lat_e7, lon_e7 = command.place_e7()
        flags = command.whole(2, 0, 0xFFFF)
        speed_mps = command.params[0]
        return self._vehicle.guided.to_global(
            lat_e7,
            lon_e7,
            speed_mps=speed_mps if math.isfinite(speed_mps) and speed_mps > 0.0 else None,
            change_mode=bool(flags & mav.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE),
        )

    def _calibrate(self, command: CommandRequest) -> Result:
        if not all(math.isfinite(value) for value in command.params):
            return Result.DENIED
        return self._vehicle.calibrate(command.params)

    def _calibrate_compass(self, command: CommandRequest) -> Result:
        """Report success at once: the offsets that hold are what a calibration would find."""
        offsets = [self._vehicle.params.by_name(f"COMPASS_OFS_{axis}") for axis in "XYZ"]
        if self._endpoint.telemetry().armed or any(offset is None for offset in offsets):
            return Result.DENIED
        values = [offset.value for offset in offsets if offset is not None]
        scales = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
        self._endpoint.reply(
            command.channel,
            mav.MAVLink_mag_cal_report_message(0, 1, mav.MAG_CAL_SUCCESS, 1, 0.0, *values, *scales),
        )
        return Result.ACCEPTED

    def _set_yaw_speed(self, command: CommandRequest) -> Result:
        """Turn to a heading and hold a speed, in GUIDED."""
        angle_deg, speed_mps, relative = command.params[:3]
        if not (math.isfinite(angle_deg) and math.isfinite(speed_mps)):
            return Result.DENIED
        yaw_rad = math.radians(angle_deg)
        if relative:
            yaw_rad += self._endpoint.telemetry().yaw_rad
        yaw_rad = math.remainder(yaw_rad, math.tau)
        return self._vehicle.guided.velocity(None, speed_mps=speed_mps, yaw_rad=yaw_rad)

    def _storage(self, command: CommandRequest) -> Result:
        action = command.whole(1, 0, 4)
        if action == _STORAGE_RESET:
            return self._vehicle.params.reset()
        if action == _STORAGE_WRITE:
            return self._vehicle.params.flush()
        # Reading is always done.
        return Result.ACCEPTED if action < _STORAGE_WRITE else Result.UNSUPPORTED

    def _arm_disarm(self, command: CommandRequest) -> Result:
        arm = command.whole(1, 0, 1)
        force = command.params[1] == _FORCE_MAGIC
        return self._vehicle.arm(force=force) if arm else self._vehicle.disarm(force=force)

    def _inject_failure(self, command: CommandRequest) -> Result:
        if self._inject is None:
            return Result.UNSUPPORTED
        unit, kind, instance = (command.whole(number, 0, 255) for number in (1, 2, 3))
        words = failure_words(unit, kind, instance)
        if words is None:
            return Result.UNSUPPORTED
        try:
            for word in words[0]:
                self._inject(self._endpoint.system_id, word, words[1])
        except PicoGzError:
            return Result.UNSUPPORTED
        return Result.ACCEPTED

    # --- requests for messages ----------------------------------------------------------------

    def _request_message(self, command: CommandRequest) -> Result:
        msg_id, channel = command.whole(1, 0, _MAX_MESSAGE_ID), command.channel
        if msg_id in telemetry.TELEMETRY_IDS:
            return self._report(msg_id, channel)
        if msg_id == mav.MAVLINK_MSG_ID_AVAILABLE_MODES:
            modes = telemetry.available_modes()
            index = command.whole(2, 0, len(modes))
            messages = modes if index == 0 else modes[index - 1 : index]
        elif msg_id == mav.MAVLINK_MSG_ID_AUTOPILOT_VERSION:
            messages = [telemetry.autopilot_version(self._endpoint.system_id)]
        elif msg_id == mav.MAVLINK_MSG_ID_HEARTBEAT:
            messages = [self._endpoint.heartbeat()]
        elif msg_id == mav.MAVLINK_MSG_ID_AVAILABLE_MODES_MONITOR:
            messages = [mav.MAVLink_available_modes_monitor_message(0)]
        else:
            return Result.UNSUPPORTED
        for message in messages:
            self._endpoint.reply(channel, message)
        return Result.ACCEPTED

    def _capabilities(self, command: CommandRequest) -> Result:
        command.whole(1, 1, 1)
        self._on_version_request(None, command.channel)
        return Result.ACCEPTED

    def _banner(self, command: CommandRequest) -> Result:
        for line in telemetry.banner():
            for message in telemetry.status_messages(_SEVERITY_INFO, line):
                self._endpoint.reply(command.channel, message)
        return Result.ACCEPTED

    def _set_message_interval(self, command: CommandRequest) -> Result:
        """Change the rate of one message; 0 is its default, -1 stops it."""
        msg_id = command.whole(1, 0, _MAX_MESSAGE_ID)
        if msg_id not in STREAMABLE:
            return Result.UNSUPPORTED
        interval_us = command.params[1]
        if not -1.0 <= interval_us <= _MAX_INTERVAL_US:
            return Result.DENIED
        streams = self._endpoint.streams_of(command.channel)
        wanted_us = streams.default_interval(msg_id) if interval_us == 0 else int(interval_us)
        streams.set_interval(msg_id, wanted_us)
        return Result.ACCEPTED

    def _get_message_interval(self, command: CommandRequest) -> Result:
        """Answer with the interval; it is 0 for a message that does not exist here."""
        msg_id = command.whole(1, 0, 0xFFFF)
        interval_us = 0
        if msg_id == mav.MAVLINK_MSG_ID_HEARTBEAT:
            interval_us = 1_000_000
        elif msg_id in STREAMABLE:
            interval_us = self._endpoint.streams_of(command.channel).interval(msg_id)
        self._endpoint.reply(
            command.channel, mav.MAVLink_message_interval_message(msg_id, max(OFF, interval_us))
        )
        return Result.ACCEPTED

    def _on_data_stream(self, message: Message, channel: Channel) -> None:
        rate_hz = message.req_message_rate if message.start_stop else 0
        self._endpoint.streams_of(channel).set_group(message.req_stream_id, rate_hz)

    def _on_version_request(self, _message: Message, channel: Channel) -> None:
        self._endpoint.reply(channel, telemetry.autopilot_version(self._endpoint.system_id))

    def _on_log_list(self, _message: Message, channel: Channel) -> None:
        self._endpoint.reply(channel, mav.MAVLink_log_entry_message(0, 0, 0, 0, 0))

    def _on_timesync(self, message: Message, channel: Channel) -> None:
        if message.tc1 == 0:
            own_ns = max(1, self._endpoint.schedule.sim_us * 1000)
            self._endpoint.reply(channel, mav.MAVLink_timesync_message(own_ns, message.ts1))

    def _on_set_origin(self, _message: Message, channel: Channel) -> None:
        """Answer with the origin there is: the estimator has set its own."""
        self._report(mav.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN, channel)

    def _report(self, msg_id: int, channel: Channel) -> Result:
        out = self._endpoint.packed(msg_id)
        if out is None:
            return Result.FAILED
        channel.send(out)
        return Result.ACCEPTED


# FAILURE_UNIT -> unit words by instance; instance 0 means all of them.
_UNITS: dict[int, tuple[str, ...]] = {
    mav.FAILURE_UNIT_SENSOR_GYRO: ("gyro",),
    mav.FAILURE_UNIT_SENSOR_ACCEL: ("accel",),
    mav.FAILURE_UNIT_SENSOR_MAG: ("mag",),
    mav.FAILURE_UNIT_SENSOR_BARO: ("baro",),
    mav.FAILURE_UNIT_SENSOR_GPS: ("gps",),
    mav.FAILURE_UNIT_SENSOR_DISTANCE_SENSOR: ("range",),
    mav.FAILURE_UNIT_SYSTEM_BATTERY: ("battery",),
    mav.FAILURE_UNIT_SYSTEM_MOTOR: ("motor_left", "motor_right"),
    mav.FAILURE_UNIT_SYSTEM_SERVO: ("steering",),
    mav.FAILURE_UNIT_SYSTEM_RC_SIGNAL: ("rc",),
    mav.FAILURE_UNIT_SYSTEM_MAVLINK_SIGNAL: ("mavlink",),
}
_KINDS: dict[int, str] = {
    mav.FAILURE_TYPE_OK: "ok",
    mav.FAILURE_TYPE_OFF: "off",
    mav.FAILURE_TYPE_STUCK: "stuck",
    mav.FAILURE_TYPE_GARBAGE: "garbage",
    mav.FAILURE_TYPE_WRONG: "wrong",
    mav.FAILURE_TYPE_SLOW: "slow",
    mav.FAILURE_TYPE_DELAYED: "delayed",
    mav.FAILURE_TYPE_INTERMITTENT: "intermittent",
}


def failure_words(unit: int, kind: int, instance: int) -> tuple[tuple[str, ...], str] | None:
    """Return the unit words and the failure word, or None when there is no such thing here.

    Args:
        unit: ``FAILURE_UNIT``.
        kind: ``FAILURE_TYPE``.
        instance: 0 for all, else counted from 1 (motors: 1 left, 2 right).
    """
    units = _UNITS.get(unit)
    word = _KINDS.get(kind)
    if units is None or word is None or not 0 <= instance <= len(units):
        return None
    return (units if instance == 0 else (units[instance - 1],)), word
