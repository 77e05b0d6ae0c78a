"""``pico-gz plot``: draw a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.exits import print_json
from pico_gz.recording.plot import plot_run


def plot(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run, or a folder of runs.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help=".png, .svg, .pdf or .html"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
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
