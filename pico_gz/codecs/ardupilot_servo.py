"""The servo packet that an ArduPilot autopilot sends to its simulator.

Little-endian, without padding: magic, frame rate [Hz], frame count, then 16 or 32 pulse
widths [us]. The magic tells which of the two sizes it is; a receiver does not have to guess.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec

from pico_gz.errors import DecodeError, EncodeError

MAGIC_16 = 18458
MAGIC_32 = 29569
SIZE_16 = 40
SIZE_32 = 72
FRAME_COUNT_MODULUS = 1 << 32

_PACKET_16 = struct.Struct("<HHI16H")
_PACKET_32 = struct.Struct("<HHI32H")
_HEADER = struct.Struct("<HHI")
_MAGIC_HINT = (
    f"Servo packets carry magic {MAGIC_16} (16 channels, {SIZE_16} bytes) or "
    f"{MAGIC_32} (32 channels, {SIZE_32} bytes); start the autopilot with --model JSON, and set "
    "have_32_channels only together with SERVO_32_ENABLE."
)


class ServoPacket(msgspec.Struct, frozen=True, gc=False):
    """One servo packet.

    Attributes:
        frame_rate_hz: the rate at which the autopilot believes to run [Hz].
        frame_count: rises by one per accepted state record; 32 bits.
        pwm_us: pulse width of SERVO1, SERVO2, ... [us]; 16 or 32 of them, 0 = no output.
    """

    frame_rate_hz: int
    frame_count: int
    pwm_us: tuple[int, ...]


def encode_servo(frame_rate_hz: int, frame_count: int, pwm_us: Sequence[int]) -> bytes:
    """Return the packet for 16 or 32 pulse widths [us].

    Raises:
        EncodeError: another number of channels, or a value that does not fit its field.
    """
    try:
        if len(pwm_us) == 16:
            return _PACKET_16.pack(MAGIC_16, frame_rate_hz, frame_count, *pwm_us)
        if len(pwm_us) == 32:
            return _PACKET_32.pack(MAGIC_32, frame_rate_hz, frame_count, *pwm_us)
    except struct.error as exc:
        raise EncodeError(f"Servo packet {frame_count}: {exc}.") from exc
    raise EncodeError(f"A servo packet has 16 or 32 channels, not {len(pwm_us)}.")


class ServoTemplate:
    """Packets that differ in their frame count only; quicker than packing each anew."""

    __slots__ = ("_frame_rate_hz", "_magic", "_tail")

    def __init__(self, frame_rate_hz: int, pwm_us: Sequence[int]) -> None:
        packet = encode_servo(frame_rate_hz, 0, pwm_us)
        self._frame_rate_hz = frame_rate_hz
        self._magic = MAGIC_16 if len(packet) == SIZE_16 else MAGIC_32
        self._tail = packet[_HEADER.size :]

    def packet(self, frame_count: int) -> bytes:
        """Return the packet of a frame."""
        return _HEADER.pack(self._magic, self._frame_rate_hz, frame_count) + self._tail


def decode_servo(data: bytes) -> ServoPacket:
    """Read a servo packet; magic and size must fit each other.

    Raises:
        DecodeError: neither of the two forms; the hint names both magics.
    """
    if len(data) == SIZE_16:
        fields = _PACKET_16.unpack(data)
        if fields[0] == MAGIC_16:
            return ServoPacket(fields[1], fields[2], fields[3:])
    elif len(data) == SIZE_32:
        fields = _PACKET_32.unpack(data)
        if fields[0] == MAGIC_32:
            return ServoPacket(fields[1], fields[2], fields[3:])
    raise _refusal(data)


def _refusal(data: bytes) -> DecodeError:
    magic = int.from_bytes(data[:2], "little") if len(data) >= 2 else None
    if magic in (MAGIC_16, MAGIC_32):
        expected = SIZE_16 if magic == MAGIC_16 else SIZE_32
        message = f"Servo packet of {len(data)} bytes; magic {magic} needs {expected}."
        field = "size"
    else:
        message = f"Servo packet of {len(data)} bytes with unknown magic {magic}."
        field = "magic"
    return DecodeError(message, field=field, excerpt=data[:16].hex(), hint=_MAGIC_HINT)
