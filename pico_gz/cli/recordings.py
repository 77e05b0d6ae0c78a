"""pico-gz replay, plot, render, diff and rerun."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from pico_gz.cli.console import show_warnings
from pico_gz.cli.options import AsJson, RunFolder
from pico_gz.cli.output import ExitCode, print_json, print_progress
from pico_gz.cli.signals import StopOnSignal
from pico_gz.errors import ConfigError
from pico_gz.run.recording.diff import diff_runs
from pico_gz.run.recording.plots import plot_run
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.replay import Replay
from pico_gz.run.rerun import RerunBy, RerunResult
from pico_gz.run.rerun import rerun as repeat

_PROGRESS_S = 2.0

Trust = Annotated[
    bool, typer.Option("--trust", help="Use files and adapter options that the recording names.")
]


def replay(
    run: RunFolder,
    speed: Annotated[float, typer.Option(metavar="X", help="Recorded seconds per second.")] = 1.0,
    start: Annotated[
        float, typer.Option(metavar="SECONDS", help="Recorded time to begin at.")
    ] = 0.0,
    paused: Annotated[bool, typer.Option("--paused", help="Begin with time held.")] = False,
    dashboard_bind: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to serve the view.")
    ] = None,
    trust: Trust = False,
) -> int:
    """Show a recording in the browser view: play, pause, step, any speed, any time.

    Needs the extra 'web'. Ends with Ctrl-C. Of a folder with several runs the newest is shown.

    Example:
      pico-gz replay runs
      pico-gz replay runs/3_rovers-20260101-120000 --speed 4 --start 30
    """
    from pico_gz.view.app import open_dashboard

    if not 0.0 < speed <= 1000.0:
        raise ConfigError(f"A speed of {speed:g} is not possible.", hint="Above 0, at most 1000.")
    show_warnings()
    with Replay(run, speed=speed, trust=trust) as shown, StopOnSignal(shown.bridge.stop) as stopped:
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


def plot(
    run: RunFolder,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help=".png, .svg, .pdf or .html"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a recording: track, speed, cross-track, estimator error, latency.

    Pictures need the extra 'plots'; a web page needs nothing and loads nothing. Without -o the
    plot goes into the run's folder. Of a folder with several runs the newest is drawn.

    Example:
      pico-gz plot runs
      pico-gz plot runs/3_rovers-20260101-120000 -o track.html
    """
    target = plot_run(run, output)
    if as_json:
        print_json({"plot": str(target)})
    else:
        print(f"Drawn: {target}")


