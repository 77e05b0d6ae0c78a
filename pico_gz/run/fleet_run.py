"""The composition root: from a fleet to a run."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import FreeRunning, Lockstep, Scaled, TimeMode
from pico_gz.bridge.observers import TraceDigest
from pico_gz.bridge.published import FleetView
from pico_gz.bridge.stall import StallRules
from pico_gz.core.ground_control import GcsVehicle
from pico_gz.core.memory_limit import address_space_limit, require_memory
from pico_gz.core.port_owner import require_free
from pico_gz.core.ports import PortPlan, rc_port
from pico_gz.core.units import us_from_seconds
from pico_gz.run.commands import (
    FailureSwitch,
    ReportsContacts,
    SpeedMeter,
    control_commands,
    report_event,
    run_commands,
    with_status,
)
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.config.settings import ClockKind
from pico_gz.run.control_socket import Command, ControlServer, socket_path
from pico_gz.run.event_sources import (
    ContactReporter,
    ScriptListener,
    SimParameterSync,
    TextReporter,
)
from pico_gz.run.gazebo_rules import has_own_world
from pico_gz.run.health import FleetHealth, with_health
from pico_gz.run.joining import join_commands
from pico_gz.run.missions import shifted
from pico_gz.run.options import RunOptions
from pico_gz.run.overload import PaceMonitor
from pico_gz.run.pilots import Pilots
from pico_gz.run.rc_setup import RcFeeder, open_rc
from pico_gz.run.recording.run_folder import RunFolder, kept_params
from pico_gz.run.result import RunResult, summarize
from pico_gz.run.simulators import choose_adapters, local_frame, make_adapters
from pico_gz.run.vehicle_setup import MissionStarter, spawn_vehicles
from pico_gz.run.verdict import Verdict
from pico_gz.run.view_access import OpenView, RunHandle, VehicleCommands
from pico_gz.vehicle.autopilot.mission_files import ItemLists
from pico_gz.vehicle.external.records import ExternalRadio

if TYPE_CHECKING:
    from pico_gz.gazebo.viewer import GazeboViewer
    from pico_gz.mavlink.fleet_mavlink import FleetMavlink
    from pico_gz.run.ardurover_fleet import ArduRoverFleet
    from pico_gz.run.mujoco_pictures import MujocoViewer
    from pico_gz.vehicle.external.fdm_server import FdmServer
    from pico_gz.vehicle.rc.keyboard import Keyboard


log = logging.getLogger(__name__)


class FleetRun:
    """A run from start to end. Use it in a ``with`` block: whatever happens, all is closed.

    Attributes:
        fleet: with every adapter decided.
        bridge: adapters, vehicles and clock.
        ports: every port of the run.
        fail: breaks and repairs units of vehicles; once it is open.
        health: which vehicles are in trouble; once it is open.
        monitor: whether the run keeps its pace.
        pilots: the autopilots that can be commanded.
        mavlink: its ground links; ``None`` without any.
        closing: what is closed at the end, last first.
        connections: where programs meet this run, a line each, for people.
        verdict: what will be said of it at its end.
        ardurovers: those that it has started; ``None`` without any.
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
        self.health: FleetHealth
        self.monitor = PaceMonitor(self.bridge)
        self.control_path: Path | None = None
        self.keyboard: Keyboard | None = None
        self.pilots = Pilots()
        self._listener: ScriptListener | None = None
        self._handle: RunHandle | None = None
        self.mavlink: FleetMavlink | None = None
        self._meter = SpeedMeter(self.bridge)
        self._start_folder = _working_folder()
        self.verdict = Verdict(self.bridge, lambda: self.fleet)
        if self.options.until_done:
            self.verdict.require_end()
        self._folder: RunFolder | None = None
        self._trace = TraceDigest()
        self.bridge.timeline.add_past(self._trace)
        self.connections: list[str] = []
        self.ardurovers: ArduRoverFleet | None = None
        self.closing = contextlib.ExitStack()

    def __enter__(self) -> FleetRun:
        """Open everything, or nothing; a run that did not begin leaves no recording."""
        try:
            with contextlib.ExitStack() as opened:
                self._open(opened)
                self.closing = opened.pop_all()
        except BaseException:
            if self._folder is not None:
                self._folder.discard()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close everything, last opened first."""
        self.closing.close()

    def run(self, until: Callable[[FleetView], bool] | None = None) -> RunResult:
        """Run for the asked duration, until all vehicles are done, or until ``stop``."""
        limit_s = self.limit_s
        done = self.verdict.is_done if self.options.until_done else None
        conditions = [condition for condition in (until, done) if condition]
        if self.options.paused:
            self.bridge.pause()
        if not self._is_hopeless():
            with self.monitor, _unsearched():
                self.bridge.run(
                    us_from_seconds(limit_s) if limit_s else None,
                    until=_any_of(conditions) if conditions else None,
                )
        self._report_absent()
        result = self.result()
        if self._folder is not None:
            self._folder.finish(result.as_dict())
        return result

    def _report_absent(self) -> None:
        """Name the vehicles whose external autopilot never connected."""
        server = self.fail.external
        for vehicle_id, stats in server.stats().items() if server is not None else ():
            if not stats.packets:
                name = self.fleet.vehicle(vehicle_id).config.label
                text = f"{name}: no external autopilot connected, so it stood still."
                report_event(self.bridge, "absent", text, vehicle_id, severity=4)

    @property
    def limit_s(self) -> float | None:
        """Simulated seconds after which the run ends in any case; ``None``: never."""
        asked_s = [s for s in (self.options.duration_s, self.options.timeout_s) if s is not None]
        if self.options.until_done and not asked_s:
            return self.verdict.limit_s()
        return min((s for s in asked_s if s > 0.0), default=None)

    def _is_hopeless(self) -> bool:
        """Whether a mission can never be completed, and no time was given for it."""
        asked = self.options.duration_s is not None or self.options.timeout_s is not None
        return self.options.until_done and not asked and bool(self.verdict.impossible)

    # --- vehicles that come later -------------------------------------------------------------

    def set_fleet(self, fleet: FleetConfig) -> None:
        """Replace the fleet and its ports, when a vehicle joins."""
        self.fleet = fleet
        self.ports = fleet.port_plan(
            own_world=has_own_world(fleet), dashboard=self.options.dashboard is not None
        )
        if self._handle is not None:
            self._handle.fleet = fleet

    def listen_to(self, vehicle_id: int) -> None:
        """Report the last message of an autopilot without status texts."""
        if self._listener is None:
            self._listener = ScriptListener(self.bridge, ())
            self.bridge.after_step.add(self._listener)
        self._listener.add(vehicle_id)

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
            problems=self.verdict.problems(
                until_done=self.options.until_done, limit_s=self.limit_s
            ),
        )

    def about(self) -> dict[str, Any]:
        """What answers to ``pico-gz ctl`` say of the run as a whole."""
        return {
            "run": self.control_path.stem if self.control_path else self.fleet.name,
            "folder": self._start_folder,
            "speed_now": self.speed_now(),
            "failures": {str(i): dict(units) for i, units in self.fail.active.items() if units},
        }

    def speed_now(self) -> float:
        """Simulated seconds per second at present; 0 while paused."""
        return self._meter.now()

    def troubles(self) -> dict[int, str]:
        """Vehicle id -> what is wrong with it, for those with something wrong."""
        return {
            vehicle_id: ", ".join(trouble.why for trouble in troubles)
            for vehicle_id, troubles in self.health.troubles.items()
        }

    def connection_lines(self) -> list[str]:
        """Where ground stations meet this run, for people."""
        return self.connections

    # --- opening ----------------------------------------------------------------------------

    def _open(self, opened: contextlib.ExitStack) -> None:
        if self.options.check_ports:
            require_free(self.ports)
        bridge = self.bridge
        opened.callback(bridge.close)
        adapters = make_adapters(self.fleet, self.options, self.notes.append)
        for adapter in adapters:
            bridge.register_adapter(adapter)
        to_start = self._spawn(opened)
        commanded = self.pilots.commanded
        if address_space_limit() is not None:
            bridge.before_step.add(require_memory)
        bridge.after_step.add(self._trace)
        server = None
        if any(plan.config.is_external for plan in self.fleet.vehicles):
            from pico_gz.run.external_run import open_external

            server = open_external(self, opened)
        feeder = self._open_rc(opened, server)
        if feeder is not None and feeder.keyboard is not None:
            self.keyboard = feeder.keyboard
            self.keyboard.arm = partial(_arm_by_key, commanded)
        fail = self.fail = FailureSwitch(bridge, feeder)
        fail.external = server
        if self.options.record_dir is not None:
            self._open_recording(opened, self.options.record_dir)
        self._hear_vehicles()
        require_memory()
        if self.options.view:
            self._open_view(opened)
            require_memory()
        self._watch_health(adapters)
        starter = MissionStarter(to_start)
        bridge.before_step.add(starter)
        self.verdict.expect(commanded, starter, self.frame)
        bridge.before_step.add(SimParameterSync(bridge, self.pilots.sim_parameters, fail))
        if commanded and self.options.mavlink:
            self.open_mavlink(opened)
        bridge.after_step.add(self._meter)
        self._open_commands(opened, starter)
        require_memory()

    def placed(self, plan: VehiclePlan, lists: ItemLists) -> ItemLists:
        """A mission where its vehicle is to drive it."""
        if not self.options.relative_missions:
            return lists
        first_start = self.fleet.vehicles[0].config.pose
        return shifted(lists, self.frame, plan.config.pose, first_start)

    def _spawn(self, opened: contextlib.ExitStack) -> list[GcsVehicle]:
        commanded, to_start = spawn_vehicles(
            self.bridge,
            self.fleet,
            self.frame,
            demo=self.options.demo,
            param_dir=self._param_dir(),
            relative_missions=self.options.relative_missions,
        )
        for vehicle_id, pilot in commanded.items():
            self.pilots.add(vehicle_id, pilot)
            opened.callback(pilot.params.flush)
        self._note_kept_parameters()
        return to_start

    def _open_recording(
        self,
        opened: contextlib.ExitStack,
        folder: Path,
    ) -> None:
        from pico_gz.run.recording.recorder import RunRecording

        kept = ("demo", "rc", "contacts", "relative_missions")
        self._folder = RunFolder(
            folder,
            self.fleet,
            input_folder=self.options.run_folder,
            options={name: getattr(self.options, name) for name in kept},
        )
        recording = RunRecording(
            self._folder,
            self.bridge,
            self.frame,
            self.pilots.commanded,
            lambda: self.result().as_dict(),
        )
        opened.callback(recording.close)

    def _open_commands(
        self,
        opened: contextlib.ExitStack,
        starter: MissionStarter,
    ) -> None:
        """Open what commands come through: the control socket and the browser view."""
        bridge, fail = self.bridge, self.fail
        commands: dict[str, Command] = {
            name: with_health(command, self.health, lambda: self.monitor.pace)
            for name, command in control_commands(bridge, fail, self.about, fail.note_of).items()
        }
        vehicles = VehicleCommands(bridge, lambda: self.fleet, self.frame, self.pilots.commanded)
        orders = vehicles.table(fail, starter)
        if self.options.control:
            status = commands["status"]
            asked = {**orders, **join_commands(self)}
            answered = {name: with_status(order, bridge, status) for name, order in asked.items()}
            own = run_commands(bridge, self.about)
            self._open_control(opened, {**commands, **answered, **own})
        if self.options.dashboard is not None:
            del orders["mission"]  # a browser may not name files of this machine
            self._open_dashboard(opened, self.options.dashboard, {**commands, **orders}, fail)

    def _hear_vehicles(self) -> None:
        """Report what autopilots say as events; after the recording is open, which keeps them."""
        texts = TextReporter(self.bridge, self.ardurovers.pilots if self.ardurovers else {})
        self.pilots.report_texts(texts)
        self.bridge.timeline.add_state("texts", texts)
        for plan in self.fleet.vehicles:
            silent = plan.config.is_external or plan.config.autopilot == "none"
            if plan.id not in self.pilots.commanded and not silent:
                self.listen_to(plan.id)

    def _watch_health(self, adapters: Sequence[SimulatorAdapter]) -> None:
        own = [adapter for adapter in adapters if isinstance(adapter, ReportsContacts)]
        if own and self.options.contacts:
            self.bridge.after_step.add(ContactReporter(self.bridge, own))
        self.health = FleetHealth(
            self.bridge,
            self.pilots.alarmed,
            lambda: self.fail.active,
            lambda: [contact for adapter in own for contact in adapter.touching()],
        )
        self.health.watch()

    def _param_dir(self) -> Path | None:
        """Where parameters that a ground station sets are kept, if they are."""
        return self.options.run_folder / self.fleet.name if self.fleet.keep_params else None

    def _note_kept_parameters(self) -> None:
        """Name the files of kept parameters, and which of them are in force."""
        files = list(kept_params(self.fleet, self.options.run_folder).values())
        if not files:
            return
        self.notes += [_kept_note(file) for file in files if file.exists()]
        last = f" .. {files[-1].name}" if len(files) > 1 else ""
        self.connections.append(f"Parameters set by a ground station are kept in {files[0]}{last}")

    def _to_view(self, fleet: FleetConfig) -> FleetConfig:
        if not self.options.view:
            return fleet
        if self.options.view == "mujoco":
            from pico_gz.run.mujoco_pictures import require_screen

            require_screen()
            return fleet
        from pico_gz.run.gazebo_setup import fleet_to_view

        return fleet_to_view(fleet)

    def _open_view(self, opened: contextlib.ExitStack) -> None:
        viewer: GazeboViewer | MujocoViewer | None
        if self.options.view == "mujoco":
            from pico_gz.run.mujoco_pictures import MujocoViewer

            viewer = MujocoViewer(self.fleet)
        else:
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
            self.connections.append(f"Their radio control listens on UDP {', '.join(ports)}.")
        return lambda vehicle_id: ExternalRadio(
            vehicle_id,
            lambda channels_us: server.set_rc(vehicle_id, channels_us),
            lambda text: report_event(
                self.bridge, "radio", f"Vehicle {vehicle_id}: {text}", vehicle_id
            ),
        )

    def open_mavlink(
        self,
        opened: contextlib.ExitStack,
    ) -> None:
        """Open the ground links of all autopilots that can be commanded."""
        from pico_gz.run.mavlink_setup import TruthReader, make_mavlink, mavlink_lines

        commanded, fail = self.pilots.commanded, self.fail

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
        self.mavlink = mavlink
        fail.link = mavlink.set_link_failure
        self.connections += mavlink_lines(self.fleet, self.ports, commanded)
        self.bridge.before_step.add(mavlink.service)
        self.bridge.while_idle.add(mavlink.service)

    def _open_control(self, opened: contextlib.ExitStack, commands: Mapping[str, Command]) -> None:
        path = socket_path(f"{self.fleet.name}-{os.getpid()}")
        server = ControlServer(path, commands)
        opened.callback(server.close)
        self.control_path = path

    def _open_dashboard(
        self,
        opened: contextlib.ExitStack,
        open_view: OpenView,
        commands: Mapping[str, Command],
        fail: FailureSwitch,
    ) -> None:
        self._handle = RunHandle(
            fleet=self.fleet,
            bridge=self.bridge,
            frame=self.frame,
            pilots=self.pilots.commanded,
            commands=commands,
            failures=lambda: fail.active,
            troubles=lambda: self.health.troubles,
            pace=lambda: self.monitor.pace,
        )
        view = open_view(self._handle)
        opened.callback(view.close)
        self.connections.append(view.line)


def _working_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return ""


def _arm_by_key(pilots: Mapping[int, GcsVehicle], vehicle_id: int, wanted: bool) -> bool:
    """Arm or disarm as a key asks for; False for a vehicle that has no built-in autopilot."""
    pilot = pilots.get(vehicle_id)
    if pilot is None:
        return False
    if wanted:
        pilot.arm()
    else:
        pilot.disarm()
    return True


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


@contextlib.contextmanager
def _unsearched() -> Iterator[None]:
    """Keep what is there from being searched for cycles: it lives as long as the run.

    That search takes a tenth of the time of a large fleet.
    """
    if gc.get_freeze_count():  # the program arranges that itself
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _kept_note(file: Path) -> str:
    """Whose kept parameters are in force, and what of the file is not."""
    from pico_gz.vehicle.autopilot.parameters import scan_parameter_file

    found = scan_parameter_file(file)
    ignored = [text.rstrip(".") for text in (*found.problems, *found.out_of_range, *found.unknown)]
    note = f"{file.stem} starts with the parameters kept in {file}"
    return f"{note}, but for: {', '.join(ignored)}." if ignored else note
