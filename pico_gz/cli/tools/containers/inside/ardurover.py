"""The ArduRover service.

Usage: python3 -m pico_gz.cli.tools.containers.inside.ardurover
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pico_gz.cli.tools.containers.inside.settings import (
    RUNS_FOLDER,
    ServiceSettings,
    require_fleet,
    require_runs,
    run_service,
)
from pico_gz.core.guarded_process import GuardedProcess
from pico_gz.errors import ConfigError, LaunchError, MissingProgramError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.external_setup import external_plans, start_lines, write_parameter_files
from pico_gz.run.gazebo_setup import is_own_world
from pico_gz.run.simulators import local_frame

PROGRAM = "ardurover"
GCS_HOST_VARIABLE = "PICO_GZ_GCS_HOST"
_LOOK_PERIOD_S = 0.2
# An ArduRover that waits for its simulator does not hear SIGTERM.
_GRACE_S = 1.0


def main(arguments: Sequence[str]) -> int:
    """Run until a signal, or until the first of them ends."""
    del arguments
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if shutil.which(PROGRAM) is None:
        raise MissingProgramError(f"There is no {PROGRAM} in this image.")
    require_runs()
    settings = ServiceSettings.read(os.environ)
    require_fleet(settings)
    fleet = load_fleet(settings.fleet_file, _overrides(settings), environ=_numeric_gcs_host())
    commands = _commands(fleet)
    write_parameter_files(fleet, RUNS_FOLDER)
    started: list[GuardedProcess] = []
    try:
        for name, line in commands.items():
            started.append(_start(name, line))
        return _watch(started, stop)
    finally:
        _stop_all(started)


def _overrides(settings: ServiceSettings) -> FleetOverrides:
    return FleetOverrides(
        adapter="gazebo", rovers=settings.rovers, autopilot=settings.autopilot, gcs=settings.gcs
    )


def _numeric_gcs_host() -> dict[str, str]:
    """Our environment with the ground station's address as a number: ArduRover asks no DNS."""
    environ = dict(os.environ)
    name = environ.get(GCS_HOST_VARIABLE)
    if name:
        try:
            environ[GCS_HOST_VARIABLE] = socket.gethostbyname(name)
        except OSError as exc:
            raise ConfigError(f"The ground station's host {name!r} is unknown here.") from exc
    return environ


def _commands(fleet: FleetConfig) -> dict[str, str]:
    """Label of a vehicle -> the line that starts its ArduRover."""
    plans = external_plans(fleet)
    ports = fleet.port_plan(own_world=is_own_world(fleet))
    lines = start_lines(fleet, ports, local_frame(fleet), RUNS_FOLDER)
    found = {plan.config.label: line for plan, line in zip(plans, lines, strict=True)}
    if not found:
        raise ConfigError(
            "No vehicle of this fleet has an external autopilot.", hint="Set AUTOPILOT=external."
        )
    return found


def _start(name: str, line: str) -> GuardedProcess:
    def show(text: str) -> None:
        sys.stdout.write(f"{name}: {text}\n")
        sys.stdout.flush()

    return GuardedProcess(["sh", "-c", line], os.environ, show, grace_s=_GRACE_S)


def _stop_all(started: list[GuardedProcess]) -> None:
    """End them side by side: one after the other would take longer than a container may."""
    if started:
        with ThreadPoolExecutor(max_workers=len(started)) as pool:
            list(pool.map(GuardedProcess.stop, started))


def _watch(started: list[GuardedProcess], stop: threading.Event) -> int:
    while not stop.wait(_LOOK_PERIOD_S):
        for process in started:
            if process.exit_code is not None:
                raise LaunchError(
                    f"An ArduRover ended with code {process.exit_code}.", command=process.command
                )
    return 0


if __name__ == "__main__":
    sys.exit(run_service(main, sys.argv[1:]))
