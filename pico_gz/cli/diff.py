"""``pico-gz diff``: the first difference of two recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.recording.diff import diff_runs
from pico_gz.recording.recorded_run import RecordedRun


def diff(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
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
