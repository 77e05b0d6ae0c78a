"""The part of the protobuf encoding that Gazebo's messages need; pure.

Gazebo's bindings take and give raw bytes. With these few functions no protobuf package is
needed, whose versions rarely fit both Gazebo and everything else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from pico_gz.errors import DecodeError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")
_MAX_VARINT_BYTES = 10

Value = int | float | bytes


def put_int(field: int, value: int) -> bytes:
    """An integer or truth value; 0 takes no bytes, as protobuf wants it."""
    if value == 0:
        return b""
    return _varint(field << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def put_double(field: int, value: float) -> bytes:
    """A double; 0 takes no bytes."""
    return _varint(field << 3 | _FIXED64) + _DOUBLE.pack(value) if value else b""


def put_bytes(field: int, value: bytes) -> bytes:
    """A message inside a message; also when it is empty, because that says it is there."""
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def put_text(field: int, value: str) -> bytes:
    """A text; an empty one takes no bytes."""
    return put_bytes(field, value.encode()) if value else b""


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Every field of a message with its number, in order; 64- and 32-bit ones are floating.

    Raises:
        DecodeError: the bytes are no message.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        elif kind == _FIXED64:
            value, at = _unpacked(_DOUBLE, data, at), at + 8
        elif kind == _FIXED32:
            value, at = _unpacked(_FLOAT, data, at), at + 4
        elif kind == _BYTES:
            size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
            if at > end:
                raise DecodeError("A Gazebo message ends in the middle of a field.")
        else:
            raise DecodeError(f"A Gazebo message has a field of kind {kind}.")
        yield number, value


def doubles(value: Value) -> tuple[float, ...]:
    """The numbers of a repeated double, packed or single."""
    if isinstance(value, bytes):
        if len(value) % 8:
            raise DecodeError("A Gazebo message has half a number.")
        return tuple(number for (number,) in _DOUBLE.iter_unpack(value))
    return (float(value),)


def signed(value: Value) -> int:
    """A varint as the signed number that it stands for."""
    number = int(value) if not isinstance(value, bytes) else 0
    return number - (1 << 64) if number >= 1 << 63 else number


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + place + 1
    raise DecodeError("A Gazebo message ends in the middle of a number.")


def _unpacked(kind: struct.Struct, data: bytes, at: int) -> float:
    try:
        value: float = kind.unpack_from(data, at)[0]
    except struct.error:
        raise DecodeError("A Gazebo message ends in the middle of a number.") from None
    return value
