"""``pico-gz replay``: show a recording in the browser."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.console_log import show_warnings
from pico_gz.cli.exits import ExitCode
from pico_gz.cli.signals import StopOnSignal
from pico_gz.errors import ConfigError
from pico_gz.recording.replay import Replay


def replay(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run, or a folder of runs.")],
    speed: Annotated[float, typer.Option(help="Recorded seconds per second.")] = 1.0,
    start: Annotated[float, typer.Option(help="Recorded time to begin at [s].")] = 0.0,
    paused: Annotated[bool, typer.Option("--paused", help="Begin with time held.")] = False,
    dashboard_bind: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to serve the view.")
    ] = None,
) -> int:
    """Show a recording in the browser view: play, pause, step, any speed, any time.

    Needs the extra 'web'. Ends with Ctrl-C. Of a folder with several runs the newest is shown.

    Example:
      pico-gz replay runs
      pico-gz replay runs/3_rovers-20260101-120000 --speed 4 --start 30
    """
    from pico_gz.dashboard.app import open_dashboard

    if not 0.0 < speed <= 1000.0:
        raise ConfigError(f"A speed of {speed:g} is not possible.", hint="Above 0, at most 1000.")
    show_warnings(sys.stderr)
    with Replay(run, speed=speed) as shown, StopOnSignal(shown.bridge.stop) as stopped:
        if dashboard_bind is not None:
            net = dataclasses.replace(shown.fleet.net, dashboard=dashboard_bind)
            shown.fleet = dataclasses.replace(shown.fleet, net=net)
        view = open_dashboard(shown.handle())
        try:
            print(f"{shown.run.folder}: {shown.end_us / 1e6:g} s recorded")
            print(view.line, flush=True)
            if start > 0.0:
                shown.bridge.step()
                shown.seek(int(start * 1e6))
            if paused:
                shown.bridge.pause()
            shown.play()
        finally:
            view.close()
    return stopped.exit_code or ExitCode.DONE
