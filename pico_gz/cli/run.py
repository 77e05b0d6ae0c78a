"""pico-gz run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.console import StopOnSignal, print_start, print_summary, show_warnings
from pico_gz.cli.fleet_options import AUTO, move_on, open_fleet, parse_speed
from pico_gz.cli.options import (
    Adapter,
    AllowGcsSysid,
    AsJson,
    FleetPath,
    Layout,
    PortOffset,
    Seed,
    Speed,
)
from pico_gz.cli.output import ExitCode, print_json
from pico_gz.errors import PortClashError, SimulatorConnectionError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.result import RunResult
from pico_gz.run.view_access import OpenView

_MAX_MOVES = 5


def run(
    fleet_file: FleetPath = None,
    rovers: Annotated[int | None, typer.Option(help="Number of rovers, 1..255.")] = None,
    layout: Layout = None,
    adapter: Adapter = None,
    autopilot: Annotated[
        str | None, typer.Option(help="builtin, external, none or script:NAME.")
    ] = None,
    speed: Speed = None,
    duration: Annotated[
        float | None, typer.Option(help="Simulated seconds; 0 = until Ctrl-C.")
    ] = None,
    until_done: Annotated[
        bool, typer.Option("--until-done", help="End when every vehicle is done.")
    ] = False,
    seed: Seed = None,
    mission: Annotated[
        Path | None, typer.Option(help="Mission (.plan, .waypoints): arms, AUTO.")
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
    gcs: Annotated[str | None, typer.Option(help="per_vehicle or shared.")] = None,
    rc: Annotated[
        str, typer.Option(help="none, keyboard, joystick:PATH, udp or script:FILE.")
    ] = "none",
    view: Annotated[
        str, typer.Option(help="gazebo: its window shows what Lightweight computes.")
    ] = "",
    port_offset: PortOffset = "0",
    allow_gcs_sysid: AllowGcsSysid = False,
    no_contacts: Annotated[
        bool, typer.Option("--no-contacts", help="Rovers and obstacles do not block each other.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run a fleet of rovers.

    Without a fleet file, three rovers drive one square each and the run ends by itself. With
    one, it runs until Ctrl-C, so that a ground station can command the rovers; --mission
    with --until-done ends it when all missions are done.

    Example:
      pico-gz run
      pico-gz run fleet.toml --speed 5 --mission square.plan --until-done
      pico-gz run --rovers 5 --duration 30 --speed max --json
    """
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
            mission=mission,
            dashboard=dashboard_bind,
            allow_gcs_sysid=allow_gcs_sysid,
            contacts=not no_contacts,
        ),
        port_offset=port_offset,
    )
    demo = fleet.source is None and not any(plan.mission for plan in fleet.vehicles)
    options = RunOptions(
        duration_s=duration,
        until_done=until_done or (demo and duration is None),
        demo=demo,
        rc=rc,
        record_dir=record,
        view=view,
        contacts=not no_contacts,
        dashboard=_view_opener() if dashboard or dashboard_bind is not None else None,
    )
    show_warnings(sys.stderr)
    may_move = port_offset == AUTO
    with (
        _opened(fleet, options, may_move) as session,
        StopOnSignal(session.stop, lambda: _print_result(session.result(), as_json)) as stopped,
    ):
        if not as_json:
            print_start(session)
        elif options.dashboard is not None:  # its address may hold a token shown nowhere else
            print(session.connection_lines()[-1], file=sys.stderr)
        try:
            result = _run_shown(session, quiet=as_json)
        except SimulatorConnectionError:
            if stopped.exit_code:  # it was still waiting for the simulator
                return stopped.exit_code
            raise
    _print_result(result, as_json)
    return stopped.exit_code or ExitCode.DONE


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
    from pico_gz.cli.console import LiveStatus

    with LiveStatus(session):
        return session.run()
