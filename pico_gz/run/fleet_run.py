"""The composition root: from a fleet to a run."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import FreeRunning, Lockstep, Scaled, TimeMode
from pico_gz.bridge.published import FleetView, TraceDigest
from pico_gz.bridge.stall import StallRules
from pico_gz.core.ground_control import GcsVehicle
from pico_gz.core.port_owner import require_free
from pico_gz.core.ports import PortPlan, rc_port
from pico_gz.core.units import us_from_seconds
from pico_gz.run.commands import FailureSwitch, control_commands, report_event
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.settings import ClockKind
from pico_gz.run.control_socket import Command, ControlServer, socket_path
from pico_gz.run.event_sources import (
    ContactReporter,
    ScriptListener,
    SimParameterSync,
    TextReporter,
)
from pico_gz.run.gazebo_rules import has_own_world
from pico_gz.run.options import RunOptions
from pico_gz.run.rc_setup import RcFeeder, open_rc
from pico_gz.run.recording.run_folder import RunFolder
from pico_gz.run.result import RunResult, summarize
from pico_gz.run.simulators import choose_adapters, local_frame, make_adapters
from pico_gz.run.vehicle_setup import SCRIPT_PREFIX, MissionStarter, spawn_vehicles
from pico_gz.run.view_access import OpenView, RunHandle, VehicleCommands
from pico_gz.vehicle.external.records import ExternalRadio

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot
    from pico_gz.vehicle.external.fdm_server import FdmServer


log = logging.getLogger(__name__)


class FleetRun:
    """A run from start to end. Use it in a ``with`` block: whatever happens, all is closed.

    Attributes:
        fleet: with every adapter decided.
        bridge: adapters, vehicles and clock.
        ports: every port of the run.
        fail: breaks and repairs units of vehicles; once it is open.
        notes: what people should know before it starts, one sentence each, beside the
            fleet's own ``warnings``.
    """

    def __init__(self, fleet: FleetConfig, options: RunOptions | None = None) -> None:
        self.options = options or RunOptions()
        self.fleet, reasons = choose_adapters(self._to_view(fleet))
        self.notes: list[str] = list(reasons)
        self.ports: PortPlan = self.fleet.port_plan(
            own_world=has_own_world(self.fleet), dashboard=self.options.dashboard is not None
        )
        self.bridge = SitlBridge(time_mode(self.fleet), stall=stall_rules(self.fleet))
        self.frame = local_frame(self.fleet)
        self.fail: FailureSwitch
        self.control_path: Path | None = None
        self._folder: RunFolder | None = None
        self._trace = TraceDigest()
        self.bridge.timeline.add_past(self._trace)
        self._connections: list[str] = []
        self._closing = contextlib.ExitStack()

    def __enter__(self) -> FleetRun:
        """Open everything, or nothing."""
        with contextlib.ExitStack() as opened:
            self._open(opened)
            self._closing = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Close everything, last opened first."""
        self._closing.close()

    def run(self, until: Callable[[FleetView], bool] | None = None) -> RunResult:
        """Run for the asked duration, until all vehicles are done, or until ``stop``."""
        duration_s = self.options.duration_s
        duration_us = us_from_seconds(duration_s) if duration_s else None
        conditions = [condition for condition in (until, self._done_condition()) if condition]
        self.bridge.run(duration_us, until=_any_of(conditions) if conditions else None)
        result = self.result()
        if self._folder is not None:
            self._folder.finish(result.as_dict())
        return result

    def stop(self) -> None:
        """End the run after the step under way."""
        self.bridge.stop()

    def result(self) -> RunResult:
        """The figures so far."""
        return summarize(
            self.bridge,
            self.frame,
            seed=self.fleet.seed,
            trace_sha256=self._trace.hexdigest(),
            recording=str(self._folder.path) if self._folder else None,
        )

    def connection_lines(self) -> list[str]:
        """Where ground stations meet this run, for people."""
        return self._connections

    # --- opening ----------------------------------------------------------------------------

    def _open(self, opened: contextlib.ExitStack) -> None:
        if self.options.check_ports:
            require_free(self.ports)
        bridge = self.bridge
        opened.callback(bridge.close)
        adapters = make_adapters(self.fleet, self.options, self.notes.append)
        for adapter in adapters:
            bridge.register_adapter(adapter)
        commanded, to_start = spawn_vehicles(
            bridge, self.fleet, self.frame, demo=self.options.demo, param_dir=self._param_dir()
        )
        for vehicle_id, pilot in commanded.items():
            opened.callback(pilot.params.flush)
            self._note_kept_parameters(vehicle_id)
        bridge.after_step.add(self._trace)
        server = self._open_external(opened)
        fail = self.fail = FailureSwitch(bridge, self._open_rc(opened, server))
        fail.external = server
        if self.options.record_dir is not None:
            from pico_gz.run.recording.recorder import RunRecording

            asked = {name: getattr(self.options, name) for name in ("demo", "rc", "contacts")}
            self._folder = RunFolder(
                self.options.record_dir,
                self.fleet,
                input_folder=self.options.run_folder,
                options=asked,
            )
            recording = RunRecording(
                self._folder, bridge, self.frame, commanded, lambda: self.result().as_dict()
            )
            opened.callback(recording.close)
        self._hear_vehicles(commanded)
        if self.options.view:
            self._open_view(opened)
        own = [adapter for adapter in adapters if isinstance(adapter, LightweightAdapter)]
        if own and self.options.contacts:
            bridge.after_step.add(ContactReporter(bridge, own))
        starter = MissionStarter(to_start)
        bridge.before_step.add(starter)
        if commanded:
            parameters = {i: pilot.params for i, pilot in commanded.items()}
            bridge.before_step.add(SimParameterSync(bridge, parameters, fail))
        if commanded and self.options.mavlink:
            self._open_mavlink(opened, commanded, fail)
        commands = control_commands(bridge, fail)
        if self.options.control:
            self._open_control(opened, commands)
        if self.options.dashboard is not None:
            vehicle_commands = VehicleCommands(bridge, self.fleet, self.frame, commanded)
            commands |= vehicle_commands.table(fail, starter)
            self._open_dashboard(opened, self.options.dashboard, commanded, commands, fail)

    def _hear_vehicles(self, commanded: Mapping[int, RoverAutopilot]) -> None:
        """Report what autopilots say as events; after the recording is open, which keeps them."""
        self.bridge.timeline.add_state("texts", TextReporter(self.bridge, commanded))
        scripts = [
            p.id for p in self.fleet.vehicles if p.config.autopilot.startswith(SCRIPT_PREFIX)
        ]
        if scripts:
            self.bridge.after_step.add(ScriptListener(self.bridge, scripts))

    def _param_dir(self) -> Path | None:
        """Where parameters that a ground station sets are kept; nowhere without a fleet file."""
        return self.options.run_folder / self.fleet.name if self.fleet.source else None

    def _note_kept_parameters(self, vehicle_id: int) -> None:
        folder, label = self._param_dir(), self.fleet.vehicle(vehicle_id).config.label
        if folder is not None and (folder / f"{label}.parm").exists():
            self.notes.append(f"{label} starts with the parameters kept in {folder}/{label}.parm")

    def _to_view(self, fleet: FleetConfig) -> FleetConfig:
        if not self.options.view:
            return fleet
        from pico_gz.run.gazebo_setup import fleet_to_view

        return fleet_to_view(fleet)

    def _open_view(self, opened: contextlib.ExitStack) -> None:
        from pico_gz.run.gazebo_setup import open_viewer

        viewer = open_viewer(self.fleet)
        if viewer is not None:
            opened.callback(viewer.close)
            self.bridge.after_step.add(viewer)

    def _open_rc(self, opened: contextlib.ExitStack, server: FdmServer | None) -> RcFeeder | None:
        feeder = open_rc(
            self.options.rc,
            list(self.bridge.vehicles),
            host=self.fleet.net.bind,
            port_offset=self.fleet.rules.offset,
            external=None if server is None else self._radio_of(server),
        )
        if feeder is not None:
            opened.callback(feeder.close)
            self.bridge.before_step.add(feeder)
        return feeder

    def _radio_of(self, server: FdmServer) -> Callable[[int], ExternalRadio]:
        if self.options.rc == "udp":
            ports = [
                str(rc_port(i, external=True) + self.fleet.rules.offset)
                for i in server.vehicle_ids()
            ]
            self._connections.append(f"Their radio control listens on UDP {', '.join(ports)}.")
        return lambda vehicle_id: ExternalRadio(
            vehicle_id,
            lambda channels_us: server.set_rc(vehicle_id, channels_us),
            lambda text: report_event(
                self.bridge, "radio", f"Vehicle {vehicle_id}: {text}", vehicle_id
            ),
        )

    def _open_mavlink(
        self,
        opened: contextlib.ExitStack,
        commanded: Mapping[int, GcsVehicle],
        fail: FailureSwitch,
    ) -> None:
        from pico_gz.run.mavlink_setup import TruthReader, make_mavlink, mavlink_lines

        mavlink = make_mavlink(
            self.fleet,
            self.ports,
            commanded,
            truth=TruthReader(lambda: self.bridge.view, self.frame),
            inject=fail,
            tlog_dir=self._folder.path if self._folder else None,
            tlog_ended_early=lambda i, text: report_event(
                self.bridge, "recording", text, i, severity=4
            ),
        )
        mavlink.open()
        opened.callback(mavlink.close)
        fail.link = mavlink.set_link_failure
        self._connections += mavlink_lines(self.fleet, self.ports, commanded)
        self.bridge.before_step.add(mavlink.service)
        self.bridge.while_idle.add(mavlink.service)

    def _open_external(self, opened: contextlib.ExitStack) -> FdmServer | None:
        if all(plan.config.autopilot != "external" for plan in self.fleet.vehicles):
            return None
        from pico_gz.run import external_setup

        folder = self.options.run_folder
        external_setup.write_parameter_files(self.fleet, folder)
        server = external_setup.make_fdm_server(
            self.fleet,
            self.ports,
            self.frame,
            lockstep=not isinstance(self.bridge.time_mode, FreeRunning),
            on_event=partial(report_event, self.bridge),
        )
        opened.callback(server.close)
        self.bridge.add_autopilots(server)
        for upload in external_setup.make_mission_uploads(
            self.fleet, self.ports, partial(_report_upload, self.bridge)
        ):
            opened.callback(upload.close)
            self.bridge.before_step.add(upload)
            self.bridge.while_idle.add(upload)
        self._connections.append("Start each external autopilot in a terminal of its own:")
        self._connections += external_setup.start_lines(self.fleet, self.ports, self.frame, folder)
        return server

    def _open_control(self, opened: contextlib.ExitStack, commands: Mapping[str, Command]) -> None:
        path = socket_path(f"{self.fleet.name}-{os.getpid()}")
        server = ControlServer(path, commands)
        opened.callback(server.close)
        self.control_path = path

    def _open_dashboard(
        self,
        opened: contextlib.ExitStack,
        open_view: OpenView,
        pilots: Mapping[int, GcsVehicle],
        commands: Mapping[str, Command],
        fail: FailureSwitch,
    ) -> None:
        view = open_view(
            RunHandle(
                fleet=self.fleet,
                bridge=self.bridge,
                frame=self.frame,
                pilots=pilots,
                commands=commands,
                failures=lambda: fail.active,
            )
        )
        opened.callback(view.close)
        self._connections.append(view.line)

    def _done_condition(self) -> Callable[[FleetView], bool] | None:
        if not self.options.until_done:
            return None
        # Asked each time: vehicles may be dropped.
        return lambda view: all(vehicle.status().done for vehicle in self.bridge.vehicles)


def _report_upload(bridge: SitlBridge, vehicle_id: int, text: str, severity: int) -> None:
    report_event(bridge, "mission", text, vehicle_id, severity=severity)


def _any_of(conditions: list[Callable[[FleetView], bool]]) -> Callable[[FleetView], bool]:
    return lambda view: any(condition(view) for condition in conditions)


def time_mode(fleet: FleetConfig) -> TimeMode:
    """The clock of a fleet: lockstep is paced when it has a speed."""
    step_us, speed = fleet.time.step_us, fleet.speed
    if fleet.time.mode is ClockKind.FREE_RUNNING:
        return FreeRunning(speed or 1.0, step_us)
    return Lockstep(step_us) if speed is None else Scaled(speed, step_us)


def stall_rules(fleet: FleetConfig) -> StallRules:
    """What to do about vehicles and simulators that do not answer."""
    return StallRules(
        warn_ms=fleet.time.stall_warn_ms,
        timeout_ms=fleet.time.stall_timeout_ms,
        policy=fleet.time.stall_policy,
    )
