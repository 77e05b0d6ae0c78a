"""Messages to frames and back; numbers that fit wire fields.

A message is packed once and framed once per receiver: every receiver has its own sequence
numbers, so that each of them sees a gap-free stream, and its own protocol version.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec
from pymavlink.dialects.v20 import all as _dialect

from pico_gz.errors import EncodeError

# The dialect: constants and message classes (pymavlink carries no types).
mav: Any = _dialect
# A decoded message: one of the dialect's classes.
Message = Any

MAGIC_V1 = 0xFE
MAGIC_V2 = 0xFD
HEADER_V1 = 6
HEADER_V2 = 10
CRC_BYTES = 2
SIGNATURE_BYTES = 13
FLAG_SIGNED = 0x01
MAX_FRAME_BYTES = HEADER_V2 + 255 + CRC_BYTES + SIGNATURE_BYTES
AUTOPILOT_COMPONENT = 1
SETUP_SIGNING_ID = 256

_HEADER_V1_STRUCT = struct.Struct("<BBBBBB")
_HEADER_V2_STRUCT = struct.Struct("<BBBBBBBHB")
_CRC_STRUCT = struct.Struct("<H")

_messages_by_id: dict[int, Any] = dict(mav.mavlink_map)
_crc_extra_bytes: dict[int, bytes] = {
    msg_id: bytes((kind.crc_extra,)) for msg_id, kind in _messages_by_id.items()
}
_decoder = mav.MAVLink(None)


def _slow_crc(data: bytes, _start: int) -> int:
    return int(mav.x25crc(data).crc)


# The checksum in native code, where pymavlink has it; called as (data, start value).
_crc: Any = getattr(mav, "mcrf4xx", None) or _slow_crc
_CRC_START = 0xFFFF


class Outgoing(msgspec.Struct, frozen=True):
    """A packed message that still lacks what depends on the receiver.

    Attributes:
        msg_id: number of the message.
        payload: full payload, extension fields included, nothing trimmed.
        keep: an answer (acknowledgement, parameter, mission): dropped after all telemetry.
    """

    msg_id: int
    payload: bytes
    keep: bool


def _payload_only(
    _mav: Any, _crc_extra: int, payload: bytes, force_mavlink1: bool = False
) -> bytes:
    return payload


def pack(message: Message, *, keep: bool = False) -> Outgoing:
    """Pack a message of the dialect.

    Raises:
        EncodeError: a field does not fit its type.
    """
    # The generated ``pack`` hands the payload to ``_pack`` for framing; that part is ours.
    message._pack = _payload_only
    try:
        payload = message.pack(None)
    except (struct.error, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise EncodeError(f"{message.get_type()} cannot be packed: {error}.") from error
    finally:
        del message._pack
    return Outgoing(message.get_msgId(), payload, keep)


class Packer:
    """Packs one kind of message from its fields, without the message object in between.

    For messages that are streamed; those with array fields go through ``pack``.
    """

    __slots__ = ("_defaults", "_kind", "_msg_id", "_pack", "_wire_order")

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._msg_id: int = kind.id
        self._defaults: tuple[Any, ...] = kind.__init__.__defaults__ or ()
        plain = not any(kind.array_lengths)
        self._pack = kind.unpacker.pack if plain else None
        places = [kind.fieldnames.index(name) for name in kind.ordered_fieldnames]
        in_order = places == list(range(len(places)))
        self._wire_order = itemgetter(slice(None)) if in_order else itemgetter(*places)

    def __call__(self, *fields: Any) -> Outgoing:
        """Pack the fields, in the order of the message's definition; extensions may lack.

        Raises:
            EncodeError: a field does not fit its type.
        """
        if self._pack is None:
            return pack(self._kind(*fields))
        missing = len(self._kind.fieldnames) - len(fields)
        if missing:
            fields += self._defaults[len(self._defaults) - missing :]
        try:
            return Outgoing(self._msg_id, self._pack(*self._wire_order(fields)), False)
        except (struct.error, OverflowError) as error:
            raise EncodeError(f"{self._kind.msgname} cannot be packed: {error}.") from error


@cache
def v1_payload_bytes(msg_id: int) -> int:
    """Return the payload length without the extension fields, which MAVLink 1 lacks."""
    kind = _messages_by_id[msg_id]
    # Extension fields are those with a default; they stand last on the wire, in this order.
    extensions = len(kind.__init__.__defaults__ or ())
    base = len(kind.ordered_fieldnames) - extensions
    wire = kind.ordered_fieldnames[:base]
    sizes = (
        _TYPE_BYTES[_base_type(kind, name)] * max(1, _array_length(kind, name)) for name in wire
    )
    return sum(sizes)


_TYPE_BYTES = {
    "char": 1,
    "uint8_t": 1,
    "int8_t": 1,
    "uint16_t": 2,
    "int16_t": 2,
    "uint32_t": 4,
    "int32_t": 4,
    "float": 4,
    "uint64_t": 8,
    "int64_t": 8,
    "double": 8,
}


def _base_type(kind: Any, field: str) -> str:
    return str(kind.fieldtypes[kind.fieldnames.index(field)])


def _array_length(kind: Any, field: str) -> int:
    return int(kind.array_lengths[kind.ordered_fieldnames.index(field)])


def fits_v1(msg_id: int) -> bool:
    """Return whether MAVLink 1 can carry this message: its numbers end at 255."""
    return msg_id <= 255


def frame(
    out: Outgoing, sequence: int, system_id: int, *, v1: bool = False, flags: int = 0
) -> bytes:
    """Frame a packed message for one receiver; a signature, if any, is added by the caller.

    Args:
        out: the message; for ``v1`` its number must be at most 255.
        sequence: 0..255, one counter per (vehicle, receiver).
        system_id: of the sending vehicle.
        v1: speak MAVLink 1.
        flags: incompatibility flags; ``FLAG_SIGNED`` when a signature will follow.
    """
    msg_id = out.msg_id
    if v1:
        payload = out.payload[: v1_payload_bytes(msg_id)]
        head = _HEADER_V1_STRUCT.pack(
            MAGIC_V1, len(payload), sequence, system_id, AUTOPILOT_COMPONENT, msg_id
        )
    else:
        payload = out.payload.rstrip(b"\0") or b"\0"
        head = _HEADER_V2_STRUCT.pack(
            MAGIC_V2,
            len(payload),
            flags,
            0,
            sequence,
            system_id,
            AUTOPILOT_COMPONENT,
            msg_id & 0xFFFF,
            msg_id >> 16,
        )
    body = head + payload
    return body + _CRC_STRUCT.pack(_crc(body[1:] + _crc_extra_bytes[msg_id], _CRC_START))


def is_signed(raw: bytes) -> bool:
    """Return whether a whole frame carries a signature."""
    return raw[0] == MAGIC_V2 and bool(raw[2] & FLAG_SIGNED)


def is_v1(raw: bytes) -> bool:
    """Return whether a whole frame is MAVLink 1."""
    return raw[0] == MAGIC_V1


def message_id(raw: bytes) -> int:
    """Return the message number of a whole frame."""
    if raw[0] == MAGIC_V1:
        return raw[5]
    return raw[7] | raw[8] << 8 | raw[9] << 16


def source(raw: bytes) -> tuple[int, int]:
    """Return the sender's system and component of a whole frame."""
    return (raw[3], raw[4]) if raw[0] == MAGIC_V1 else (raw[5], raw[6])


