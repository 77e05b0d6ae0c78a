"""``pico-gz down``: remove the containers of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from pico_gz.cli.exits import print_json
from pico_gz.containers.engine import Engine
from pico_gz.containers.stack_settings import DEFAULT_NAME, check_name


def down(
    name: Annotated[str, typer.Option(help="Of the run.")] = DEFAULT_NAME,
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Also the volume with recordings, if there is one.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Stop and remove everything that carries this run's label, and nothing else.

    Folders with recordings stay. Images stay, too, so that the next start is quick.

    Example:
      pico-gz down
      pico-gz down --name second --volumes
    """
    with Engine() as engine:
        removed = engine.remove(check_name(name), volumes=volumes)
    if as_json:
        print_json({"run": name, "removed": removed})
    else:
        print("\n".join(f"Removed {what}." for what in removed) or f"Nothing of {name} is here.")
