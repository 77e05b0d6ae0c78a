"""Plots as a picture, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pico_gz.recording.series import Points, RunSeries

_NAMED_VEHICLES = 10


def draw_picture(series: RunSeries, path: Path) -> None:
    """Write the picture; the file name's end says which kind."""
    # The object interface: no display, no global state, no picture that stays open.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 9), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(series.title)
    panels = _panels(series)
    grid = figure.add_gridspec(len(panels), 2)
    track = figure.add_subplot(grid[:, 0])
    for vehicle in series.vehicles:
        _line(track, vehicle.track, vehicle.name)
        track.plot(*vehicle.track[0], marker="o", markersize=4, color="0.4")
    track.set_aspect("equal", adjustable="datalim")
    track.set(xlabel="east [m]", ylabel="north [m]", title="track (truth)")
    if len(series.vehicles) <= _NAMED_VEHICLES:
        track.legend(loc="best", fontsize="small")
    for row, (label, lines) in enumerate(panels):
        axes = figure.add_subplot(grid[row, 1])
        for name, points in lines:
            _line(axes, points, name)
        if any(name for name, _ in lines):
            axes.legend(loc="upper right", fontsize="small")
        axes.set(ylabel=label, xlabel="simulated time [s]" if row == len(panels) - 1 else "")
        axes.grid(alpha=0.3)
    track.grid(alpha=0.3)
    if series.latency_ms:
        words = ", ".join(f"{name} {value:.3f}" for name, value in series.latency_ms.items())
        figure.supxlabel(f"step latency [ms]: {words}", fontsize="small")
    # No date and no version inside: the same recording gives the same picture.
    figure.savefig(path, dpi=100, metadata={"Software": None} if path.suffix == ".png" else None)


def _panels(series: RunSeries) -> list[tuple[str, list[tuple[str, Points]]]]:
    """What is drawn over time: label, and its lines, with names where the track has none."""
    vehicles = series.vehicles
    panels = [
        ("speed [m/s]", [("", vehicle.speed) for vehicle in vehicles]),
        ("cross-track [m]", [("", vehicle.cross_track) for vehicle in vehicles]),
        ("estimator error [m]", [("", vehicle.estimator_error) for vehicle in vehicles]),
    ]
    if series.latency:
        panels.append(("step latency [ms]", list(series.latency.items())))
    return panels


def _line(axes: Any, points: Points, label: str = "") -> None:
    if points:
        axes.plot(*zip(*points, strict=True), linewidth=1.2, label=label)
