"""A behavioural twin of a Gazebo world with the ArduPilot plugin in every rover.

It speaks the plugin's wire, steps like it, freezes like it and has its traps. It runs step by
step on an in-process network, on a thread, or as a program::

    python -m pico_gz.testing.plugin_twin --port 9002 --vehicles 3 --step-us 2000
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

from pico_gz.testing.plugin_link import Judgement, PluginLink, StateExtras, TwinTraps
from pico_gz.testing.twin_rover import TwinPose, TwinRover, joint_command
from pico_gz.transports.base import DatagramTransport, Network
from pico_gz.transports.udp import UdpNetwork
from pico_gz.units import seconds_from_us

_RECEIVE_SLICE_S = 0.010
_MULTIPLIER_RADPS = 20.0
_LEFT_CHANNEL, _RIGHT_CHANNEL = 0, 2


class _Vehicle:
    """A rover, its plugin and the plugin's socket."""

    def __init__(self, rover: TwinRover, link: PluginLink, socket: DatagramTransport) -> None:
        self.rover = rover
        self.link = link
        self.socket = socket
        self.misses = 0


class PluginTwin:
    """One world with one rover per port.

    Attributes:
        time_us: simulation time.
        steps: physics steps made since the start.
        paused: the world stands and nobody reads packets.
    """

    def __init__(
        self,
        ports: Sequence[int],
        *,
        host: str = "127.0.0.1",
        step_us: int = 1000,
        lock_step: bool = True,
        traps: TwinTraps | None = None,
        poses: Sequence[TwinPose] = (),
        extras: StateExtras | None = None,
        have_32_channels: bool = False,
        timeout_max_count: int = 10,
        start_time_us: int = 0,
        network: Network | None = None,
    ) -> None:
        network = network or UdpNetwork()
        self._traps = traps or TwinTraps()
        self._extras = extras or StateExtras()
        self._step_us = step_us
        self._lock_step = lock_step
        self._timeout_max_count = timeout_max_count
        self._poller = network.poller()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._vehicles: list[_Vehicle] = []
        # The plugin that the world stands at; those before it have their packet of this step.
        self._turn = 0
        self.time_us = start_time_us
        self.steps = 0
        self.paused = False
        for index, port in enumerate(ports):
            rover = TwinRover(poses[index] if index < len(poses) else None)
            link = PluginLink(self._traps, have_32_channels=have_32_channels)
            socket = network.bind(host, port)
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
        """Read what has arrived and step if nobody is waited for; never blocks."""
        if self.paused:
            return False
        if self._traps.serial_world:
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
        """Read a vehicle's packets; True when the world cannot go on without another."""
        self._read(vehicle)
        return self._lock_step and vehicle.link.online and not vehicle.link.fresh

    def _read(self, vehicle: _Vehicle) -> None:
        newest = None
        while (item := vehicle.socket.receive()) is not None:
            newest = item
        if newest is None:
            return
        vehicle.misses = 0
        judgement = vehicle.link.judge(*newest)
        if judgement is Judgement.DUPLICATE and self._lock_step and not vehicle.link.fresh:
            self._repeat_reply(vehicle)

    def _advance(self) -> None:
        self.time_us += self._step_us
        self.steps += 1
        dt_s = seconds_from_us(self._step_us)
        for vehicle in self._vehicles:
            link = vehicle.link
            vehicle.rover.step(
                self._wheel(link, _LEFT_CHANNEL), self._wheel(link, _RIGHT_CHANNEL), dt_s
            )
            link.fresh = False
            if link.online and link.peer is not None:
                reply = link.reply(vehicle.rover, self.time_us, self._extras)
                vehicle.socket.send_to(reply, link.peer)

    def _wheel(self, link: PluginLink, channel: int) -> float:
        if not link.online or not link.pwm_us:
            return 0.0
        return joint_command(
            link.pwm_us[channel],
            multiplier=_MULTIPLIER_RADPS,
            zero_is_a_command=self._traps.zero_is_reverse,
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
            if vehicle.misses > self._timeout_max_count:
                vehicle.misses = 0
                if self._lock_step:
                    self._repeat_reply(vehicle)
                else:
                    link.online = False
                    link.pwm_us = ()
            if self._lock_step:
                return

    # --- life cycle -----------------------------------------------------------------------

    def run(self) -> None:
        """Step until ``stop``; before a client has spoken the world runs free in real time."""
        while not self._stop.is_set():
            anyone = any(vehicle.link.online for vehicle in self._vehicles)
            if not self.paused and anyone and self._lock_step:
                if not self.try_step() and not self._wait_for_packet():
                    self._note_silence()
            elif self.paused:
                self._stop.wait(_RECEIVE_SLICE_S)
            else:
                arrived = self._poller.wait(seconds_from_us(self._step_us))
                self.try_step()
                if anyone and not arrived:
                    self._note_silence()

    def _wait_for_packet(self) -> bool:
        if self._traps.serial_world:
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
        """Stop."""
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
