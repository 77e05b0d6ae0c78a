"""The comparison as a picture (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pico_gz.comparison.tracks import Track, differences
from pico_gz.errors import MissingExtraError

_STYLES = ("-", "--")


def require_plots() -> None:
    """Refuse early when nothing can be drawn.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as exc:
        raise MissingExtraError("plots", "A plot") from exc


def draw_comparison(
    path: Path, names: tuple[str, str], tracks: tuple[Mapping[int, Track], Mapping[int, Track]]
) -> None:
    """Draw tracks and differences of a comparison.

    Args:
        path: the picture; its ending chooses the format.
        names: of the two simulators.
        tracks: of both, by vehicle id.
    """
    require_plots()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.5), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    map_axes = figure.add_subplot(grid[:, 0])
    position_axes = figure.add_subplot(grid[0, 1])
    heading_axes = figure.add_subplot(grid[1, 1], sharex=position_axes)
    for index, vehicle_id in enumerate(tracks[0]):
        colour = f"C{index % 10}"
        pair = tracks[0][vehicle_id], tracks[1][vehicle_id]
        for name, track, style in zip(names, pair, _STYLES, strict=True):
            label = name if index == 0 else None
            east, north = [p.east_m for p in track], [p.north_m for p in track]
            map_axes.plot(east, north, style, color=colour, label=label)
        apart = differences(*pair)
        times = [difference.time_s for difference in apart]
        position_axes.plot(times, [d.position_m for d in apart], color=colour,
                           label=f"rover {vehicle_id}")  # fmt: skip
        heading_axes.plot(times, [d.heading_deg for d in apart], color=colour)
    map_axes.set(xlabel="east [m]", ylabel="north [m]", title="Tracks", aspect="equal")
    position_axes.set(ylabel="position [m]", title=f"{names[1]} against {names[0]}")
    heading_axes.set(xlabel="time [s]", ylabel="heading [deg]")
    for axes in (map_axes, position_axes, heading_axes):
        axes.grid(alpha=0.3)
    map_axes.legend()
    if len(tracks[0]) <= 10:
        position_axes.legend()
    figure.savefig(path, dpi=120)
