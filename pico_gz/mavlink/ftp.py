"""File transfer: there are no files here, and a ground station is told so at once."""

from __future__ import annotations

import struct

from pico_gz.mavlink.channel import Channel
from pico_gz.mavlink.codec import Message, mav
from pico_gz.mavlink.context import Context, Handler

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
