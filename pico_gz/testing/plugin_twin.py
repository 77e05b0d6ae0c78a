"""A twin of a Gazebo world with the ArduPilot plugin.

It speaks the plugin's wire, steps like it, freezes like it and has its traps. It runs step by
step on an in-process network, on a thread, or as a program::

    python -m pico_gz.testing.plugin_twin --port 9002 --vehicles 3 --step-us 2000
"""

from __future__ import annotations

import argparse
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from pico_gz.core.units import seconds_from_us
from pico_gz.testing.twin_rover import TwinPose, TwinRover, joint_command
from pico_gz.wire.datagrams import Address, DatagramTransport, Network, UdpNetwork
from pico_gz.wire.servo import MAGIC_16, MAGIC_32, SIZE_16, SIZE_32
from pico_gz.wire.state import encode_plain_state, encode_state
from pico_gz.wire.state_record import ImuRecord, StateRecord, WindvaneRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinTraps:
    """Surprises of the real plugin; each can be switched off.

    Attributes:
        empty_replies: how many replies have 0 bytes, because no IMU sample has arrived yet.
        narrow_frame_count: frame counts are compared as 16-bit numbers.
        unchecked_size: any size passes if the magic is right.
        any_sender: replies go to the last sender, also with a wrong magic.
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


_RECEIVE_SLICE_S = 0.010
_MULTIPLIER_RADPS = 20.0
_LEFT_CHANNEL, _RIGHT_CHANNEL = 0, 2


@dataclass(slots=True)
class _Vehicle:
    """A rover, its plugin and the plugin's socket."""

    rover: TwinRover
    link: PluginLink
    socket: DatagramTransport
    misses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinSettings:
    """How a world with plugins behaves.

    Attributes:
        host: address to bind.
        step_us: of the physics.
        lock_step: whether the world waits for the packets of all clients.
        traps: of the real plugin.
        poses: of the rovers, in the order of their ports; the rest start at the origin.
        extras: keys that the records hold too.
        have_32_channels: which of the two servo packets the plugins take.
        timeout_max_count: receive slices without a packet until a client counts as silent.
        start_time_us: simulation time at the start.
    """

    host: str = "127.0.0.1"
    step_us: int = 1000
    lock_step: bool = True
    traps: TwinTraps = TwinTraps()
    poses: Sequence[TwinPose] = ()
    extras: StateExtras = _NO_EXTRAS
    have_32_channels: bool = False
    timeout_max_count: int = 10
    start_time_us: int = 0


