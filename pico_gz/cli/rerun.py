"""``pico-gz rerun``: prove that a recording can be repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.recording.recorded_run import RecordedRun
from pico_gz.recording.rerun import RerunBy, RerunResult
from pico_gz.recording.rerun import rerun as repeat


def rerun(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run, or a folder of runs.")],
    by: Annotated[
        RerunBy, typer.Option(help="What to repeat from: actuators, or seed.")
    ] = RerunBy.ACTUATORS,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> int:
    """Repeat a recorded run and prove that every bit comes again.

    By actuators, the recorded commands drive the simulator, whoever gave them. By seed,
    everything runs again, autopilots and missions too; what a ground station did is missing
    then. Failures and poses that were set by hand do not come again. A difference ends with
    exit code 1, and so does a recording whose digest is not the one in its run.json.

    Example:
      pico-gz rerun runs
      pico-gz rerun runs/3_rovers-20260101-120000 --by seed
    """
    with RecordedRun(run) as recorded:
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
        print(f"  run.json {result.run_sha256}: it tells of another run than was recorded.")
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
