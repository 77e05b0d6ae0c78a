"""Real Gazebo under the kit beside a bare client.

Takes minutes and needs Gazebo Harmonic with the plugin, so it is measured on request only.
"""

from __future__ import annotations

import dataclasses
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pico_gz.cli.tools.bench.figures import Figure
from pico_gz.core.port_owner import free_offset, owner_of
from pico_gz.errors import LaunchError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.gazebo_setup import GazeboStarter
from pico_gz.run.options import RunOptions
from pico_gz.wire.servo import ServoTemplate

ROVERS = (1, 3, 10, 20, 50)
PHYSICS_STEPS_US = (1000, 2000, 4000, 10_000)
GOAL = 0.9
_MEASURE_S = 4.0  # wall time of one reading
_READY_S = 60.0
_ANSWER_S = 2.0
_NEUTRAL = (1500,) * 16


def gazebo_figures(
    rovers: Sequence[int] = ROVERS, steps_us: Sequence[int] = PHYSICS_STEPS_US
) -> Iterator[Figure]:
    """One figure per number of rovers and physics step: the kit's speed over the bare client's."""
    for step_us in steps_us:
        for count in rovers:
            yield _figure(count, step_us)


def _figure(count: int, step_us: int) -> Figure:
    fleet = _fleet(count, step_us)
    with _gazebo(fleet):
        bare = _bare_factor(fleet)
        kit = _kit_factor(fleet)
    return Figure(
        name=f"gazebo_{count}_{step_us}",
        what=f"{count} rovers, {step_us // 1000} ms: {kit:.2f}x real time (bare {bare:.2f})",
        value=kit / bare,
        unit="of the bare client",
        goal=GOAL,
        higher_is_better=True,
        detail={"real_time_factor": kit, "bare_real_time_factor": bare},
    )


def _fleet(count: int, step_us: int) -> FleetConfig:
    overrides = FleetOverrides(rovers=count, adapter="gazebo", speed="max", layout="grid")
    fleet = default_fleet(overrides=overrides, environ={})
    fleet = dataclasses.replace(
        fleet,
        gazebo=dataclasses.replace(fleet.gazebo, physics_step_us=step_us, attach=True),
        # 10 ms is no multiple of 4 ms.
        time=dataclasses.replace(fleet.time, step_us=max(step_us, 10_000 // step_us * step_us)),
    )
    ids = [plan.id for plan in fleet.vehicles]
    return fleet.with_port_offset(
        free_offset(lambda offset: fleet.with_port_offset(offset).port_plan(on_gazebo=ids))
    )


@contextmanager
def _gazebo(fleet: FleetConfig) -> Iterator[None]:
    """A Gazebo with the fleet's world, its plugins listening."""
    server = GazeboStarter(fleet, tuple(plan.id for plan in fleet.vehicles))()
    try:
        deadline_s = time.monotonic() + _READY_S
        while not all(owner_of("udp", port) for port in _plugin_ports(fleet)):
            if server.problem() or time.monotonic() > deadline_s:
                raise server.failure("Gazebo did not get ready.")
            time.sleep(0.05)
        yield
    finally:
        server.stop()


def _plugin_ports(fleet: FleetConfig) -> list[int]:
    ids = [plan.id for plan in fleet.vehicles]
    plan = fleet.port_plan(on_gazebo=ids)
    return [plan.vehicle(vehicle_id).plugin for vehicle_id in ids]


def _bare_factor(fleet: FleetConfig) -> float:
    """Real-time factor with the least possible client: one fixed packet out, one record in."""
    step_us = fleet.gazebo.physics_step_us
    template = ServoTemplate(1_000_000 // step_us, _NEUTRAL)
    sockets = []
    try:
        for port in _plugin_ports(fleet):
            bare = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            bare.settimeout(_ANSWER_S)
            bare.connect(("127.0.0.1", port))
            sockets.append(bare)
        _exchange(sockets, template, range(1, 50))  # the first records come late
        frame, begin_s = 50, time.perf_counter()
        while time.perf_counter() - begin_s < _MEASURE_S:
            _exchange(sockets, template, range(frame, frame + 10))
            frame += 10
        return (frame - 50) * step_us * 1e-6 / (time.perf_counter() - begin_s)
    finally:
        for bare in sockets:
            bare.close()


def _exchange(sockets: Sequence[socket.socket], template: ServoTemplate, frames: range) -> None:
    for frame in frames:
        packet = template.packet(frame)
        for bare in sockets:
            bare.send(packet)
        for bare in sockets:
            try:
                bare.recv(65535)
            except TimeoutError:
                raise LaunchError("Gazebo stopped answering.", command=()) from None


def _kit_factor(fleet: FleetConfig) -> float:
    """Real-time factor of a whole run: adapter, bridge, platforms and autopilots."""
    options = RunOptions(demo=True, mavlink=False, control=False, check_ports=False)
    with FleetRun(fleet, options) as session:
        bridge = session.bridge
        bridge.step(10)
        begin_us, begin_s = bridge.view.time_us, time.perf_counter()
        while time.perf_counter() - begin_s < _MEASURE_S:
            bridge.step(10)
        return (bridge.view.time_us - begin_us) * 1e-6 / (time.perf_counter() - begin_s)