def without_signature(raw: bytes) -> bytes:
    """Return the frame as it would be unsigned: flag cleared, trailer cut, checksum renewed."""
    if not is_signed(raw):
        return raw
    body = bytearray(raw[: -(SIGNATURE_BYTES + CRC_BYTES)])
    body[2] &= ~FLAG_SIGNED
    checked = bytes(body[1:]) + _crc_extra_bytes[message_id(raw)]
    return bytes(body) + _CRC_STRUCT.pack(_crc(checked, _CRC_START))


def is_known(msg_id: int) -> bool:
    """Return whether the dialect has this message; others cannot be checked and are dropped."""
    return msg_id in _crc_extra_bytes


def has_good_crc(raw: bytes) -> bool:
    """Return whether the checksum of a whole frame with a known message number is right."""
    end = len(raw) - CRC_BYTES
    if is_signed(raw):
        end -= SIGNATURE_BYTES
    crc = raw[end] | raw[end + 1] << 8
    checked = raw[1:end] + _crc_extra_bytes[message_id(raw)]
    return bool(_crc(checked, _CRC_START) == crc)


def decode(raw: bytes) -> Message | None:
    """Decode a whole frame that passed the checks; None when its fields make no message.

    Called on the simulation thread only: the decoder keeps counters.
    """
    try:
        return _decoder.decode(bytearray(raw))
    except (mav.MAVError, struct.error, ValueError, TypeError):
        return None


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
    return whole(value, -32768, 32767)


def u16(value: float, *, nan: int = 0) -> int:
    """Fit into an unsigned 16-bit field."""
    return whole(value, 0, U16_MAX, nan=nan)


def i32(value: float) -> int:
    """Fit into a signed 32-bit field."""
    return whole(value, -(2**31), 2**31 - 1)


def integer_in(value: float, low: int, high: int) -> int | None:
    """Return a received number as an integer, or None unless it is one inside the range."""
    if not low <= value <= high or value != math.floor(value):
        return None
    return int(value)
