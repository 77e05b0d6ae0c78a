"""``pico-gz init``: a commented fleet file to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.exits import print_json
from pico_gz.config import FleetOverrides, default_fleet
from pico_gz.errors import ConfigError
from pico_gz.resources import resource_path


def init(
    rovers: Annotated[int, typer.Option(help="Number of rovers.")] = 3,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")
    ] = Path("fleet.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Write a fleet file with every key, its default and what it means.

    Example:
      pico-gz init --rovers 5 -o fleet.toml
      pico-gz run fleet.toml
    """
    default_fleet(overrides=FleetOverrides(rovers=rovers, allow_gcs_sysid=True), environ={})
    text = fleet_text(rovers)
    try:
        with output.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise ConfigError(
            f"{output} exists already.", hint="--force overwrites it; -o FILE writes another one."
        ) from None
    if as_json:
        print_json({"file": str(output), "rovers": rovers})
    else:
        print(f"Wrote {output} for {rovers} rovers. Next: pico-gz run {output}")


def fleet_text(rovers: int) -> str:
    """The example fleet file for another number of rovers."""
    text = resource_path("worlds/default.toml").read_text(encoding="utf-8")
    changes = {"name": f'"{rovers}_rovers"', "count": str(rovers)} if rovers != 3 else {}
    if rovers == 255:
        changes["allow_gcs_sysid"] = "true"
    for key, value in changes.items():
        text = re.sub(rf"^({key} *= *)[^#\n]*?( *#.*)?$", rf"\g<1>{value}\2", text, flags=re.M)
    return text