class PluginTwin:
    """One world with one rover per port.

    Attributes:
        time_us: simulation time.
        steps: physics steps made since the start.
        paused: the world stands and no packet is read.
    """

    def __init__(
        self,
        ports: Sequence[int],
        settings: TwinSettings | None = None,
        *,
        network: Network | None = None,
        **changes: Any,
    ) -> None:
        """Open the plugins' sockets.

        Args:
            ports: of the plugins, one per rover; 0 takes a free one.
            settings: of the world.
            network: to listen on.
            **changes: fields of ``TwinSettings`` that win over ``settings``; ``None`` does not.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        self._settings = settings = replace(settings or TwinSettings(), **given)
        network = network or UdpNetwork()
        self._poller = network.poller()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._vehicles: list[_Vehicle] = []
        # The plugin that the world stands at; those before it have their packet of this step.
        self._turn = 0
        self.time_us = settings.start_time_us
        self.steps = 0
        self.paused = False
        for index, port in enumerate(ports):
            rover = TwinRover(settings.poses[index] if index < len(settings.poses) else None)
            link = PluginLink(settings.traps, have_32_channels=settings.have_32_channels)
            socket = network.bind(settings.host, port)
            self._poller.add(socket, index)
            self._vehicles.append(_Vehicle(rover, link, socket))

    @property
    def ports(self) -> tuple[int, ...]:
        """Where the plugins listen."""
        return tuple(vehicle.socket.address[1] for vehicle in self._vehicles)

    def link(self, index: int = 0) -> PluginLink:
        """The plugin of one rover."""
        return self._vehicles[index].link

    def rover(self, index: int = 0) -> TwinRover:
        """One rover."""
        return self._vehicles[index].rover

    # --- the world's loop -----------------------------------------------------------------

    def try_step(self) -> bool:
        """Read what has arrived and step unless a packet is missing; never blocks."""
        if self.paused:
            return False
        if self._settings.traps.serial_world:
            # Gazebo calls one plugin after the other: none is asked twice in a step.
            while self._turn < len(self._vehicles):
                if self._is_waited_for(self._vehicles[self._turn]):
                    return False
                self._turn += 1
        elif sum(map(self._is_waited_for, self._vehicles)):
            return False
        self._turn = 0
        self._advance()
        return True

    def _is_waited_for(self, vehicle: _Vehicle) -> bool:
        """Read a vehicle's packets; True when the world must wait for another."""
        self._read(vehicle)
        return self._settings.lock_step and vehicle.link.online and not vehicle.link.fresh

    def _read(self, vehicle: _Vehicle) -> None:
        newest = None
        while (item := vehicle.socket.receive()) is not None:
            newest = item
        if newest is None:
            return
        vehicle.misses = 0
        judgement = vehicle.link.judge(*newest)
        if judgement is Judgement.DUPLICATE and self._settings.lock_step and not vehicle.link.fresh:
            self._repeat_reply(vehicle)

    def _advance(self) -> None:
        self.time_us += self._settings.step_us
        self.steps += 1
        dt_s = seconds_from_us(self._settings.step_us)
        for vehicle in self._vehicles:
            link = vehicle.link
            vehicle.rover.step(
                self._wheel(link, _LEFT_CHANNEL), self._wheel(link, _RIGHT_CHANNEL), dt_s
            )
            link.fresh = False
            if link.online and link.peer is not None:
                reply = link.reply(vehicle.rover, self.time_us, self._settings.extras)
                vehicle.socket.send_to(reply, link.peer)

    def _wheel(self, link: PluginLink, channel: int) -> float:
        if not link.online or not link.pwm_us:
            return 0.0
        return joint_command(
            link.pwm_us[channel],
            multiplier=_MULTIPLIER_RADPS,
            zero_is_a_command=self._settings.traps.zero_is_reverse,
        )

    def _repeat_reply(self, vehicle: _Vehicle) -> None:
        link = vehicle.link
        if link.last_reply is not None and link.peer is not None:
            vehicle.socket.send_to(link.last_reply, link.peer)

    def _note_silence(self) -> None:
        """One receive slice has passed without a packet for the vehicle that is waited for."""
        for vehicle in self._vehicles:
            link = vehicle.link
            if not link.online or link.fresh:
                continue
            vehicle.misses += 1
            if vehicle.misses > self._settings.timeout_max_count:
                vehicle.misses = 0
                if self._settings.lock_step:
                    self._repeat_reply(vehicle)
                else:
                    link.online = False
                    link.pwm_us = ()
            if self._settings.lock_step:
                return

    # --- life cycle -----------------------------------------------------------------------

    def run(self) -> None:
        """Step until ``stop``; before a client has spoken the world runs free in real time."""
        while not self._stop.is_set():
            anyone = any(vehicle.link.online for vehicle in self._vehicles)
            if not self.paused and anyone and self._settings.lock_step:
                if not self.try_step() and not self._wait_for_packet():
                    self._note_silence()
            elif self.paused:
                self._stop.wait(_RECEIVE_SLICE_S)
            else:
                arrived = self._poller.wait(seconds_from_us(self._settings.step_us))
                self.try_step()
                if anyone and not arrived:
                    self._note_silence()

    def _wait_for_packet(self) -> bool:
        if self._settings.traps.serial_world:
            return self._vehicles[self._turn].socket.wait(_RECEIVE_SLICE_S)
        return bool(self._poller.wait(_RECEIVE_SLICE_S))

    def start(self) -> PluginTwin:
        """Run on a thread."""
        self._thread = threading.Thread(target=self.run, name="plugin-twin", daemon=True)
        self._thread.start()
        return self

    def request_stop(self) -> None:
        """Make ``run`` return soon; for signal handlers and other threads."""
        self._stop.set()

    def stop(self) -> None:
        """End the thread and close the sockets; twice is fine."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)
            self._thread = None
        for vehicle in self._vehicles:
            self._poller.remove(vehicle.socket)
            vehicle.socket.close()
        self._vehicles = []
        self._poller.close()

    def __enter__(self) -> PluginTwin:
        """Run on a thread until the end of the block."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a twin as a program until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="A twin of Gazebo with the ArduPilot plugin.")
    parser.add_argument("--port", type=int, default=9002, help="port of the first rover")
    parser.add_argument("--vehicles", type=int, default=1)
    parser.add_argument("--stride", type=int, default=10, help="distance of two rovers' ports")
    parser.add_argument("--spacing", type=float, default=3.0, help="metres between two rovers")
    parser.add_argument("--step-us", type=int, default=1000)
    parser.add_argument("--host", default="127.0.0.1", help="address to bind")
    parser.add_argument("--with-parent", action="store_true", help="end when the parent ends")
    parser.add_argument("--free", action="store_true", help="do not wait for packets")
    options = parser.parse_args(arguments)
    twin = PluginTwin(
        [options.port + options.stride * i for i in range(options.vehicles)],
        host=options.host,
        step_us=options.step_us,
        lock_step=not options.free,
        poses=[TwinPose(x_m=options.spacing * i) for i in range(options.vehicles)],
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: twin.request_stop())
    if options.with_parent:
        threading.Thread(target=_end_with_parent, args=(twin, os.getppid()), daemon=True).start()
    sys.stdout.write(f"ready {twin.ports[0]}\n")
    sys.stdout.flush()
    twin.run()
    twin.stop()
    return 0


def _end_with_parent(twin: PluginTwin, parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    twin.request_stop()


if __name__ == "__main__":
    sys.exit(main())
