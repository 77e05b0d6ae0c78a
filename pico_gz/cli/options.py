"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FleetPath = Annotated[
    Path | None,
    typer.Argument(metavar="FLEET.toml", help="The fleet file; without one, three rovers."),
]
Rovers = Annotated[int | None, typer.Option(metavar="N", help="Number of rovers, 1..255.")]
Layout = Annotated[str | None, typer.Option(metavar="KIND", help="line, grid, circle or explicit.")]
Adapter = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="auto, lightweight, gazebo, mujoco, or one of [adapters]."),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Start of all random numbers.")]
Speed = Annotated[str | None, typer.Option(metavar="X|max", help="Simulated seconds per second.")]
PortOffset = Annotated[
    str, typer.Option(metavar="N|auto", help="Move all ports; auto finds free ones.")
]
AllowGcsSysid = Annotated[bool, typer.Option("--allow-gcs-sysid", help="Allow vehicle id 255.")]
RunName = Annotated[str, typer.Option(metavar="NAME", help="Of the run.")]
RunFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A run, or a folder of runs.")]
Gcs = Annotated[str | None, typer.Option(metavar="KIND", help="per_vehicle or shared.")]
GcsOrShared = Annotated[str, typer.Option(metavar="KIND", help="per_vehicle or shared.")]
BuiltinOrExternal = Annotated[str | None, typer.Option(metavar="NAME", help="builtin or external.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
