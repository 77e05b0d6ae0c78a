"""pico-gz run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.console import LiveStatus, print_start, print_summary, show_warnings
from pico_gz.cli.fleet_options import AUTO, move_on, open_fleet, parse_speed
from pico_gz.cli.options import (
    Adapter,
    AllowGcsSysid,
    AsJson,
    FleetPath,
    Gcs,
    Layout,
    PortOffset,
    Rovers,
    Seed,
    Speed,
)
from pico_gz.cli.output import ExitCode, print_json, report
from pico_gz.cli.signals import StopOnSignal
from pico_gz.errors import ConfigError, PortClashError, SimulatorConnectionError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import MissionRefusedError
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.missions import find_mission, script_time_s
from pico_gz.run.options import RunOptions
from pico_gz.run.result import RunResult
from pico_gz.run.vehicle_setup import SCRIPT_PREFIX
from pico_gz.run.view_access import OpenView

_MAX_MOVES = 5


class MissionFrame(StrEnum):
    """Where the places of ``--mission`` are."""

    START = "start"
    ABSOLUTE = "absolute"


def run(
    fleet_file: FleetPath = None,
    rovers: Rovers = None,
    layout: Layout = None,
    adapter: Adapter = None,
    autopilot: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="builtin, ardurover[:RELEASE], external, none or script:NAME."
        ),
    ] = None,
    speed: Speed = None,
    duration: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Simulated seconds; 0 = until Ctrl-C.")
    ] = None,
    until_done: Annotated[
        bool,
        typer.Option("--until-done", help="End when all are done; exit code 1 when they are not."),
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="--until-done: simulated seconds after which the run has failed.",
        ),
    ] = None,
    seed: Seed = None,
    mission: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Mission (.plan, .waypoints), or square, survey, patrol: arms, AUTO.",
        ),
    ] = None,
    mission_frame: Annotated[
        MissionFrame | None,
        typer.Option(
            metavar="start|absolute",
            help="Move --mission to each rover's start (with several rovers), or keep its places.",
        ),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep a recording of the run here.")
    ] = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Show the run in a browser.")
    ] = False,
    dashboard_bind: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where the browser view listens.")
    ] = None,
    gcs: Gcs = None,
    rc: Annotated[
        str,
        typer.Option(metavar="SOURCE", help="none, keyboard, joystick:PATH, udp or script:FILE."),
    ] = "none",
    view: Annotated[
        str,
        typer.Option(metavar="NAME", help="gazebo or mujoco: its window shows the run."),
    ] = "",
    port_offset: PortOffset = "0",
    allow_gcs_sysid: AllowGcsSysid = False,
    no_contacts: Annotated[
        bool, typer.Option("--no-contacts", help="Rovers and obstacles do not block each other.")
    ] = False,
    keep_params: Annotated[
        bool, typer.Option("--keep-params", help="Keep what a ground station sets for later runs.")
    ] = False,
    paused: Annotated[bool, typer.Option("--paused", help="Start paused.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show what the started autopilots print.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run a fleet of rovers.

    Without a fleet file, three rovers drive one square each and the run ends by itself. With
    one, it runs until Ctrl-C, so that a ground station can command the rovers. --until-done is
    pass or fail: exit code 0 when every mission was completed, else 1 with the reasons; without
    --timeout or --duration it allows three times the longest mission at cruise speed plus a minute.

    Example:
      pico-gz run
      pico-gz run fleet.toml --speed 5 --mission square --until-done
      pico-gz run --rovers 5 --duration 30 --speed max --json
      pico-gz run --autopilot ardurover:4.7 --speed 10 --verbose
    """
    with StopOnSignal() as stopped:
        if as_json:
            stopped.watch(lambda: None, lambda: _print_stopped(stopped.exit_code))
        path, is_example = find_mission(mission) if mission else (None, False)
        try:
            fleet = open_fleet(
                fleet_file,
                FleetOverrides(
                    rovers=rovers,
                    layout=layout,
                    adapter=adapter,
                    autopilot=autopilot,
                    seed=seed,
                    speed=parse_speed(speed),  # type: ignore[arg-type]  # checked with all the rest
                    gcs=gcs,
                    mission=path,
                    dashboard=dashboard_bind,
                    allow_gcs_sysid=allow_gcs_sysid,
                    keep_params=keep_params,
                    contacts=not no_contacts,
                ),
                port_offset=port_offset,
            )
        except MissionRefusedError as error:
            if not until_done:
                raise
            return report(error, as_json=as_json, code=ExitCode.FAILED)
        demo = fleet.source is None and not any(plan.mission for plan in fleet.vehicles)
        options = RunOptions(
            duration_s=duration,
            until_done=until_done or (demo and duration is None and _can_be_done(fleet)),
            timeout_s=timeout,
            paused=paused,
            demo=demo,
            relative_missions=_is_relative(mission_frame, path, is_example, fleet),
            rc=rc,
            record_dir=record,
            view=view,
            contacts=not no_contacts,
            show=_show_line if verbose else None,
            dashboard=_view_opener() if dashboard or dashboard_bind is not None else None,
        )
        show_warnings()
        return _run(fleet, options, stopped, may_move=port_offset == AUTO, as_json=as_json)


