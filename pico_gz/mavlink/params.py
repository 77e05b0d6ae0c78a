"""The parameter service; file transfer is refused."""

from __future__ import annotations

import math
import struct

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
            mav.MAVLINK_MSG_ID_FILE_TRANSFER_PROTOCOL: self._on_file_request,
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

    def _on_file_request(self, message: Message, channel: Channel) -> None:
        payload = refuse_file(bytes(message.payload))
        if payload is not None:
            self._endpoint.reply(
                channel,
                mav.MAVLink_file_transfer_protocol_message(0, *sender_of(message), list(payload)),
            )


def _may_hold(held: ParamInfo, value: float, wire_type: int) -> bool:
    """Return whether a value is worth offering to the vehicle, which checks the range."""
    if wire_type not in _ACCEPTED_TYPES or not math.isfinite(value):
        return False
    return held.type is ParamType.REAL32 or value == math.floor(value)


_FTP_HEADER = struct.Struct("<HBBBBBBI")
_FTP_PAYLOAD_BYTES = 251
_FTP_ANSWERS = (mav.MAV_FTP_OPCODE_ACK, mav.MAV_FTP_OPCODE_NAK, mav.MAV_FTP_OPCODE_NONE)
_FTP_ERRORS = dict.fromkeys(
    range(mav.MAV_FTP_OPCODE_TERMINATESESSION, mav.MAV_FTP_OPCODE_BURSTREADFILE + 1),
    mav.MAV_FTP_ERR_FILENOTFOUND,
) | dict.fromkeys(
    (
        mav.MAV_FTP_OPCODE_READFILE,
        mav.MAV_FTP_OPCODE_WRITEFILE,
        mav.MAV_FTP_OPCODE_BURSTREADFILE,
    ),
    mav.MAV_FTP_ERR_INVALIDSESSION,
)


def refuse_file(request: bytes) -> bytes | None:
    """Return the payload that refuses a file request, or None when it is itself an answer.

    A ground station then falls back to the parameter messages. Ending a session succeeds.
    """
    sequence, session, opcode, _, _, _, _, offset = _FTP_HEADER.unpack_from(request)
    if opcode in _FTP_ANSWERS:
        return None
    reply, data = mav.MAV_FTP_OPCODE_ACK, b""
    if opcode not in (mav.MAV_FTP_OPCODE_TERMINATESESSION, mav.MAV_FTP_OPCODE_RESETSESSION):
        error = _FTP_ERRORS.get(opcode, mav.MAV_FTP_ERR_UNKNOWNCOMMAND)
        reply, data = mav.MAV_FTP_OPCODE_NAK, bytes((error,))
    head = _FTP_HEADER.pack(
        (sequence + 1) & 0xFFFF, session, reply, len(data), opcode, 0, 0, offset
    )
    return (head + data).ljust(_FTP_PAYLOAD_BYTES, b"\0")
