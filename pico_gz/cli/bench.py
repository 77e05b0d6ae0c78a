"""pico-gz bench."""

from __future__ import annotations

import importlib
import json
import logging
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from msgspec.structs import replace

from pico_gz.cli.options import AsJson
from pico_gz.cli.output import ExitCode, print_json, print_progress, print_table
from pico_gz.cli.tools.bench.figures import PREFIX, Figure, bare_loop_us
from pico_gz.core import compiled_modules
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.simulator import native_build
from pico_gz.simulator.native_build import describe

# Group -> the module of tools.bench that measures it, as ``<group>_figures``.
_GROUPS = {
    "simulator": "single_parts",
    "autopilot": "single_parts",
    "stack": "full_stack",
    "fleet": "full_stack",
    "wire": "wire",
    "start": "single_parts",
}
_ON_REQUEST = {"gazebo": "gazebo", "mujoco": "mujoco"}
# Groups that are measured once more with nothing compiled.
_ALSO_PURE = ("simulator", "autopilot", "stack", "fleet", "mujoco")
_PURE_LIMIT_S = 600.0


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Measure only this group; may be repeated."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when a goal is missed.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Measure how fast the kit is on this machine.

    Every figure comes with its goal. Figures marked "ratio" compare two measurements of the
    same run, because machines differ and are noisy; bare_loop_us shows how fast this one is.
    The column "pure" is the same without native core and compiled modules (PICO_GZ_PURE=1).

    The groups gazebo and mujoco are measured only when asked for: the first takes minutes and a
    real Gazebo, the second the extra mujoco.

    Example:
      pico-gz bench
      pico-gz bench --only simulator --only start --json
      pico-gz bench --only gazebo
    """
    # What fleets of a measurement warn of is no news here.
    logging.getLogger("pico_gz").addHandler(logging.NullHandler())
    reference_us = bare_loop_us()
    groups = _chosen(only)
    figures = _with_pure(list(_measure(groups, quiet=as_json)), groups, quiet=as_json)
    missed = [figure for figure in figures if not figure.reached]
    if as_json:
        print_json(
            {
                "machine": {
                    "cpus": os.cpu_count(),
                    "python": platform.python_version(),
                    "system": f"{platform.system()} {platform.machine()}",
                    "bare_loop_us": reference_us,
                    "simulator_core": describe(),
                    "modules": compiled_modules.describe(),
                },
                "figures": {figure.name: figure.as_dict() for figure in figures},
                "missed": [figure.name for figure in missed],
            }
        )
    else:
        _print(figures, reference_us)
    return ExitCode.FAILED if strict and missed else ExitCode.DONE


def _chosen(only: list[str] | None) -> dict[str, str]:
    known = {**_GROUPS, **_ON_REQUEST}
    for name in only or ():
        if name not in known:
            raise ConfigError(f"No group of figures {name!r}.", hint=did_you_mean(name, known))
    return {name: module for name, module in known.items() if name in only} if only else _GROUPS


def _measure(groups: dict[str, str], *, quiet: bool) -> Iterator[Figure]:
    for number, (name, module) in enumerate(groups.items(), start=1):
        if not quiet:
            print_progress(f"[{number}/{len(groups)}] {name} ...")
        # Imported on use: a group must not pay for, or depend on, what another needs.
        measures = importlib.import_module(f"pico_gz.cli.tools.bench.{module}")
        yield from getattr(measures, f"{name}_figures")()


def _with_pure(figures: list[Figure], groups: Iterable[str], *, quiet: bool) -> list[Figure]:
    """The figures with nothing compiled beside them, which another process measures."""
    again = [name for name in groups if name in _ALSO_PURE]
    if not again or (native_build.load() is None and not compiled_modules.is_in_use()):
        return figures
    if not quiet:
        print_progress(f"[pure] {', '.join(again)} ...")
    only = [word for name in again for word in ("--only", name)]
    done = subprocess.run(
        [sys.executable, "-m", "pico_gz", "bench", *only, "--json"],
        env={**os.environ, compiled_modules.PURE_VARIABLE: "1"},
        check=True,
        stdout=subprocess.PIPE,
        timeout=_PURE_LIMIT_S,
    )
    pure = json.loads(done.stdout)["figures"]
    return [
        replace(figure, pure=pure[figure.name]["value"]) if figure.name in pure else figure
        for figure in figures
    ]


def _print(figures: list[Figure], reference_us: float) -> None:
    rows = [
        (
            figure.what,
            f"{figure.value:.3g}",
            "" if figure.pure is None else f"{figure.pure:.3g}",
            f"{'>=' if figure.higher_is_better else '<='} {figure.goal:g} {figure.unit}",
            "reached" if figure.reached else "MISSED",
        )
        for figure in figures
    ]
    print_table(("figure", "measured", "pure", "goal", ""), rows)
    for figure in figures:
        if profile := profile_line(figure):
            print(f"\nWhere the time of {figure.name} goes: {profile}.")
        elif not figure.reached:
            print(f"\n{figure.name} has no profile: it measures more than one process.")
    print(f"\nSimulator core: {describe()}. Modules: {compiled_modules.describe()}.")
    print(f"Reference: one turn of a bare Python loop takes {reference_us:.3f} us here.")


def profile_line(figure: Figure) -> str:
    """The shares of a figure that was explained; empty for others."""
    parts = [
        (name.removeprefix(PREFIX), percent)
        for name, percent in figure.detail.items()
        if name.startswith(PREFIX)
    ]
    return ", ".join(f"{name} {percent:.0f} %" for name, percent in parts)
