"""The plugin's half of one vehicle's wire, with the real one's traps. Pure: bytes in, bytes out."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

from pico_gz.codecs.ardupilot_servo import MAGIC_16, MAGIC_32, SIZE_16, SIZE_32
from pico_gz.codecs.ardupilot_state import (
    ImuRecord,
    StateRecord,
    WindvaneRecord,
    encode_plain_state,
    encode_state,
)
from pico_gz.testing.twin_rover import TwinRover
from pico_gz.transports.base import Address
from pico_gz.units import seconds_from_us


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinTraps:
    """What the real plugin does and nobody expects; each can be switched off.

    Attributes:
        empty_replies: how many replies have 0 bytes, because no IMU sample has arrived yet.
        narrow_frame_count: frame counts are compared as 16-bit numbers.
        unchecked_size: any size passes if the magic is right.
        any_sender: replies go to whoever sent last, also with a wrong magic.
        stale_imu: IMU samples lag the pose by one step.
        repeated_imu: every n-th IMU sample repeats the one before; 0 = never.
        default_frames: ``gazeboXYZToNED`` left out: Gazebo's x becomes north.
        zero_is_reverse: PWM 0 counts as the lowest pulse.
        lower_frame_steps: a late packet with a lower count is a new step.
        serial_world: a plugin that waits keeps those after it from reading their packets, so
            that a lost reply of theirs cannot be asked for again.
    """

    empty_replies: int = 0
    narrow_frame_count: bool = True
    unchecked_size: bool = True
    any_sender: bool = True
    stale_imu: bool = True
    repeated_imu: int = 0
    default_frames: bool = False
    zero_is_reverse: bool = True
    lower_frame_steps: bool = True
    serial_world: bool = True


NO_TRAPS = TwinTraps(
    narrow_frame_count=False,
    unchecked_size=False,
    any_sender=False,
    stale_imu=False,
    zero_is_reverse=False,
    lower_frame_steps=False,
    serial_world=False,
)


class Judgement(Enum):
    """What a packet meant to the plugin."""

    NEW = "new"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class PluginLink:
    """One plugin instance.

    Attributes:
        online: a valid packet has arrived.
        peer: where replies go.
        pwm_us: what the joints follow.
        last_reply: what a duplicate is answered with.
        frame_count: of the newest accepted packet; -1 before the first.
    """

    def __init__(self, traps: TwinTraps, *, have_32_channels: bool = False) -> None:
        self._traps = traps
        self._magic = MAGIC_32 if have_32_channels else MAGIC_16
        self._size = SIZE_32 if have_32_channels else SIZE_16
        self._format = struct.Struct("<HHI32H" if have_32_channels else "<HHI16H")
        self._imu: ImuRecord | None = None
        self._replies = 0
        self.online = False
        self.fresh = False
        self.peer: Address | None = None
        self.pwm_us: tuple[int, ...] = ()
        self.last_reply: bytes | None = None
        self.frame_count = -1
        self.resets = 0
        self.missed_frames = 0
        self.refused = 0
        self.duplicates = 0

    def judge(self, data: bytes, sender: Address) -> Judgement:
        """Take a packet."""
        if self._traps.any_sender:
            self.peer = sender
        if not self._is_servo_packet(data):
            self.refused += 1
            return Judgement.REFUSED
        self.peer = sender
        # The real one reads past the end of a short packet; zeros stand for that garbage.
        _, _, frame_count, *pwm = self._format.unpack(data[: self._size].ljust(self._size, b"\0"))
        if self._traps.narrow_frame_count:
            frame_count &= 0xFFFF
        return self._take_frame(frame_count, tuple(pwm))

    def _is_servo_packet(self, data: bytes) -> bool:
        if not self._traps.unchecked_size and len(data) != self._size:
            return False
        return len(data) >= 2 and int.from_bytes(data[:2], "little") == self._magic

    def _take_frame(self, frame_count: int, pwm_us: tuple[int, ...]) -> Judgement:
        if frame_count == self.frame_count:
            self.duplicates += 1
            return Judgement.DUPLICATE
        if frame_count < self.frame_count:
            late = self.frame_count - frame_count < 64 and frame_count > 0
            if late and not self._traps.lower_frame_steps:
                self.duplicates += 1
                return Judgement.DUPLICATE
            self.resets += 1
        elif self.frame_count >= 0:
            self.missed_frames += frame_count - self.frame_count - 1
        self.frame_count = frame_count
        self.pwm_us = pwm_us
        self.online = True
        self.fresh = True
        return Judgement.NEW

    def reply(self, rover: TwinRover, time_us: int, extras: StateExtras) -> bytes:
        """Return the state after a step, as the plugin sends it."""
        self._replies += 1
        if self._replies <= self._traps.empty_replies:
            self.last_reply = b""
            return b""
        self.last_reply = self._record(rover, time_us, extras)
        return self.last_reply

    def _record(self, rover: TwinRover, time_us: int, extras: StateExtras) -> bytes:
        north, east, down = rover.position_ned_m
        vel_north, vel_east, vel_down = rover.velocity_ned_mps
        quat = rover.quaternion()
        if self._traps.default_frames:
            north, east = east, -north
            vel_north, vel_east = vel_east, -vel_north
            quat = rover.quaternion(yaw_offset_rad=-1.5707963267948966)
        time_s = seconds_from_us(time_us)
        imu = self._imu_sample(rover.imu())
        position = (north, east, down)
        velocity = (vel_north, vel_east, vel_down)
        if extras == _NO_EXTRAS:
            return encode_plain_state(time_s, imu, position, quat, velocity)
        return encode_state(
            StateRecord(
                timestamp_s=time_s,
                imu=imu,
                position_ned_m=position,
                quat_wxyz=quat,
                velocity_ned_mps=velocity,
                rng_1=extras.range_m,
                windvane=extras.windvane,
                no_time_sync=extras.no_time_sync,
                no_lockstep=extras.no_lockstep,
            )
        )

    def _imu_sample(self, newest: ImuRecord) -> ImuRecord:
        before, self._imu = self._imu or newest, newest
        repeated = self._traps.repeated_imu
        if repeated and self._replies % repeated == 0:
            self._imu = before
        return before if self._traps.stale_imu else self._imu


@dataclass(frozen=True, slots=True, kw_only=True)
class StateExtras:
    """Keys that only some plugins or models write; ``None`` leaves a key out."""

    range_m: float | None = None
    windvane: WindvaneRecord | None = None
    no_time_sync: bool | None = None
    no_lockstep: bool | None = None


_NO_EXTRAS = StateExtras()