def _show_line(name: str, line: str) -> None:
    """Print a line of a started autopilot; stdout is the run's own."""
    with contextlib.suppress(OSError):
        print(f"{name}: {line}", file=sys.stderr, flush=True)


def _is_relative(
    frame: MissionFrame | None, mission: Path | None, is_example: bool, fleet: FleetConfig
) -> bool:
    """Whether ``--mission`` moves to each rover's start."""
    if frame is not None and mission is None:
        raise ConfigError("--mission-frame belongs to --mission.")
    if frame is not None or mission is None:
        return frame is MissionFrame.START
    return is_example or len(fleet.vehicles) > 1


def _can_be_done(fleet: FleetConfig) -> bool:
    """Whether a demo of these ends by itself; others run until Ctrl-C."""
    endless = ("external", "none")
    return not any(
        plan.config.autopilot in endless
        or (
            plan.config.autopilot.startswith(SCRIPT_PREFIX)
            and script_time_s(plan.config.autopilot, plan.rover.drive) == inf
        )
        for plan in fleet.vehicles
    )


def _run(
    fleet: FleetConfig, options: RunOptions, stopped: StopOnSignal, *, may_move: bool, as_json: bool
) -> int:
    with _opened(fleet, options, may_move) as session:
        stopped.watch(session.stop, lambda: _print_result(session.result(), as_json))
        if not as_json:
            print_start(session)
        elif options.dashboard is not None:  # its address may hold a token shown nowhere else
            print(session.connection_lines()[-1], file=sys.stderr)
        try:
            result = _run_shown(session, quiet=as_json)
        except SimulatorConnectionError:
            if not stopped.exit_code:
                raise
            result = session.result()  # it was still waiting for the simulator
    stopped.settle()
    _print_result(result, as_json)
    if stopped.exit_code:
        return stopped.exit_code
    return ExitCode.FAILED if result.problems else ExitCode.DONE


def _print_stopped(code: int) -> None:
    """What a program reads when a signal ends the process before there is a run."""
    print_json({"error": {"code": code, "message": "Stopped before the run began.", "hint": ""}})


def _print_result(result: RunResult, as_json: bool) -> None:
    if as_json:
        print_json(result.as_dict())
    else:
        print_summary(result)


@contextlib.contextmanager
def _opened(fleet: FleetConfig, options: RunOptions, may_move: bool) -> Iterator[FleetRun]:
    """Open the session; ports that were taken since they were found free are moved."""
    with contextlib.ExitStack() as opened:
        for _ in range(_MAX_MOVES if may_move else 0):
            try:
                session = opened.enter_context(FleetRun(fleet, options))
                break
            except PortClashError:
                fleet = move_on(fleet)
        else:
            session = opened.enter_context(FleetRun(fleet, options))
        yield session


def _view_opener() -> OpenView:
    # Imported on use: it needs the web extra, and says so when that is missing.
    from pico_gz.view.app import open_dashboard

    return open_dashboard


def _run_shown(session: FleetRun, *, quiet: bool) -> RunResult:
    if quiet:
        return session.run()
    with LiveStatus(session):
        return session.run()
