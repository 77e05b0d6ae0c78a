"""pico-gz compare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from pico_gz.cli.console import show_warnings
from pico_gz.cli.fleet_options import open_fleet
from pico_gz.cli.options import AsJson, FleetPath, PortOffset, Rovers
from pico_gz.cli.output import ExitCode, print_json, print_progress, print_table
from pico_gz.cli.tools.comparison import (
    PHASES,
    Track,
    TrackDifference,
    differences,
    draw_comparison,
    drive_open_loop,
    farthest_apart,
    phase_results,
    require_plots,
)
from pico_gz.errors import MissingProgramError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.simulators import choose_adapters

Tracks = Mapping[int, Track]


def compare(
    fleet_file: FleetPath = None,
    rovers: Rovers = None,
    first: Annotated[
        str, typer.Option(metavar="NAME", help="The simulator to compare with.")
    ] = "lightweight",
    second: Annotated[
        str, typer.Option(metavar="NAME", help="The simulator that is compared.")
    ] = "gazebo",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw it too (extra plots).")
    ] = None,
    port_offset: PortOffset = "0",
    as_json: AsJson = False,
) -> int:
    """Drive the same commands by the clock on two simulators and show how far apart they are.

    No autopilot and no sensor takes part: straight ahead, an arc, a turn and back again, each
    from standing still. A simulator that is not here ends with exit code 4.

    Example:
      pico-gz compare fleet.toml
      pico-gz compare --rovers 1 --plot difference.png --json
    """
    show_warnings()
    overrides = FleetOverrides(rovers=rovers, autopilot="none")
    fleet = open_fleet(fleet_file, overrides, port_offset=port_offset)
    names = (first, second)
    if plot is not None:
        require_plots()
    for name in names:  # before any of them takes time
        _require_usable(fleet, name)
    tracks = []
    for name in names:
        print_progress(f"Driving on {name} ...")
        tracks.append(drive_open_loop(fleet, name))
    pair = tracks[0], tracks[1]
    if plot is not None:
        draw_comparison(plot, names, pair)
    if as_json:
        print_json(_as_dict(fleet, names, pair))
    else:
        _print(fleet, names, pair)
        if plot is not None:
            print(f"\nDrawn: {plot}")
    return ExitCode.DONE


def _require_usable(fleet: FleetConfig, name: str) -> None:
    try:
        choose_adapters(fleet.with_adapters({plan.id: name for plan in fleet.vehicles}))
    except MissingProgramError as error:
        raise MissingProgramError(
            error.message,
            hint="pico-gz doctor tells how to get it; --first and --second take other simulators.",
        ) from error


def _print(fleet: FleetConfig, names: tuple[str, str], tracks: tuple[Tracks, Tracks]) -> None:
    a, b = names
    for plan in fleet.vehicles:
        pair = tracks[0][plan.id], tracks[1][plan.id]
        print(f"{plan.config.label} ({plan.rover.preset})")
        header = ("command", "s", f"{a} m", f"{b} m", f"{a} deg", f"{b} deg")
        rows = [
            (
                result.name,
                f"{result.seconds:g}",
                *(f"{distance:.3f}" for distance in result.distance_m),
                *(f"{turn:.1f}" for turn in result.turn_deg),
            )
            for result in phase_results(*pair, PHASES[plan.rover.drive])
        ]
        print_table(header, rows)
        print()
        print_table(
            ("time s", "position difference m", "heading difference deg"),
            [
                (f"{d.time_s:.0f}", f"{d.position_m:.3f}", f"{d.heading_deg:.2f}")
                for d in _every_two_seconds(differences(*pair))
            ],
        )
        print()
    (id_m, by_m), (id_deg, by_deg) = farthest_apart(tracks)
    print(
        f"Farthest apart: {by_m.position_m:.3f} m (rover {id_m}, after {by_m.time_s:.1f} s)"
        f" and {by_deg.heading_deg:.1f} deg (rover {id_deg}, after {by_deg.time_s:.1f} s)"
    )


def _every_two_seconds(apart: list[TrackDifference]) -> list[TrackDifference]:
    return [d for d in apart if abs(d.time_s / 2.0 - round(d.time_s / 2.0)) < 1e-6]


def _named(entry: tuple[int, TrackDifference]) -> dict[str, Any]:
    return {"vehicle_id": entry[0], **msgspec.to_builtins(entry[1])}


def _as_dict(
    fleet: FleetConfig, names: tuple[str, str], tracks: tuple[Tracks, Tracks]
) -> dict[str, Any]:
    position, heading = farthest_apart(tracks)
    return {
        "adapters": list(names),
        "worst": _named(position),
        "worst_heading": _named(heading),
        "vehicles": {
            str(plan.id): {
                "phases": msgspec.to_builtins(
                    phase_results(tracks[0][plan.id], tracks[1][plan.id], PHASES[plan.rover.drive])
                ),
                "differences": msgspec.to_builtins(
                    differences(tracks[0][plan.id], tracks[1][plan.id])
                ),
            }
            for plan in fleet.vehicles
        },
    }
