"""Real ArduRovers in a test."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from pico_gz.core.ports import ARDUROVER_RC, ARDUROVER_STRIDE, ARDUROVER_TCP, FDM_BASE, PortUse
from pico_gz.errors import LaunchError
from pico_gz.run.external_setup import external_plans, parameter_text
from pico_gz.testing.harness import SitlHarness
from pico_gz.testing.port_lease import loopback_use
from pico_gz.testing.sitl import Sitl
from pico_gz.vehicle.external.connection import Arrival
from pico_gz.vehicle.external.program import (
    PARAMETER_FILE,
    ArduRoverStart,
    AutopilotProcess,
)
from pico_gz.vehicle.external.releases import named_programs

_INSTANCES = 250
_CONNECTED = Arrival.CONNECTED.value
_CONNECT_S = 30.0
_FLAT_OUT_SPEEDUP = 100.0


def find_ardurover() -> str:
    """The program that tests use first; empty when there is none here."""
    programs = named_programs()
    return str(programs[0].path) if programs else ""


class ArduRovers:
    """Starts an ArduRover for every external vehicle of a fleet."""

    def __init__(self, harness: SitlHarness, program: str) -> None:
        self._harness = harness
        self._program = program

    def __call__(self, sitl: Sitl) -> dict[int, AutopilotProcess]:
        """Start them and wait until all of them drive.

        Returns:
            The processes by vehicle id; they are ended at the end of the test, hung or not.

        Raises:
            LaunchError: one did not connect.
        """
        started: dict[int, AutopilotProcess] = {}
        connected: set[int] = set()
        sitl.bridge.events.listen(
            lambda event: connected.add(event.vehicle_id) if event.kind == _CONNECTED else None
        )
        for plan in external_plans(sitl.fleet):
            folder = self._harness.scratch / "ardurover" / plan.config.label
            folder.mkdir(parents=True, exist_ok=True)
            (folder / PARAMETER_FILE).write_text(parameter_text(plan))
            process = AutopilotProcess(self._command(sitl, plan.id), folder)
            # Before the server that it talks to: a silent simulator makes it deaf to signals.
            self._harness.on_close(process.stop)
            started[plan.id] = process.start()
        self._wait_for_connections(sitl, started, connected)
        return started

    def _command(self, sitl: Sitl, vehicle_id: int) -> list[str]:
        instance = self._harness.leases.take_set(_ports_of_instance, _INSTANCES)
        fleet = sitl.fleet
        start = ArduRoverStart(
            vehicle_id=vehicle_id,
            fdm_port=sitl.session.ports.vehicle(vehicle_id).server,
            home=sitl.frame,
            gcs_port=fleet.vehicle(vehicle_id).config.mavlink_port,
            speedup=fleet.speed or _FLAT_OUT_SPEEDUP,
            program=self._program,
        )
        words = start.command()
        place = words.index("-I") + 1
        words[place] = str(instance)
        if "--sim-port-out" not in words:
            # Behind the instance, which sets the port too.
            words[place + 1 : place + 1] = ["--sim-port-out", str(start.fdm_port)]
        return words

    def _wait_for_connections(
        self, sitl: Sitl, started: dict[int, AutopilotProcess], connected: set[int]
    ) -> None:
        """Serve the wire while time stands still, until every autopilot has spoken."""
        bridge = sitl.bridge
        end_s = time.monotonic() + _CONNECT_S

        def look(now_us: int) -> None:
            alive = all(process.is_running() for process in started.values())
            if connected >= started.keys() or not alive or time.monotonic() > end_s:
                bridge.stop()

        bridge.while_idle.add(look)
        bridge.pause()
        try:
            bridge.run()
        finally:
            bridge.resume()
            bridge.while_idle.remove(look)
        for process in started.values():
            process.require_running()
        missing = sorted(started.keys() - connected)
        if missing:
            raise LaunchError(
                f"The ArduRover of {sitl[missing[0]].name} is silent for {_CONNECT_S:g} s.",
                output_tail=started[missing[0]].last_lines(),
            )


def _ports_of_instance(instance: int) -> Iterator[PortUse]:
    """What an ArduRover opens by itself."""
    move = ARDUROVER_STRIDE * instance
    for port in ARDUROVER_TCP:
        yield loopback_use("tcp", port + move)
    yield loopback_use("udp", ARDUROVER_RC + move)
    yield msgspec.structs.replace(loopback_use("udp", FDM_BASE + 1 + move), purpose="wire")
