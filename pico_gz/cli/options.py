"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FleetPath = Annotated[
    Path | None,
    typer.Argument(metavar="FLEET.toml", help="The fleet file; without one, three rovers."),
]
Rovers = Annotated[int | None, typer.Option(help="Number of rovers.")]
Layout = Annotated[str | None, typer.Option(help="line, grid, circle or explicit.")]
Adapter = Annotated[str | None, typer.Option(help="auto, lightweight, gazebo or NAME.")]
Seed = Annotated[int | None, typer.Option(help="Start of all random numbers.")]
Speed = Annotated[str | None, typer.Option(metavar="X|max", help="Simulated seconds per second.")]
PortOffset = Annotated[
    str, typer.Option(metavar="N|auto", help="Move all ports; auto finds free ones.")
]
AllowGcsSysid = Annotated[bool, typer.Option("--allow-gcs-sysid", help="Allow vehicle id 255.")]
RunName = Annotated[str, typer.Option(metavar="NAME", help="Of the run.")]
RunFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A run, or a folder of runs.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
