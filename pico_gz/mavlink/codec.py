"""MAVLink messages to frames and back, and frames out of bytes.

The only file that knows pymavlink. A message is packed once and framed once per receiver: every
receiver has its own sequence numbers, so that each of them sees a gap-free stream, and its own
protocol version.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
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

# Without the magic byte, which the checksum leaves out.
_HEADER_V1_STRUCT = struct.Struct("<BBBBB")
_HEADER_V2_STRUCT = struct.Struct("<BBBBBBHB")
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


class Outgoing(msgspec.Struct, frozen=True, gc=False):
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
    """Packs one kind of message from its fields, without the message object in between."""

    __slots__ = ("_count", "_extensions", "_msg_id", "_name", "_pack", "_wire_order")

    def __init__(self, kind: Any) -> None:
        self._msg_id: int = kind.id
        self._name: str = kind.msgname
        self._pack: Callable[..., bytes] = kind.unpacker.pack
        lengths = dict(zip(kind.ordered_fieldnames, kind.array_lengths, strict=True))
        # Where each field's values stand in the fields: an array has several, a text one.
        places: dict[str, range] = {}
        self._count = 0
        for name, type_name in zip(kind.fieldnames, kind.fieldtypes, strict=True):
            values = 1 if type_name == "char" else max(1, lengths[name])
            places[name] = range(self._count, self._count + values)
            self._count += values
        order = [place for name in kind.ordered_fieldnames for place in places[name]]
        self._wire_order = itemgetter(*order) if len(order) > 1 else tuple
        self._extensions: tuple[Any, ...] = ()
        for default in kind.__init__.__defaults__ or ():
            self._extensions += tuple(default) if isinstance(default, tuple | list) else (default,)

    def __call__(self, fields: tuple[Any, ...]) -> Outgoing:
        """Pack the fields, in the order of the message's definition.

        The values of an array stand one by one; extensions may lack.

        Raises:
            EncodeError: a field does not fit its type.
        """
        missing = self._count - len(fields)
        if missing:
            fields += self._extensions[len(self._extensions) - missing :]
        try:
            return Outgoing(self._msg_id, self._pack(*self._wire_order(fields)), False)
        except (struct.error, OverflowError) as error:
            raise EncodeError(f"{self._name} cannot be packed: {error}.") from error


@cache
def v1_payload_bytes(msg_id: int) -> int:
    """Return the payload length without the extension fields, which MAVLink 1 lacks."""
    kind = _messages_by_id[msg_id]
    # Extension fields are those with a default; they stand last on the wire, in this order.
    extensions = len(kind.__init__.__defaults__ or ())
    base_fields = len(kind.ordered_fieldnames) - extensions
    return sum(
        _TYPE_BYTES[kind.fieldtypes[kind.fieldnames.index(name)]] * max(1, length)
        for name, length in zip(
            kind.ordered_fieldnames[:base_fields], kind.array_lengths, strict=False
        )
    )


_TYPE_BYTES = {"char": 1, "float": 4, "double": 8} | {
    f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}


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
        v1: use MAVLink 1.
        flags: incompatibility flags; ``FLAG_SIGNED`` when a signature will follow.
    """
    msg_id = out.msg_id
    if v1:
        magic, payload = b"\xfe", out.payload[: v1_payload_bytes(msg_id)]
        head = _HEADER_V1_STRUCT.pack(
            len(payload), sequence, system_id, AUTOPILOT_COMPONENT, msg_id
        )
    else:
        magic, payload = b"\xfd", out.payload.rstrip(b"\0") or b"\0"
        head = _HEADER_V2_STRUCT.pack(
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
    crc = _crc(body + _crc_extra_bytes[msg_id], _CRC_START)
    return magic + body + _CRC_STRUCT.pack(crc)


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
    """Decode a whole frame that passed the checks; None when its fields are not valid.

    Called on the simulation thread only: the decoder keeps counters.
    """
    try:
        return _decoder.decode(bytearray(raw))
    except (mav.MAVError, struct.error, ValueError, TypeError):
        return None


def sender_of(message: Message) -> tuple[int, int]:
    """Return the system and component that sent a decoded message."""
    return message.get_srcSystem(), message.get_srcComponent()


# After this many false starts the rest of a datagram is not worth the time.
_MAX_FALSE_STARTS = 256
# A frame that does not complete within this time was never one (a stray magic byte).
_STALE_US = 500_000


@dataclass(slots=True)
class SplitCounters:
    """What was found between the good frames."""

    bad_crc: int = 0
    unknown_id: int = 0
    bad_flags: int = 0
    truncated: int = 0

    @property
    def total(self) -> int:
        """Return the number of false starts of all kinds."""
        return self.bad_crc + self.unknown_id + self.bad_flags + self.truncated


def _next_magic(data: bytes, start: int) -> int:
    """Return the position of the next magic byte, or -1."""
    v2 = data.find(MAGIC_V2, start)
    v1 = data.find(MAGIC_V1, start, v2 if v2 >= 0 else len(data))
    return v1 if v1 >= 0 else v2


def _claimed_bytes(data: bytes, start: int) -> int:
    """Return the length the frame at ``start`` claims; needs three bytes of it."""
    length = data[start + 1]
    if data[start] == MAGIC_V1:
        return HEADER_V1 + length + CRC_BYTES
    signature = SIGNATURE_BYTES if data[start + 2] & FLAG_SIGNED else 0
    return HEADER_V2 + length + CRC_BYTES + signature


def _refusal(raw: bytes, counters: SplitCounters) -> bool:
    """Return whether a complete candidate is not a good frame, and count why."""
    if raw[0] == MAGIC_V2 and raw[2] & ~FLAG_SIGNED:
        counters.bad_flags += 1
    elif not is_known(message_id(raw)):
        counters.unknown_id += 1
    elif not has_good_crc(raw):
        counters.bad_crc += 1
    else:
        return False
    return True


def split_datagram(data: bytes, counters: SplitCounters) -> list[bytes]:
    """Return the good frames of one datagram; nothing is carried over to the next one.

    After a false start the search resumes at the byte after its magic, never after its
    claimed length, because a wrong length byte would swallow good frames.
    """
    frames: list[bytes] = []
    false_starts = 0
    at = _next_magic(data, 0)
    while at >= 0 and false_starts < _MAX_FALSE_STARTS:
        end = at + _claimed_bytes(data, at) if len(data) - at >= 3 else len(data) + 1
        if end > len(data):
            counters.truncated += 1
        elif not _refusal(raw := data[at:end], counters):
            frames.append(raw)
            at = _next_magic(data, end)
            continue
        false_starts += 1
        at = _next_magic(data, at + 1)
    return frames


class StreamSplitter:
    """Cuts a TCP stream into good frames; keeps at most one unfinished frame."""

    def __init__(self, counters: SplitCounters) -> None:
        self._counters = counters
        self._buffer = b""
        self._waiting_since_us = 0

    @property
    def pending_bytes(self) -> int:
        """Return how many bytes wait for the rest of their frame (at most 280)."""
        return len(self._buffer)

    def feed(self, data: bytes, now_us: int) -> list[bytes]:
        """Take received bytes and return the frames they complete, at wall time ``now_us``."""
        stale = bool(self._buffer) and now_us - self._waiting_since_us > _STALE_US
        held, self._buffer = self._buffer, b""
        data = held + data
        frames: list[bytes] = []
        at = _next_magic(data, 0)
        while at >= 0:
            end = at + _claimed_bytes(data, at) if len(data) - at >= 3 else len(data) + 1
            if end > len(data) and not (stale and at < len(held)):
                self._buffer = data[at:]
                if not held or at > 0:
                    self._waiting_since_us = now_us
                break
            if end > len(data):
                self._counters.truncated += 1
                at = _next_magic(data, at + 1)
            elif _refusal(raw := data[at:end], self._counters):
                at = _next_magic(data, at + 1)
            else:
                frames.append(raw)
                at = _next_magic(data, end)
        return frames
