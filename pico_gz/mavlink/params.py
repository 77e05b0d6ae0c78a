"""The parameter service; file transfer is refused."""

from __future__ import annotations

import math
import struct

from pico_gz.core.ground_control import ParamInfo, ParamType
from pico_gz.mavlink import limits
from pico_gz.mavlink.codec import Message, mav
from pico_gz.mavlink.service import Context, Handler
from pico_gz.mavlink.signing import Channel

_ACCEPTED_TYPES = frozenset(range(mav.MAV_PARAM_TYPE_UINT8, mav.MAV_PARAM_TYPE_INT32 + 1)) | {
    mav.MAV_PARAM_TYPE_REAL32
}
_TICK_US = 20_000
_PARAMS_PER_TICK = limits.PARAMS_PER_S * _TICK_US // 1_000_000
_NOT_LISTED = 0xFFFF


def param_value(info: ParamInfo, count: int) -> Message:
    """Build PARAM_VALUE; integers travel as the nearest float (C cast)."""
    return mav.MAVLink_param_value_message(
        info.name.encode("ascii", "replace"), info.value, int(info.type), count, info.index
    )


class ParamService:
    """Parameters of one vehicle; a list is paced and goes to the asker only."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lists: dict[Channel, int] = {}
        self._ticking = False

    def handlers(self) -> dict[int, Handler]:
        """Return what this service answers."""
        return {
            mav.MAVLINK_MSG_ID_PARAM_REQUEST_LIST: self._on_list,
            mav.MAVLINK_MSG_ID_PARAM_REQUEST_READ: self._on_read,
            mav.MAVLINK_MSG_ID_PARAM_SET: self._on_set,
        }

    def forget(self, channel: Channel) -> None:
        """Drop what was under way for a receiver that is gone."""
        self._lists.pop(channel, None)

    def _on_list(self, _message: Message, channel: Channel) -> None:
        self._lists[channel] = 0
        if not self._ticking:
            self._ticking = True
            self._tick()

    def _tick(self) -> None:
        """Send the next few parameters to everybody who asked for the list."""
        now_us = self._context.schedule.wall_us
        for channel in list(self._lists):
            for _ in range(_PARAMS_PER_TICK):
                if not self._context.fleet_param_budget.take(now_us):
                    break
                if not self._send_next(channel):
                    break
        self._ticking = bool(self._lists)
        if self._ticking:
            self._context.schedule.at_wall(now_us + _TICK_US, self._tick)

    def _send_next(self, channel: Channel) -> bool:
        index = self._lists[channel]
        info = self._context.vehicle.params.by_index(index)
        if info is None or channel.peer.closed:
            del self._lists[channel]
            return False
        self._lists[channel] = index + 1
        self._context.reply(channel, param_value(info, self._context.vehicle.params.count()))
        return True

    def _on_read(self, message: Message, channel: Channel) -> None:
        vehicle = self._context.vehicle
        if message.param_index >= 0:
            info = vehicle.params.by_index(message.param_index)
        else:
            info = vehicle.params.by_name(message.param_id)
        if info is None:
            self._refuse(message, channel, message.param_index)
        else:
            self._context.reply(channel, param_value(info, vehicle.params.count()))

    def _on_set(self, message: Message, channel: Channel) -> None:
        vehicle = self._context.vehicle
        held = vehicle.params.by_name(message.param_id)
        if held is None:
            self._refuse(message, channel, -1)
            return
        value = message.param_value
        if _may_hold(held, value, message.param_type):
            held = vehicle.params.set(held.name, value) or held
        # Whoever asked is answered with what holds now, refused or not; the change itself
        # reaches the others as news from the vehicle.
        self._context.reply(channel, param_value(held, vehicle.params.count()))
        self._context.vehicle_changed(answered=(channel, held.name))

    def _refuse(self, message: Message, channel: Channel, index: int) -> None:
        name = message.param_id.encode("ascii", "replace")[:16]
        self._context.reply(
            channel,
            mav.MAVLink_param_error_message(
                message.get_srcSystem(),
                message.get_srcComponent(),
                name,
                index,
                mav.MAV_PARAM_ERROR_DOES_NOT_EXIST,
            ),
        )


def _may_hold(held: ParamInfo, value: float, wire_type: int) -> bool:
    """Return whether a value is worth offering to the vehicle, which checks the range."""
    if wire_type not in _ACCEPTED_TYPES or not math.isfinite(value):
        return False
    return held.type is ParamType.REAL32 or value == math.floor(value)


_HEADER = struct.Struct("<HBBBBBBI")
_PAYLOAD_BYTES = 251
_ACKED = frozenset({mav.MAV_FTP_OPCODE_TERMINATESESSION, mav.MAV_FTP_OPCODE_RESETSESSION})
_NEEDS_SESSION = frozenset(
    {
        mav.MAV_FTP_OPCODE_READFILE,
        mav.MAV_FTP_OPCODE_WRITEFILE,
        mav.MAV_FTP_OPCODE_BURSTREADFILE,
    }
)
_KNOWN = range(mav.MAV_FTP_OPCODE_TERMINATESESSION, mav.MAV_FTP_OPCODE_BURSTREADFILE + 1)


def answer_payload(request: bytes) -> bytes | None:
    """Return the payload that answers a request, or None when it is itself an answer."""
    sequence, session, opcode, _size, _req, _burst, _pad, offset = _HEADER.unpack_from(request)
    if opcode in (mav.MAV_FTP_OPCODE_ACK, mav.MAV_FTP_OPCODE_NAK, mav.MAV_FTP_OPCODE_NONE):
        return None
    if opcode in _ACKED:
        reply, data = mav.MAV_FTP_OPCODE_ACK, b""
    else:
        reply, data = mav.MAV_FTP_OPCODE_NAK, bytes((_error_for(opcode),))
    head = _HEADER.pack((sequence + 1) & 0xFFFF, session, reply, len(data), opcode, 0, 0, offset)
    return (head + data).ljust(_PAYLOAD_BYTES, b"\0")


def _error_for(opcode: int) -> int:
    if opcode in _NEEDS_SESSION:
        return int(mav.MAV_FTP_ERR_INVALIDSESSION)
    if opcode in _KNOWN:
        return int(mav.MAV_FTP_ERR_FILENOTFOUND)
    return int(mav.MAV_FTP_ERR_UNKNOWNCOMMAND)


class FtpService:
    """Refuses every file, so that a ground station falls back to the parameter messages."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> dict[int, Handler]:
        """Return what this service answers."""
        return {mav.MAVLINK_MSG_ID_FILE_TRANSFER_PROTOCOL: self._on_request}

    def _on_request(self, message: Message, channel: Channel) -> None:
        payload = answer_payload(bytes(message.payload))
        if payload is not None:
            self._context.reply(
                channel,
                mav.MAVLink_file_transfer_protocol_message(
                    0, message.get_srcSystem(), message.get_srcComponent(), list(payload)
                ),
            )
