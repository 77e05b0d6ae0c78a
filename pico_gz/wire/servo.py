"""The servo packet, and actuator commands to servo channels and back.

Little-endian, without padding: magic, frame rate [Hz], frame count, then 16 or 32 pulse
widths [us]. The magic says which of the two sizes it is; a receiver does not have to guess.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec

from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.units import (
    PWM_NEUTRAL_US,
    normalized_from_pwm,
    pwm_from_normalized,
    throttle_from_pwm,
)
from pico_gz.core.vehicle_config import AircraftChannels, ChannelMap, DriveKind
from pico_gz.errors import DecodeError, EncodeError

MAGIC_16 = 18458
MAGIC_32 = 29569
SIZE_16 = 40
SIZE_32 = 72
FRAME_COUNT_MODULUS = 1 << 32

_PACKET_16 = struct.Struct("<HHI16H")
_PACKET_32 = struct.Struct("<HHI32H")
# Magic, frame rate [Hz], frame count; the pulse widths follow.
HEADER = struct.Struct("<HHI")
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
    """Packets that differ in their frame count only; quicker than packing each one."""

    __slots__ = ("_frame_rate_hz", "_magic", "_tail")

    def __init__(self, frame_rate_hz: int, pwm_us: Sequence[int]) -> None:
        packet = encode_servo(frame_rate_hz, 0, pwm_us)
        self._frame_rate_hz = frame_rate_hz
        self._magic = MAGIC_16 if len(packet) == SIZE_16 else MAGIC_32
        self._tail = packet[HEADER.size :]

    def packet(self, frame_count: int) -> bytes:
        """Return the packet of a frame."""
        return HEADER.pack(self._magic, self._frame_rate_hz, frame_count) + self._tail


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


# What releases up to 4.6 send while they boot: 1500 on channels 1-4, 1000 elsewhere.
_BOOT_HEAD = (PWM_NEUTRAL_US,) * 4


def drive_channels(drive: DriveKind, channels: ChannelMap) -> tuple[int, int]:
    """Return the two servo channels (1-based) that move a rover.

    Left and right of a skid steer, throttle and steering of an Ackermann.
    """
    if drive is DriveKind.SKID:
        return channels.left, channels.right
    return channels.throttle, channels.steering


def pwm_from_commands(
    commands: ActuatorCommands | None,
    drive: DriveKind,
    channels: ChannelMap,
    channel_count: int = 16,
) -> tuple[int, ...]:
    """Return the pulse widths [us] of SERVO1, SERVO2, ...; unused channels are 0 (no output).

    A vehicle without a command (``None``, or commands without values) gets 1500.
    """
    pwm = [0] * channel_count
    first, second = drive_channels(drive, channels)
    a, b = drive_values(commands, drive)
    pwm[first - 1] = pwm_from_normalized(a)
    pwm[second - 1] = pwm_from_normalized(b)
    return tuple(pwm)


def drive_values(commands: ActuatorCommands | None, drive: DriveKind) -> tuple[float, float]:
    """Return (left, right) of a skid steer, (throttle, steering) of an Ackermann.

    A value that is not given is neutral.
    """
    if commands is None:
        return 0.0, 0.0
    motors = commands.motors
    rest = motors[1:] if drive is DriveKind.SKID else commands.servos
    return motors[0] if motors else 0.0, rest[0] if rest else 0.0


def drive_commands(
    values: tuple[float, float], drive: DriveKind, *, vehicle_id: int, timestamp_us: int
) -> ActuatorCommands:
    """Return the commands that ``drive_values`` reads as ``values``."""
    if drive is DriveKind.SKID:
        return ActuatorCommands(timestamp_us, vehicle_id, values)
    return ActuatorCommands(timestamp_us, vehicle_id, values[:1], values[1:])


def commands_from_pwm(
    pwm_us: Sequence[int],
    drive: DriveKind,
    channels: ChannelMap,
    *,
    vehicle_id: int,
    timestamp_us: int,
) -> ActuatorCommands:
    """Read pulse widths [us] as commands; a channel that the packet lacks is neutral."""
    a, b = drive_channels(drive, channels)
    count = len(pwm_us)
    first = normalized_from_pwm(pwm_us[a - 1]) if a <= count else 0.0
    second = normalized_from_pwm(pwm_us[b - 1]) if b <= count else 0.0
    return drive_commands((first, second), drive, vehicle_id=vehicle_id, timestamp_us=timestamp_us)


def aircraft_commands(
    pwm_us: Sequence[int], channels: AircraftChannels, *, vehicle_id: int, timestamp_us: int
) -> ActuatorCommands:
    """Read pulse widths [us] as an aircraft's; a missing throttle is closed, the rest neutral."""
    throttle, *surfaces = (
        pwm_us[channel - 1] if channel <= len(pwm_us) else 0
        for channel in (channels.throttle, channels.aileron, channels.elevator, channels.rudder)
    )
    return ActuatorCommands(
        timestamp_us,
        vehicle_id,
        (throttle_from_pwm(throttle),),
        tuple(map(normalized_from_pwm, surfaces)),
    )


def neutral_commands(drive: DriveKind, *, vehicle_id: int, timestamp_us: int) -> ActuatorCommands:
    """Commands of a vehicle that shall stand still."""
    return drive_commands((0.0, 0.0), drive, vehicle_id=vehicle_id, timestamp_us=timestamp_us)


class BootGuard:
    """Keeps a booting autopilot from driving off.

    ArduRover's outputs pass through "everything at minimum" for some frames before they are
    ready, and pico_trail's bridge starts there; taken literally that is full reverse. So the
    outputs count from the first packet on whose drive channels say something else.
    """

    __slots__ = ("_drive_channels", "_ready")

    def __init__(
        self, drive: DriveKind, channels: ChannelMap, aircraft: AircraftChannels | None = None
    ) -> None:
        self._drive_channels: tuple[int, ...] = drive_channels(drive, channels)
        if aircraft is not None:
            # A closed throttle is at its minimum for good.
            self._drive_channels = (aircraft.aileron, aircraft.elevator, aircraft.rudder)
        self._ready = False

    def reset(self) -> None:
        """Start over: a new autopilot has connected."""
        self._ready = False

    def is_ready(self, pwm_us: Sequence[int]) -> bool:
        """Whether the outputs of this packet are commands."""
        if self._ready:
            return True
        if tuple(pwm_us[:4]) == _BOOT_HEAD and all(pwm == 1000 for pwm in pwm_us[4:]):
            return False
        values = [pwm_us[c - 1] for c in self._drive_channels if c <= len(pwm_us)]
        self._ready = any(normalized_from_pwm(v) > -1.0 for v in values)
        return self._ready
