"""pico-gz compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from pico_gz.adapters.registry import load_adapter
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
from pico_gz.errors import ConfigError, MissingProgramError
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
    adapters: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Two or more simulators; the first is the measure."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw it too (extra plots).")
    ] = None,
    port_offset: PortOffset = "0",
    as_json: AsJson = False,
) -> int:
    """Drive the same commands by the clock on several simulators and show how far apart they are.

    No autopilot and no sensor takes part: straight ahead, an arc, a turn and back again, each
    from standing still. A simulator that is not here ends with exit code 4.

    Example:
      pico-gz compare fleet.toml
      pico-gz compare --rovers 1 --plot difference.png --json
      pico-gz compare fleet.toml --adapters lightweight,mujoco,gazebo
    """
    show_warnings()
    overrides = FleetOverrides(rovers=rovers, autopilot="none")
    fleet = open_fleet(fleet_file, overrides, port_offset=port_offset)
    names = _names(adapters, first, second)
    if plot is not None:
        require_plots()
    for name in names:  # before any of them takes time
        _require_usable(fleet, name)
    tracks = []
    for name in names:
        print_progress(f"Driving on {name} ...")
        tracks.append(drive_open_loop(fleet, name))
    if plot is not None:
        draw_comparison(plot, names, tracks)
    if as_json:
        print_json(_as_dict(fleet, names, tracks))
    else:
        _print(fleet, names, tracks)
        if plot is not None:
            print(f"\nDrawn: {plot}")
    return ExitCode.DONE


def _names(adapters: str | None, first: str, second: str) -> list[str]:
    if adapters is None:
        return [first, second]
    names = [name.strip() for name in adapters.split(",")]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise ConfigError(
            f"--adapters {adapters!r}: expected two or more different names, with commas between."
        )
    return names


def _require_usable(fleet: FleetConfig, name: str) -> None:
    try:
        chosen, _ = choose_adapters(fleet.with_adapters({p.id: name for p in fleet.vehicles}))
        reason = load_adapter(chosen.adapter_type(name)).unavailable_reason()
    except MissingProgramError as error:
        raise MissingProgramError(error.message, hint=_OTHERS) from error
    if reason and name != "gazebo":
        raise MissingProgramError(f"{name} was asked for, but {reason}.", hint=_OTHERS)


_OTHERS = "pico-gz doctor says how to get it; --adapters takes other simulators."


def _print(fleet: FleetConfig, names: Sequence[str], tracks: Sequence[Tracks]) -> None:
    for plan in fleet.vehicles:
        driven = [track[plan.id] for track in tracks]
        print(f"{plan.config.label} ({plan.rover.preset})")
        units = [f"{name} {unit}" for unit in ("m", "deg") for name in names]
        rows = [
            (
                result.name,
                f"{result.seconds:g}",
                *(f"{distance:.3f}" for distance in result.distance_m),
                *(f"{turn:.1f}" for turn in result.turn_deg),
            )
            for result in phase_results(driven, PHASES[plan.rover.drive])
        ]
        print_table(("command", "s", *units), rows)
        print()
        apart = [_every_two_seconds(differences(driven[0], other)) for other in driven[1:]]
        if len(names) == 2:
            header = ["time s", "position difference m", "heading difference deg"]
        else:
            header = ["time s", *(f"{one} {unit}" for one in names[1:] for unit in ("m", "deg"))]
        print_table(
            header,
            [
                (
                    f"{at_once[0].time_s:.0f}",
                    *(
                        f"{n:.{k}f}"
                        for d in at_once
                        for n, k in ((d.position_m, 3), (d.heading_deg, 2))
                    ),
                )
                for at_once in zip(*apart, strict=False)
            ],
        )
        print()
    for name, other in zip(names[1:], tracks[1:], strict=True):
        (id_m, by_m), (id_deg, by_deg) = farthest_apart((tracks[0], other))
        who = "" if len(names) == 2 else f", {name}"
        print(
            f"Farthest apart{who}: {by_m.position_m:.3f} m (rover {id_m},"
            f" after {by_m.time_s:.1f} s) and {by_deg.heading_deg:.1f} deg (rover {id_deg},"
            f" after {by_deg.time_s:.1f} s)"
        )


def _every_two_seconds(apart: list[TrackDifference]) -> list[TrackDifference]:
    return [d for d in apart if abs(d.time_s / 2.0 - round(d.time_s / 2.0)) < 1e-6]


def _named(entry: tuple[int, TrackDifference]) -> dict[str, Any]:
    return {"vehicle_id": entry[0], **msgspec.to_builtins(entry[1])}


def _as_dict(fleet: FleetConfig, names: Sequence[str], tracks: Sequence[Tracks]) -> dict[str, Any]:
    """The second simulator against the first; ``further`` has the others."""
    position, heading = farthest_apart((tracks[0], tracks[1]))
    found: dict[str, Any] = {
        "adapters": list(names),
        "worst": _named(position),
        "worst_heading": _named(heading),
        "vehicles": {
            str(plan.id): {
                "phases": msgspec.to_builtins(
                    phase_results([track[plan.id] for track in tracks], PHASES[plan.rover.drive])
                ),
                "differences": _apart(plan.id, tracks[0], tracks[1]),
            }
            for plan in fleet.vehicles
        },
    }
    further = {}
    for name, other in zip(names[2:], tracks[2:], strict=True):
        position, heading = farthest_apart((tracks[0], other))
        further[name] = {
            "worst": _named(position),
            "worst_heading": _named(heading),
            "differences": {str(p.id): _apart(p.id, tracks[0], other) for p in fleet.vehicles},
        }
    return {**found, "further": further} if further else found


def _apart(vehicle_id: int, first: Tracks, second: Tracks) -> Any:
    return msgspec.to_builtins(differences(first[vehicle_id], second[vehicle_id]))
