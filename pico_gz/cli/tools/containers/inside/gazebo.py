"""The Gazebo service.

Usage: python3 -m pico_gz.cli.tools.containers.inside.gazebo
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pico_gz.cli.tools.containers.inside.check_gazebo import WorldState, write_state
from pico_gz.cli.tools.containers.inside.settings import ServiceSettings, require_fleet, run_service
from pico_gz.core.resources import resource_path
from pico_gz.errors import LaunchError, MissingProgramError
from pico_gz.gazebo.gz_messages import CLOCK
from pico_gz.gazebo.install import find_gazebo
from pico_gz.gazebo.server import GazeboLaunch, GazeboServer
from pico_gz.gazebo.worker_client import GzTransport
from pico_gz.run.config import load_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.gazebo_setup import (
    WorldFile,
    generate_world,
    given_world,
    is_own_world,
    new_run_folder,
    read_world,
)

ATTEMPTS = 2
# A small world is ready after two seconds; each further rover adds to it.
_START_S, _START_PER_ROVER_S = 20.0, 0.5
_LOOK_PERIOD_S = 0.1


def main(arguments: Sequence[str]) -> int:
    """Run Gazebo until a signal or its end."""
    del arguments
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    settings = ServiceSettings.read(os.environ)
    require_fleet(settings)
    fleet = load_fleet(settings.fleet_file, _overrides(settings))
    folder = new_run_folder()
    world = _world(fleet, folder)
    state = WorldState(name=world.name, plugin_ports=_plugin_ports(fleet))
    launch = _launch(fleet, world, folder)
    sys.stdout.write(f"World {world.name} with {len(state.plugin_ports)} rovers\n")
    for attempt in range(1, ATTEMPTS + 1):
        write_state(state)
        server = GazeboServer(launch)
        try:
            if _has_begun(server, state, stop):
                write_state(msgspec.structs.replace(state, has_begun=True))
                return _watch(server, stop)
        finally:
            server.stop()
        if server.problem():
            raise server.failure()
        if stop.is_set():
            return 0
        logging.warning("Gazebo does not get ready (attempt %d).", attempt)
    raise LaunchError("Gazebo's clock was never heard.", command=launch.command())


def _overrides(settings: ServiceSettings) -> FleetOverrides:
    return FleetOverrides(
        adapter="gazebo",
        rovers=settings.rovers,
        autopilot=settings.autopilot,
        seed=settings.seed,
    )


def _world(fleet: FleetConfig, folder: Path) -> WorldFile:
    given = given_world(fleet)
    if given is not None:
        return read_world(given)
    return generate_world(fleet, [plan.id for plan in fleet.vehicles], folder)


def _plugin_ports(fleet: FleetConfig) -> dict[str, int]:
    plan = fleet.port_plan(own_world=is_own_world(fleet))
    return {str(vehicle.id): plan.vehicle(vehicle.id).plugin for vehicle in fleet.vehicles}


def _launch(fleet: FleetConfig, world: WorldFile, folder: Path) -> GazeboLaunch:
    install = find_gazebo()
    if install.program is None or install.plugin is None:
        raise MissingProgramError(f"Gazebo cannot be started: {install.problem}.")
    return GazeboLaunch(
        program=install.program,
        world_file=world.path,
        folder=folder,
        plugin_folders=(install.plugin.parent,),
        resource_folders=(world.path.parent / "models", resource_path("models")),
        seed=fleet.seed,
        rendering=world.rendering,
        partition=os.environ.get("GZ_PARTITION", "pico_gz"),
    )


def _has_begun(server: GazeboServer, state: WorldState, stop: threading.Event) -> bool:
    """Wait for the world's clock: the world runs, not only a process."""
    deadline_s = time.monotonic() + _START_S + _START_PER_ROVER_S * len(state.plugin_ports)
    environment = {"GZ_PARTITION": server.launch.partition, "GZ_IP": "127.0.0.1"}
    transport = GzTransport(environment)
    topic = f"/world/{state.name}/clock"
    try:
        transport.subscribe(topic, CLOCK)
        while time.monotonic() < deadline_s and not (server.problem() or stop.is_set()):
            if transport.wait(topic, 0, _LOOK_PERIOD_S)[0]:
                return True
        return False
    finally:
        transport.close()


def _watch(server: GazeboServer, stop: threading.Event) -> int:
    while not stop.wait(_LOOK_PERIOD_S):
        if server.problem():
            raise server.failure()
    return 0


if __name__ == "__main__":
    sys.exit(run_service(main, sys.argv[1:]))
