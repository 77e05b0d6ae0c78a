"""External autopilots of a run: served, started, given their missions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import FreeRunning
from pico_gz.run import ardurover_fleet, external_setup
from pico_gz.run.commands import report_event
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.vehicle.external.releases import ArduRoverProgram

if TYPE_CHECKING:
    from pico_gz.run.fleet_run import FleetRun


def open_external(run: FleetRun, opened: ExitStack) -> FdmServer:
    """Serve the external autopilots of a run, and start those that it is to start."""
    folder = run.options.run_folder
    programs = external_setup.programs_of(run.fleet)
    external_setup.write_parameter_files(run.fleet, folder)
    server = external_setup.make_fdm_server(
        run.fleet,
        run.ports,
        run.frame,
        lockstep=not isinstance(run.bridge.time_mode, FreeRunning),
        on_event=partial(report_event, run.bridge),
        programs=programs,
    )
    opened.callback(server.close)
    run.bridge.add_autopilots(server)
    if programs:
        _open_ardurovers(run, opened, server, programs)
    run.connections.append(external_setup.mavlink_line(run.fleet))
    if run.options.mavlink:
        for upload in external_setup.make_mission_uploads(
            run.fleet, run.ports, partial(_report_upload, run.bridge), run.placed
        ):
            opened.callback(upload.close)
            run.bridge.before_step.add(upload)
            run.bridge.while_idle.add(upload)
    elif any(plan.mission for plan in external_setup.external_plans(run.fleet)):
        run.notes.append("Missions of external vehicles are not uploaded: MAVLink is off.")
    lines = external_setup.start_lines(run.fleet, run.ports, run.frame, folder)
    if lines:
        run.connections.append("Start each external autopilot in a terminal of its own:")
    run.connections += lines
    return server


def _open_ardurovers(
    run: FleetRun,
    opened: ExitStack,
    server: FdmServer,
    programs: Mapping[int, ArduRoverProgram],
) -> None:
    fleet, frame = run.fleet, run.frame
    missions = ardurover_fleet.ardurover_missions(fleet, frame, run.placed, demo=run.options.demo)
    starts = external_setup.ardurover_starts(
        fleet, run.ports, frame, run.options.run_folder, programs
    )
    run.ardurovers = ardurover_fleet.make_ardurovers(
        fleet, run.bridge, server, run.ports, starts, missions, run.options
    )
    opened.callback(run.ardurovers.close)
    run.ardurovers.open()
    run.verdict.expect_started(
        starts,
        ardurover_fleet.expected_s(fleet, frame, missions),
        run.ardurovers.waiting,
    )
    releases = sorted({program.release or "?" for program in programs.values()})
    run.connections.append(f"ArduRover {', '.join(releases)}, started by this run")


def _report_upload(bridge: SitlBridge, vehicle_id: int, text: str, severity: int) -> None:
    report_event(bridge, "mission", text, vehicle_id, severity=severity)
