"""COMMAND_LONG and COMMAND_INT: every command is answered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pico_gz.core.ground_control import Mode, Result
from pico_gz.errors import PicoGzError
from pico_gz.mavlink.codec import Message, integer_in, mav
from pico_gz.mavlink.requests import RequestService
from pico_gz.mavlink.service import (
    GLOBAL_FRAMES,
    RELATIVE_FRAMES,
    Context,
    Handler,
    Inject,
    failure_words,
    is_place,
)
from pico_gz.mavlink.signing import Channel

_FORCE_MAGIC = 21196
_STORAGE_WRITE = 1
_STORAGE_RESET = 2
# MAV_RESULT_COMMAND_INT_ONLY: a place in 32-bit floats is not good enough here.
_INT_ONLY = 8


@dataclass(frozen=True, slots=True)
class Command:
    """A command, from either message; ``params`` are numbers 1..7 at index 0..6."""

    number: int
    params: tuple[float, ...]
    is_int: bool
    sender: tuple[int, int]
    channel: Channel
    frame: int = mav.MAV_FRAME_GLOBAL

    def whole(self, number: int, low: int, high: int) -> int | None:
        """Return parameter ``number`` (from 1) as an integer, None unless it is one."""
        return integer_in(self.params[number - 1], low, high)

    def place_e7(self) -> tuple[int, int] | None:
        """Return latitude and longitude in 1e-7 degrees, None when there is no such place."""
        scale = 1.0 if self.is_int else 1e7
        lat, lon = self.params[4] * scale, self.params[5] * scale
        if self.frame not in GLOBAL_FRAMES or not is_place(lat, lon):
            return None
        return math.floor(lat + 0.5), math.floor(lon + 0.5)


class CommandService:
    """Commands to one vehicle."""

    def __init__(
        self, context: Context, requests: RequestService, inject: Inject | None = None
    ) -> None:
        """Take the services commands lead to.

        Args:
            context: the endpoint.
            requests: answers requests for messages and intervals.
            inject: switches a failure (vehicle id, unit, kind); without it failure injection
                is refused.
        """
        self._context = context
        self._inject = inject
        self._table: dict[int, Callable[[Command], int]] = {
            mav.MAV_CMD_NAV_RETURN_TO_LAUNCH: self._return_to_launch,
            mav.MAV_CMD_DO_SET_MODE: self._set_mode,
            mav.MAV_CMD_DO_CHANGE_SPEED: self._change_speed,
            mav.MAV_CMD_DO_SET_HOME: self._set_home,
            mav.MAV_CMD_DO_REPOSITION: self._reposition,
            mav.MAV_CMD_DO_PAUSE_CONTINUE: self._pause_continue,
            mav.MAV_CMD_DO_SET_REVERSE: self._set_reverse,
            mav.MAV_CMD_DO_SET_MISSION_CURRENT: self._set_mission_current,
            mav.MAV_CMD_PREFLIGHT_CALIBRATION: self._calibrate,
            mav.MAV_CMD_PREFLIGHT_STORAGE: self._storage,
            mav.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN: self._reboot,
            mav.MAV_CMD_MISSION_START: self._mission_start,
            mav.MAV_CMD_COMPONENT_ARM_DISARM: self._arm_disarm,
            mav.MAV_CMD_RUN_PREARM_CHECKS: self._prearm_checks,
            mav.MAV_CMD_INJECT_FAILURE: self._inject_failure,
            mav.MAV_CMD_GET_HOME_POSITION: requests.home_position,
            mav.MAV_CMD_GET_MESSAGE_INTERVAL: requests.get_message_interval,
            mav.MAV_CMD_SET_MESSAGE_INTERVAL: requests.set_message_interval,
            mav.MAV_CMD_REQUEST_MESSAGE: requests.request_message,
            mav.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES: requests.capabilities,
            mav.MAV_CMD_DO_SEND_BANNER: requests.banner,
        }

    def handlers(self) -> dict[int, Handler]:
        """Return what this service answers."""
        return {
            mav.MAVLINK_MSG_ID_COMMAND_LONG: self._on_long,
            mav.MAVLINK_MSG_ID_COMMAND_INT: self._on_int,
            mav.MAVLINK_MSG_ID_SET_MODE: self._on_set_mode_message,
        }

    def _on_long(self, m: Message, channel: Channel) -> None:
        params = (m.param1, m.param2, m.param3, m.param4, m.param5, m.param6, m.param7)
        self._run(Command(m.command, params, False, _sender(m), channel))

    def _on_int(self, m: Message, channel: Channel) -> None:
        params = (m.param1, m.param2, m.param3, m.param4, m.x, m.y, m.z)
        self._run(Command(m.command, params, True, _sender(m), channel, m.frame))

    def _run(self, command: Command) -> None:
        result: int = Result.FAILED
        try:
            action = self._table.get(command.number)
            result = Result.UNSUPPORTED if action is None else action(command)
        finally:
            # Whatever happens, silence would cost the ground station three time-outs.
            self._acknowledge(command.channel, command.number, int(result), command.sender)
        self._context.vehicle_changed()

    def _on_set_mode_message(self, m: Message, channel: Channel) -> None:
        if m.base_mode & mav.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            result = self._context.vehicle.set_mode(m.custom_mode)
        else:
            result = Result.UNSUPPORTED
        self._acknowledge(channel, mav.MAVLINK_MSG_ID_SET_MODE, int(result), _sender(m))
        self._context.vehicle_changed()

    def _acknowledge(
        self, channel: Channel, number: int, result: int, sender: tuple[int, int]
    ) -> None:
        ack = mav.MAVLink_command_ack_message(number, result, 0, 0, *sender)
        self._context.reply(channel, ack)

    # --- what the commands do; params of MAV_CMD are named in its table ---------------------

    def _return_to_launch(self, _command: Command) -> Result:
        return self._context.vehicle.set_mode(Mode.RTL)

    def _set_mode(self, command: Command) -> Result:
        base_mode = command.whole(1, 0, 255)
        mode = command.whole(2, 0, 255)
        if base_mode is None or mode is None:
            return Result.DENIED
        if not base_mode & mav.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED:
            return Result.UNSUPPORTED
        return self._context.vehicle.set_mode(mode)

    def _change_speed(self, command: Command) -> Result:
        speed_mps = command.params[1]
        if not (math.isfinite(speed_mps) and speed_mps >= 0.0):
            return Result.DENIED
        return self._context.vehicle.change_speed(speed_mps)

    def _set_home(self, command: Command) -> Result:
        if command.params[0] == 1.0:
            return self._context.vehicle.set_home_here()
        place = command.place_e7()
        alt_m = command.params[6]
        if place is None or not math.isfinite(alt_m):
            return Result.DENIED
        if command.frame in RELATIVE_FRAMES:
            alt_m += self._context.telemetry().home_alt_m
        return self._context.vehicle.set_home(*place, alt_m)

    def _reposition(self, command: Command) -> int:
        if not command.is_int:
            return _INT_ONLY
        place = command.place_e7()
        flags = command.whole(2, 0, 0xFFFF)
        if place is None or flags is None:
            return Result.DENIED
        speed_mps = command.params[0]
        return self._context.vehicle.guided.to_global(
            *place,
            speed_mps=speed_mps if math.isfinite(speed_mps) and speed_mps > 0.0 else None,
            change_mode=bool(flags & mav.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE),
        )

    def _pause_continue(self, command: Command) -> Result:
        go_on = command.whole(1, 0, 1)
        if go_on is None:
            return Result.DENIED
        return self._context.vehicle.set_paused(not go_on)

    def _set_reverse(self, command: Command) -> Result:
        reverse = command.whole(1, 0, 1)
        if reverse is None:
            return Result.DENIED
        return self._context.vehicle.set_reverse(bool(reverse))

    def _set_mission_current(self, command: Command) -> Result:
        seq = command.whole(1, 0, 0xFFFF)
        return Result.DENIED if seq is None else self._context.vehicle.missions.set_current(seq)

    def _calibrate(self, command: Command) -> Result:
        if not all(math.isfinite(value) for value in command.params):
            return Result.DENIED
        return self._context.vehicle.calibrate(command.params)

    def _storage(self, command: Command) -> Result:
        action = command.whole(1, 0, 4)
        if action is None:
            return Result.DENIED
        if action == _STORAGE_RESET:
            return self._context.vehicle.params.reset()
        if action == _STORAGE_WRITE:
            return self._context.vehicle.params.flush()
        # Reading is always done.
        return Result.ACCEPTED if action < _STORAGE_WRITE else Result.UNSUPPORTED

    def _reboot(self, command: Command) -> Result:
        if command.whole(1, 0, 4) != 1:
            return Result.UNSUPPORTED
        return self._context.vehicle.reboot()

    def _mission_start(self, command: Command) -> Result:
        first = command.whole(1, 0, 0xFFFF)
        return Result.DENIED if first is None else self._context.vehicle.start_mission(first)

    def _arm_disarm(self, command: Command) -> Result:
        arm = command.whole(1, 0, 1)
        if arm is None:
            return Result.DENIED
        force = command.params[1] == _FORCE_MAGIC
        vehicle = self._context.vehicle
        return vehicle.arm(force=force) if arm else vehicle.disarm(force=force)

    def _prearm_checks(self, _command: Command) -> Result:
        return self._context.vehicle.prearm_checks()

    def _inject_failure(self, command: Command) -> Result:
        numbers = (command.whole(1, 0, 255), command.whole(2, 0, 255), command.whole(3, 0, 255))
        if self._inject is None:
            return Result.UNSUPPORTED
        if numbers[0] is None or numbers[1] is None or numbers[2] is None:
            return Result.DENIED
        words = failure_words(numbers[0], numbers[1], numbers[2])
        if words is None:
            return Result.UNSUPPORTED
        units, kind = words
        try:
            for unit in units:
                self._inject(self._context.system_id, unit, kind)
        except PicoGzError:
            return Result.UNSUPPORTED
        return Result.ACCEPTED


def _sender(message: Message) -> tuple[int, int]:
    return message.get_srcSystem(), message.get_srcComponent()
