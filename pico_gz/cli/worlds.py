"""pico-gz world and lint."""

from __future__ import annotations

import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from pico_gz.cli.fleet_options import open_fleet
from pico_gz.cli.options import (
    AllowGcsSysid,
    AsJson,
    BuiltinOrExternal,
    FleetPath,
    Layout,
    PortOffset,
    Rovers,
)
from pico_gz.cli.output import ExitCode, print_json
from pico_gz.errors import ConfigError
from pico_gz.gazebo.lint import lint_file
from pico_gz.gazebo.lint.document import Finding, Severity
from pico_gz.gazebo.lint.sdformat import APT_PACKAGE, can_ask
from pico_gz.gazebo.worlds.folder import FolderState, compare_folder, write_folder
from pico_gz.gazebo.worlds.render import stamped
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.world_bundle import WORLD_FILE, Recipe, WorldBundle, make_bundle
from pico_gz.run.world_from_fleet import WorldOptions


class WorldTarget(StrEnum):
    """Simulators that worlds are generated for."""

    GAZEBO = "gazebo"
    MUJOCO = "mujoco"


def world(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write into.")
    ],
    fleet_file: FleetPath = None,
    rovers: Rovers = None,
    layout: Layout = None,
    autopilot: BuiltinOrExternal = None,
    port_offset: PortOffset = "0",
    lidar: Annotated[bool, typer.Option("--lidar", help="A scanner on every rover.")] = False,
    camera: Annotated[bool, typer.Option("--camera", help="A camera on every rover.")] = False,
    rangefinders: Annotated[
        bool, typer.Option("--rangefinders", help="Fit the rangefinders_deg of [rover].")
    ] = False,
    target: Annotated[
        WorldTarget, typer.Option("--for", metavar="gazebo|mujoco", help="Its simulator.")
    ] = WorldTarget.GAZEBO,
    allow_gcs_sysid: AllowGcsSysid = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if DIR is out of date.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite or remove files edited by hand.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Generate a world with the rovers of a fleet, ready for gz sim or MuJoCo's viewer.

    Lidars, cameras and rangefinders need Gazebo's render engine; all other sensors do not.
    A world for MuJoCo is one file, and has none of the three.

    Example:
      pico-gz world fleet.toml -o out/
      pico-gz world --rovers 20 --layout grid -o out/
      pico-gz world fleet.toml -o out/ --check
      pico-gz world fleet.toml -o out/ --for mujoco
    """
    overrides = FleetOverrides(
        rovers=rovers,
        layout=layout,
        autopilot=autopilot,
        allow_gcs_sysid=allow_gcs_sysid,
        contacts=False,  # bodies on Gazebo are boxes: the world itself is looked at below
    )
    fleet = open_fleet(fleet_file, overrides, port_offset=port_offset)
    options = WorldOptions(rangefinders=rangefinders, lidar=lidar, camera=camera)
    switches = {
        "--rovers": rovers,
        "--layout": layout,
        "--autopilot": autopilot,
        "--port-offset": fleet.rules.offset,
        "--lidar": lidar,
        "--camera": camera,
        "--rangefinders": rangefinders,
        "--for": target.value if target is WorldTarget.MUJOCO else None,
        "--allow-gcs-sysid": allow_gcs_sysid,
    }
    recipe = Recipe.of(fleet, switches)
    world = (
        _mujoco_world(fleet, options, recipe)
        if target is WorldTarget.MUJOCO
        else _gazebo_world(make_bundle(fleet, options, recipe))
    )
    for warning in world.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    if check:
        return _print_check(output, compare_folder(output, world.files), as_json=as_json)
    before = write_folder(output, world.files, force=force)
    kept = () if force else before.edited_left_over
    for name in kept:
        print(f"Warning: kept {output / name}: edited by hand, left over.", file=sys.stderr)
    _print_written(output, world, before, kept, as_json=as_json)
    return ExitCode.DONE


class _World(msgspec.Struct, frozen=True, kw_only=True):
    """What was generated: the main file, all files, and how to open it."""

    name: str
    file: str
    files: dict[str, str]
    rovers: int
    ports: dict[str, int]
    open_with: str
    warnings: tuple[str, ...] = ()


def _gazebo_world(bundle: WorldBundle) -> _World:
    return _World(
        name=bundle.world.name,
        file=WORLD_FILE,
        files=bundle.files,
        rovers=len(bundle.world.rovers),
        ports={rover.name: rover.plugin.port for rover in bundle.world.rovers if rover.plugin},
        open_with="gz sim -r",
        warnings=bundle.warnings,
    )


def _mujoco_world(fleet: FleetConfig, options: WorldOptions, recipe: Recipe) -> _World:
    from pico_gz.run.mujoco_world import MUJOCO_WORLD_FILE, mujoco_world

    for switch in ("lidar", "camera", "rangefinders"):
        if getattr(options, switch):
            raise ConfigError(
                f"A world for MuJoCo has no --{switch}.",
                hint="On the adapter mujoco, rangefinders_deg of [rover] is enough.",
            )
    text = stamped(MUJOCO_WORLD_FILE, mujoco_world(fleet), recipe.words)
    return _World(
        name=fleet.name,
        file=MUJOCO_WORLD_FILE,
        files={MUJOCO_WORLD_FILE: text},
        rovers=len(fleet.vehicles),
        ports={},
        open_with="python -m mujoco.viewer --mjcf",
    )


def _print_check(output: Path, state: FolderState, *, as_json: bool) -> int:
    code = ExitCode.DONE if state.is_current else ExitCode.FAILED
    if as_json:
        print_json(
            {
                "folder": str(output),
                "current": state.is_current,
                "missing": state.missing,
                "different": state.different,
                "edited": state.edited,
                "left_over": (*state.left_over, *state.edited_left_over),
            }
        )
    else:
        lines = state.lines() or ["Up to date."]
        print("\n".join(lines))
    return code


def _print_written(
    output: Path,
    world: _World,
    before: FolderState,
    kept: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    world_file = output / world.file
    rovers = world.rovers
    gone = (name for name in before.edited_left_over if name not in kept)
    removed = (*before.left_over, *gone)
    written = (*before.missing, *before.different, *before.edited)
    if as_json:
        print_json(
            {
                "world": str(world_file),
                "name": world.name,
                "rovers": rovers,
                "written": written,
                "removed": removed,
                "kept": kept,
                "warnings": world.warnings,
                "ports": world.ports,
            }
        )
        return
    what = "Wrote" if written or removed else "Nothing to do:"
    amount = f"{rovers} rover{'' if rovers == 1 else 's'}"
    print(f"{what} {world_file} with {amount}. Next: {world.open_with} {world_file}")
    if "README.md" in world.files:
        print(f"{output / 'README.md'} says how to start and drive it.")


def lint(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.sdf", help="Worlds and models.")],
    container: Annotated[
        bool, typer.Option("--container", help="The world is to run in a container.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Find mistakes in SDF worlds and models, above all the traps of the ArduPilot plugin.

    Errors do not work, warnings work by luck; either ends with exit code 1. Models that a world
    includes are looked for beside it and in GZ_SIM_RESOURCE_PATH, never in the network. Where
    sdformat14 is installed, Gazebo's own reader is asked too.

    Example:
      pico-gz lint world.sdf
      pico-gz lint models/*/model.sdf --json
    """
    findings = {path: lint_file(path, in_container=container) for path in files}
    counts = Counter(finding.severity for found in findings.values() for finding in found)
    if as_json:
        print_json(_as_dict(findings, counts))
    else:
        _print_findings(findings, counts)
    bad = counts[Severity.ERROR] + counts[Severity.WARNING]
    return ExitCode.FAILED if bad else ExitCode.DONE


def _print_findings(findings: dict[Path, list[Finding]], counts: Counter[Severity]) -> None:
    for path, found in findings.items():
        for finding in found:
            place = f"{path}:{finding.line}"
            print(f"{place}: {finding.severity.value} [{finding.rule}] {finding.message}")
            print(f"    Why: {finding.why}")
            print(f"    Fix: {finding.fix}")
    words = [_count(counts[severity], severity.value) for severity in Severity]
    print(f"{_count(len(findings), 'file')}: {', '.join(words)}.")
    if not can_ask():
        print(
            f"Not asked: sdformat14 (package {APT_PACKAGE}). What Gazebo refuses or does not know"
            " in files of others was not looked for."
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _as_dict(findings: dict[Path, list[Finding]], counts: Counter[Severity]) -> dict[str, object]:
    return {
        "files": [str(path) for path in findings],
        "sdformat": can_ask(),
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "notes": counts[Severity.NOTE],
        "findings": [
            {
                "file": str(path),
                "line": finding.line,
                "severity": finding.severity.value,
                "rule": finding.rule,
                "message": finding.message,
                "why": finding.why,
                "fix": finding.fix,
            }
            for path, found in findings.items()
            for finding in found
        ],
    }
