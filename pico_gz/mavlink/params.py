"""The parameter service."""

from __future__ import annotations

import math

from pico_gz.core.ground_control import ParamInfo, ParamType
from pico_gz.mavlink.codec import Message, mav, sender_of
from pico_gz.mavlink.endpoint import Handler, Service, VehicleEndpoint
from pico_gz.mavlink.links import Channel
from pico_gz.mavlink.telemetry import param_value

_ACCEPTED_TYPES = frozenset(range(mav.MAV_PARAM_TYPE_UINT8, mav.MAV_PARAM_TYPE_INT32 + 1)) | {
    mav.MAV_PARAM_TYPE_REAL32
}
_PARAMS_PER_S = 100
_TICK_US = 20_000
_PARAMS_PER_TICK = _PARAMS_PER_S * _TICK_US // 1_000_000


class ParamService(Service):
    """Parameters of one vehicle; a list is paced and goes to the asker only."""

    def __init__(self, endpoint: VehicleEndpoint) -> None:
        super().__init__(endpoint)
        self._lists: dict[Channel, int] = {}
        self._ticking = False

    def handlers(self) -> dict[int, Handler]:
        return {
            mav.MAVLINK_MSG_ID_PARAM_REQUEST_LIST: self._on_list,
            mav.MAVLINK_MSG_ID_PARAM_REQUEST_READ: self._on_read,
            mav.MAVLINK_MSG_ID_PARAM_SET: self._on_set,
        }

    def forget(self, channel: Channel) -> None:
        self._lists.pop(channel, None)

    def _on_list(self, _message: Message, channel: Channel) -> None:
        self._lists[channel] = 0
        if not self._ticking:
            self._ticking = True
            self._tick()

    def _tick(self) -> None:
        """Send the next few parameters to every receiver that asked for the list."""
        now_us = self._endpoint.schedule.wall_us
        for channel in list(self._lists):
            for _ in range(_PARAMS_PER_TICK):
                if channel.peer.is_congested:
                    break
                if not self._endpoint.shared.param_budget.take(now_us):
                    break
                if not self._send_next(channel):
                    break
        self._ticking = bool(self._lists)
        if self._ticking:
            self._endpoint.schedule.at_wall(now_us + _TICK_US, self._tick)

    def _send_next(self, channel: Channel) -> bool:
        index = self._lists[channel]
        info = self._vehicle.params.by_index(index)
        if info is None or channel.peer.closed:
            del self._lists[channel]
            return False
        self._lists[channel] = index + 1
        self._endpoint.reply(channel, param_value(info, self._vehicle.params.count()))
        return True

    def _on_read(self, message: Message, channel: Channel) -> None:
        if message.param_index >= 0:
            info = self._vehicle.params.by_index(message.param_index)
        else:
            info = self._vehicle.params.by_name(message.param_id)
        if info is None:
            self._refuse(message, channel, message.param_index)
        else:
            self._endpoint.reply(channel, param_value(info, self._vehicle.params.count()))

    def _on_set(self, message: Message, channel: Channel) -> None:
        held = self._vehicle.params.by_name(message.param_id)
        if held is None:
            self._refuse(message, channel, -1)
            return
        value = message.param_value
        if _may_hold(held, value, message.param_type):
            held = self._vehicle.params.set(held.name, value) or held
        # The sender is answered with what holds now, refused or not; the change itself
        # reaches the others as an update from the vehicle.
        self._endpoint.reply(channel, param_value(held, self._vehicle.params.count()))
        self._endpoint.vehicle_changed(answered=(channel, held.name))

    def _refuse(self, message: Message, channel: Channel, index: int) -> None:
        name = message.param_id.encode("ascii", "replace")[:16]
        self._endpoint.reply(
            channel,
            mav.MAVLink_param_error_message(
                *sender_of(message), name, index, mav.MAV_PARAM_ERROR_DOES_NOT_EXIST
            ),
        )


def _may_hold(held: ParamInfo, value: float, wire_type: int) -> bool:
    """Return whether a value is worth offering to the vehicle, which checks the range."""
    if wire_type not in _ACCEPTED_TYPES or not math.isfinite(value):
        return False
    return held.type is ParamType.REAL32 or value == math.floor(value)