def render(
    run: RunFolder,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE|DIR", help="video.mp4, or a new folder.")
    ],
    camera: Annotated[
        str, typer.Option(metavar="KIND", help="overview, top or follow.")
    ] = "overview",
    rover: Annotated[
        int | None, typer.Option(metavar="ID", help="Whom to follow; default: the first.")
    ] = None,
    size: Annotated[str, typer.Option(metavar="WxH", help="Of the pictures.")] = "1280x720",
    fps: Annotated[float, typer.Option(metavar="N", help="Pictures per second.")] = 30.0,
    speed: Annotated[float, typer.Option(metavar="X", help="Recorded seconds per second.")] = 1.0,
    start: Annotated[
        float, typer.Option(metavar="SECONDS", help="Recorded time to begin at.")
    ] = 0.0,
    end: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Recorded time to end at.")
    ] = None,
    no_trails: Annotated[
        bool, typer.Option("--no-trails", help="Do not draw where rovers have been.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a video or pictures of a recording, without a screen.

    Any simulator's recording can be drawn. Needs the extra 'mujoco' and a GL library: EGL or
    OSMesa, whichever works, or the one that MUJOCO_GL names. A video needs ffmpeg; a folder gets
    PNG files. Of a folder with several runs the newest is drawn.

    Example:
      pico-gz render runs -o video.mp4
      pico-gz render runs -o frames --camera follow --rover 2 --fps 10 --start 5 --end 8
    """
    from pico_gz.run.video import RenderOptions, render_run  # needs numpy

    width, _, height = size.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and len(size) < 12):
        raise ConfigError(f"{size!r} is no size.", hint="For example --size 1920x1080")
    options = RenderOptions(
        camera=camera,
        rover=rover,
        width_px=int(width),
        height_px=int(height),
        fps=fps,
        speed=speed,
        start_s=start,
        end_s=end,
        trails=not no_trails,
    )
    last_s = time.monotonic()

    def progress(done: int, of: int) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= _PROGRESS_S and not as_json:
            last_s = time.monotonic()
            print_progress(f"{done} of {of} pictures")

    result = render_run(run, output, options, progress)
    if as_json:
        print_json(msgspec.to_builtins(result))
    else:
        print(f"Drawn: {result.output}, {result.frames} pictures, by {result.gl}")


def diff(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="A recording.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another one.")],
    as_json: AsJson = False,
) -> int:
    """Find the first difference of two recordings: step, vehicle, channel and field.

    Every bit of truth, sensors and actuators counts. Two runs of one fleet file with one seed
    and version are the same; a difference ends with exit code 1.

    Example:
      pico-gz diff runs/3_rovers-20260101-120000 runs/3_rovers-20260101-120500
    """
    with RecordedRun(run_a) as first, RecordedRun(run_b) as second:
        found = diff_runs(first, second)
        steps = sum(1 for _ in first.step_numbers())
        whole = first.complete and second.complete
    if as_json:
        difference = None if found is None else msgspec.to_builtins(found)
        print_json(
            {"same": found is None, "steps": steps, "complete": whole, "difference": difference}
        )
    elif found is None:
        print(f"The same, bit for bit: {steps} steps.")
        if not whole:
            print("One of them was cut off before its end.")
    else:
        print(f"First difference: {found}")
    return ExitCode.DONE if found is None else ExitCode.FAILED


def rerun(
    run: RunFolder,
    by: Annotated[
        RerunBy, typer.Option(metavar="SOURCE", help="What to repeat from: actuators, or seed.")
    ] = RerunBy.ACTUATORS,
    trust: Trust = False,
    as_json: AsJson = False,
) -> int:
    """Repeat a recorded run and prove that every bit comes again.

    By actuators, the recorded commands drive the simulator, no matter who gave them. By seed,
    everything runs again, autopilots and missions too; what a ground station did is missing
    then. Failures and poses that were set by hand do not come again. A difference ends with
    exit code 1, and so does a recording whose digest is not the one in its run.json.

    Example:
      pico-gz rerun runs
      pico-gz rerun runs/3_rovers-20260101-120000 --by seed
    """
    with RecordedRun(run, trust=trust) as recorded:
        result = repeat(recorded, by)
        folder = recorded.folder
    if as_json:
        print_json({"run": str(folder), "same": result.same, **msgspec.to_builtins(result)})
    else:
        _print_result(folder, result)
    return ExitCode.DONE if result.same else ExitCode.FAILED


def _print_result(folder: Path, result: RerunResult) -> None:
    print(f"{folder}: {result.steps} steps by {result.by.value}")
    print(f"  recorded {result.recorded_sha256} by pico-gz {result.recorded_version}")
    print(f"  repeated {result.rerun_sha256} by pico-gz {result.rerun_version}")
    if result.difference is not None:
        print(f"First difference (recorded | repeated): {result.difference}")
    if result.is_of_another_run:
        print(f"  run.json {result.run_sha256}: it describes another run than was recorded.")
    print(_verdict(result))


def _verdict(result: RerunResult) -> str:
    if not result.same:
        return "Not the same."
    if not result.complete:
        of_all = "" if result.run_steps is None else f" of {result.run_steps}"
        return f"Cut off after {result.steps}{of_all} steps; so far the same, bit for bit."
    if result.run_sha256 is None:
        return "The same, bit for bit, but run.json has no digest of the run to check against."
    return "The same, bit for bit."
