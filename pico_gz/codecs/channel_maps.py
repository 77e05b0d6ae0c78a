"""Actuator commands to servo channels and back, by a vehicle's channel map."""

from __future__ import annotations

from collections.abc import Sequence

from pico_gz.messages import ActuatorCommands, ChannelMap, DriveKind
from pico_gz.units import PWM_NEUTRAL_US, normalized_from_pwm, pwm_from_normalized

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

    A vehicle nobody commands (``None``, or commands without values) gets 1500.
    """
    pwm = [0] * channel_count
    first, second = drive_channels(drive, channels)
    a, b = _values(commands, drive)
    pwm[first - 1] = pwm_from_normalized(a)
    pwm[second - 1] = pwm_from_normalized(b)
    return tuple(pwm)


def _values(commands: ActuatorCommands | None, drive: DriveKind) -> tuple[float, float]:
    if commands is None:
        return 0.0, 0.0
    motors = commands.motors
    if drive is DriveKind.SKID:
        return (motors[0], motors[1]) if len(motors) >= 2 else (0.0, 0.0)
    steering = commands.servos[0] if commands.servos else 0.0
    return (motors[0] if motors else 0.0), steering


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
    if drive is DriveKind.SKID:
        return ActuatorCommands(timestamp_us, vehicle_id, (first, second))
    return ActuatorCommands(timestamp_us, vehicle_id, (first,), (second,))


def neutral_commands(drive: DriveKind, *, vehicle_id: int, timestamp_us: int) -> ActuatorCommands:
    """Commands of a vehicle that shall stand still."""
    if drive is DriveKind.SKID:
        return ActuatorCommands(timestamp_us, vehicle_id, (0.0, 0.0))
    return ActuatorCommands(timestamp_us, vehicle_id, (0.0,), (0.0,))


class BootGuard:
    """Keeps a booting autopilot from driving off.

    ArduRover's outputs pass through "everything at minimum" for some frames before they are
    ready, and pico_trail's bridge starts there; taken literally that is full reverse. So the
    outputs count from the first packet on whose drive channels say something else.
    """

    __slots__ = ("_drive_channels", "_ready")

    def __init__(self, drive: DriveKind, channels: ChannelMap) -> None:
        self._drive_channels = drive_channels(drive, channels)
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
