"""MAVLink FTP: the parameters as one file, and the run's log."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from pico_gz.core.ground_control import GcsParams, ParamType
from pico_gz.mavlink.codec import Message, mav, sender_of
from pico_gz.mavlink.endpoint import Handler, Service, VehicleEndpoint
from pico_gz.mavlink.links import Channel

PARAM_FILES = ("@PARAM/param.pck", "@PARAM/param.pck?withdefaults=1")
LOG_FOLDER = "/APM/LOGS"
_HEADER = struct.Struct("<HBBBBBBI")
_PAYLOAD_BYTES = 251
_DATA_BYTES = _PAYLOAD_BYTES - _HEADER.size
# Frames of one burst; a ground station asks for the next where this one ended.
_BURST = 20
_SESSION = 1
_ANSWERS = (mav.MAV_FTP_OPCODE_ACK, mav.MAV_FTP_OPCODE_NAK, mav.MAV_FTP_OPCODE_NONE)
# ArduPilot's own numbers of the types.
_PACKED = {
    ParamType.INT8: (1, struct.Struct("<b")),
    ParamType.INT16: (2, struct.Struct("<h")),
    ParamType.INT32: (3, struct.Struct("<i")),
    ParamType.REAL32: (4, struct.Struct("<f")),
}
_MAGIC = 0x671B


def packed_parameters(params: GcsParams) -> bytes:
    """All parameters as ArduPilot packs them: each name without what it shares with the last."""
    count = params.count()
    out = bytearray(struct.pack("<HHH", _MAGIC, count, count))
    last = ""
    for index in range(count):
        info = params.by_index(index)
        if info is None:
            continue
        shared = 0
        while shared < min(len(last), len(info.name) - 1, 15) and last[shared] == info.name[shared]:
            shared += 1
        rest = info.name[shared:].encode("ascii")
        number, value = _PACKED[info.type]
        whole = info.value if info.type is ParamType.REAL32 else int(info.value)
        out += bytes((number, shared | (len(rest) - 1) << 4)) + rest + value.pack(whole)
        last = info.name
    return bytes(out)


class _Request(NamedTuple):
    sequence: int
    session: int
    opcode: int
    size: int
    offset: int
    data: bytes


class _FtpError(Exception):
    """Answered with this ``MAV_FTP_ERR``."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class FileService(Service):
    """Serves files to read; one is open per receiver."""

    def __init__(self, endpoint: VehicleEndpoint) -> None:
        super().__init__(endpoint)
        self._open: dict[Channel, bytes | Path] = {}

    def handlers(self) -> dict[int, Handler]:
        return {mav.MAVLINK_MSG_ID_FILE_TRANSFER_PROTOCOL: self._on_request}

    def forget(self, channel: Channel) -> None:
        self._open.pop(channel, None)

    def _on_request(self, message: Message, channel: Channel) -> None:
        payload = bytes(message.payload)
        sequence, session, opcode, size, _, _, _, offset = _HEADER.unpack_from(payload)
        if opcode in _ANSWERS:
            return
        data = payload[_HEADER.size : _HEADER.size + size]
        request = _Request(sequence, session, opcode, size, offset, data)
        try:
            if opcode == mav.MAV_FTP_OPCODE_BURSTREADFILE:
                self._burst(request, message, channel)
                return
            answer = self._answer(request, channel)
        except _FtpError as error:
            self._reply(request, message, channel, bytes((error.code,)), refused=True)
        except OSError:
            self._reply(request, message, channel, bytes((mav.MAV_FTP_ERR_FAIL,)), refused=True)
        else:
            self._reply(request, message, channel, answer)

    def _answer(self, request: _Request, channel: Channel) -> bytes:
        opcode = request.opcode
        if opcode in (mav.MAV_FTP_OPCODE_TERMINATESESSION, mav.MAV_FTP_OPCODE_RESETSESSION):
            self._open.pop(channel, None)
            return b""
        if opcode == mav.MAV_FTP_OPCODE_LISTDIRECTORY:
            return self._listing(_name(request), request.offset)
        if opcode == mav.MAV_FTP_OPCODE_OPENFILERO:
            file = self._open[channel] = self._find(_name(request))
            return struct.pack("<I", _size(file))
        if opcode == mav.MAV_FTP_OPCODE_CALCFILECRC:
            return struct.pack("<I", _crc(self._find(_name(request))))
        if opcode == mav.MAV_FTP_OPCODE_READFILE:
            return self._read(request, channel, request.offset)
        known = mav.MAV_FTP_OPCODE_TERMINATESESSION <= opcode <= mav.MAV_FTP_OPCODE_BURSTREADFILE
        raise _FtpError(mav.MAV_FTP_ERR_FILEPROTECTED if known else mav.MAV_FTP_ERR_UNKNOWNCOMMAND)

    def _log(self) -> Path | None:
        return self._endpoint.log_path()

    def _find(self, name: str) -> bytes | Path:
        if name in PARAM_FILES:
            return packed_parameters(self._vehicle.params)
        log = self._log()
        if log is None or name != f"{LOG_FOLDER}/{log.name}":
            raise _FtpError(mav.MAV_FTP_ERR_FILENOTFOUND)
        return log

    def _listing(self, name: str, first: int) -> bytes:
        log = self._log()
        if name.rstrip("/") != LOG_FOLDER or log is None:
            raise _FtpError(mav.MAV_FTP_ERR_FILENOTFOUND)
        if first > 0:
            raise _FtpError(mav.MAV_FTP_ERR_EOF)
        return f"F{log.name}\t{_size(log)}\0".encode()

    def _read(self, request: _Request, channel: Channel, offset: int) -> bytes:
        file = self._open.get(channel)
        if file is None:
            raise _FtpError(mav.MAV_FTP_ERR_INVALIDSESSION)
        count = min(request.size or _DATA_BYTES, _DATA_BYTES)
        if isinstance(file, bytes):
            data = file[offset : offset + count]
        else:
            with file.open("rb") as stream:
                stream.seek(offset)
                data = stream.read(count)
        if not data:
            raise _FtpError(mav.MAV_FTP_ERR_EOF)
        return data

    def _burst(self, request: _Request, message: Message, channel: Channel) -> None:
        """Send the next pieces at once; the last of them says that the burst is over."""
        for index in range(_BURST):
            try:
                data = self._read(request, channel, request.offset)
            except _FtpError as error:
                self._reply(request, message, channel, bytes((error.code,)), refused=True)
                return
            self._reply(request, message, channel, data, complete=index == _BURST - 1)
            request = request._replace(
                sequence=request.sequence + 1, offset=request.offset + len(data)
            )

    def _reply(
        self,
        request: _Request,
        message: Message,
        channel: Channel,
        data: bytes,
        *,
        refused: bool = False,
        complete: bool = False,
    ) -> None:
        opcode = mav.MAV_FTP_OPCODE_NAK if refused else mav.MAV_FTP_OPCODE_ACK
        session = _SESSION if channel in self._open else request.session
        head = _HEADER.pack(
            (request.sequence + 1) & 0xFFFF,
            session,
            opcode,
            len(data),
            request.opcode,
            int(complete),
            0,
            request.offset,
        )
        payload = list((head + data).ljust(_PAYLOAD_BYTES, b"\0"))
        self._endpoint.reply(
            channel, mav.MAVLink_file_transfer_protocol_message(0, *sender_of(message), payload)
        )


def _name(request: _Request) -> str:
    return request.data.partition(b"\0")[0].decode("ascii", "replace")


def _size(file: bytes | Path) -> int:
    return len(file) if isinstance(file, bytes) else file.stat().st_size


def _crc(file: bytes | Path) -> int:
    """CRC32 as MAVLink FTP has it: without the inversions of zlib."""
    data = file if isinstance(file, bytes) else file.read_bytes()
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF
