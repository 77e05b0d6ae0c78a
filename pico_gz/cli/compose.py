"""pico-gz compose."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.fleet_options import open_fleet
from pico_gz.cli.options import AsJson, Force, GcsOrShared
from pico_gz.cli.output import print_json, write_file
from pico_gz.cli.tools.containers.build import ComposeCommand, shared_context
from pico_gz.cli.tools.containers.compose_file import (
    ComposeFile,
    ComposeOptions,
    FleetPart,
    cut_fleet,
)
from pico_gz.cli.tools.containers.stack import (
    IMAGE_OWNER,
    USER_VARIABLE,
    check_name,
    prepare_runs,
    project_name,
    require_readable,
)
from pico_gz.errors import MissingProgramError
from pico_gz.run.config.overrides import FleetOverrides


def compose(
    fleet_file: Annotated[Path, typer.Argument(metavar="FLEET.toml", help="The fleet file.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")
    ] = Path("fleet.compose.yaml"),
    per_bridge: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Most rovers of one bridge and world; default 20 on Gazebo, else 255.",
        ),
    ] = None,
    gcs: GcsOrShared = "shared",
    record: Annotated[bool, typer.Option("--record", help="Keep recordings.")] = False,
    runs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where those go; default: a volume.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the run; default: the fleet's name.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a Compose file for exactly this fleet, with several worlds when one is too small.

    Rovers in different worlds do not meet. A fleet that cannot run in containers is refused. The
    file can be shared: its paths are relative to it.

    Example:
      pico-gz compose fleet.toml -o fleet.compose.yaml
      docker compose -f fleet.compose.yaml up -d --wait
    """
    fleet = open_fleet(fleet_file, FleetOverrides(gcs=gcs))
    parts = cut_fleet(fleet, per_bridge)
    variables = prepare_runs(runs) if runs else {}
    require_readable(fleet_file, variables)
    options = ComposeOptions(
        project=check_name(name) if name else project_name(fleet.name),
        folder=output.absolute().parent,
        context=shared_context(output),
        runs=runs,
        gcs=gcs,
        record=record,
        user=variables.get(USER_VARIABLE, IMAGE_OWNER),
    )
    text = ComposeFile(fleet, parts, options).text()
    was_checked = _check(text, options)
    write_file(output, text, force=force)
    if as_json:
        print_json({"file": str(output), "parts": [_as_dict(part) for part in parts],
                    "checked": was_checked})  # fmt: skip
        return
    rovers = len(fleet.vehicles)
    print(f"Wrote {output}: {rovers} rovers, {len(parts)} bridge{'s' * (len(parts) > 1)}.")
    if len(parts) > 1:
        print("Rovers of different bridges do not meet; each bridge has ports of its own.")
    print(f"Next: docker compose -f {output} up -d --wait")
    print(f"Then: pico-gz status|logs -f|down --name {options.project}")


def _check(text: str, options: ComposeOptions) -> bool:
    """Have Compose read the file, if it is here.

    Raises:
        LaunchError: Compose refuses it.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            command = ComposeCommand(options.folder, options.project, file=Path(file.name))
        except MissingProgramError:
            print("Warning: not checked, because there is no Compose here.", file=sys.stderr)
            return False
        command.run("--profile", "*", "config", "--quiet")
    return True


def _as_dict(part: FleetPart) -> dict[str, object]:
    return {
        "vehicles": part.vehicles,
        "on_gazebo": part.on_gazebo,
        "external": part.external,
    }
