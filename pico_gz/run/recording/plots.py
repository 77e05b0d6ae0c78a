"""A recording over time: its series, drawn as page or picture."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from io import BytesIO
from math import ceil, floor, hypot, log10
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.errors import ConfigError, MissingExtraError
from pico_gz.run.recording.mcap_reader import RecordingError
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.recording.recorder import read_latency
from pico_gz.run.recording.topics import AutopilotSample

MAX_POINTS = 2000
_MAX_DRAWN = 1e12

Points = list[tuple[float, float]]


class VehicleSeries(msgspec.Struct):
    """One vehicle over time. Times in seconds of simulation, distances in metres.

    Attributes:
        name: of the vehicle.
        track: (east, north), the true path.
        speed: (time, true speed over ground [m/s]).
        cross_track: (time, distance from the line that the autopilot follows).
        estimator_error: (time, distance between belief and truth).
    """

    name: str
    track: Points = []
    speed: Points = []
    cross_track: Points = []
    estimator_error: Points = []


class RunSeries(msgspec.Struct):
    """A whole run.

    Attributes:
        title: what it is.
        vehicles: its vehicles.
        latency_ms: step latency of the whole run by percentile [ms]; empty after a kill.
        latency: percentile -> (time, step latency [ms]), second by second.
    """

    title: str
    vehicles: list[VehicleSeries]
    latency_ms: dict[str, float] = {}
    latency: dict[str, Points] = {}


def gather(run: RecordedRun) -> RunSeries:
    """Read what is drawn; long runs are thinned out.

    Raises:
        RecordingError: nothing is recorded.
    """
    samples: dict[int, dict[int, AutopilotSample]] = {}
    for sample in run.samples():
        samples.setdefault(sample.timestamp_us, {})[sample.vehicle_id] = sample
    found: dict[int, VehicleSeries] = {}
    every = _thinning(run)
    for number, view in enumerate(run.steps()):
        beliefs = samples.get(view.time_us, {})
        if number % every and not beliefs:
            continue
        for vehicle_id, truth in view.truth.items():
            name = run.names.get(vehicle_id, f"vehicle_{vehicle_id}")
            series = found.setdefault(vehicle_id, VehicleSeries(name))
            time_s = view.time_us / 1e6
            series.track.append((truth.east_m, truth.north_m))
            north_mps, east_mps, _ = truth.velocity_ned_mps
            series.speed.append((time_s, hypot(north_mps, east_mps)))
            if vehicle_id in beliefs:
                _add_belief(series, beliefs[vehicle_id], truth.north_m, truth.east_m)
    if not found:
        raise RecordingError(f"{run.folder} holds no step.")
    drawn = RunSeries(
        _title(run), list(found.values()), _latency_of_all(run.facts), _latency_over_time(run)
    )
    _require_drawable(run, drawn)
    return drawn


def _require_drawable(run: RecordedRun, series: RunSeries) -> None:
    """Refuse numbers that no axis can show."""
    lines = [v for one in series.vehicles for v in msgspec.structs.astuple(one)[1:]]
    for line in (*lines, *series.latency.values()):
        for point in line:
            if not all(abs(value) <= _MAX_DRAWN for value in point):
                raise RecordingError(f"{run.folder} holds a value that cannot be drawn: {point}.")


def _thinning(run: RecordedRun) -> int:
    steps = sum(1 for _ in run.step_numbers())
    return max(1, steps // MAX_POINTS)


def _add_belief(
    series: VehicleSeries, sample: AutopilotSample, north_m: float, east_m: float
) -> None:
    time_s = sample.timestamp_us / 1e6
    if sample.cross_track_m is not None:
        series.cross_track.append((time_s, sample.cross_track_m))
    if sample.north_m is not None and sample.east_m is not None:
        error_m = hypot(sample.north_m - north_m, sample.east_m - east_m)
        series.estimator_error.append((time_s, error_m))


def _title(run: RecordedRun) -> str:
    rest = "" if run.complete else ", cut off"
    seed = run.facts.get("seed")
    return f"{run.facts.get('fleet', run.folder.name)}, seed {seed}, {run.end_us / 1e6:g} s{rest}"


def _latency_of_all(facts: dict[str, Any]) -> dict[str, float]:
    result = facts.get("result") or {}
    return {str(name): float(value) for name, value in result.get("latency_ms", {}).items()}


def _latency_over_time(run: RecordedRun) -> dict[str, Points]:
    rows = read_latency(run.folder)
    if not rows:
        return {}
    # Slow seconds are what one looks for: of several rows in one point the worst is shown.
    every = max(1, len(rows) // MAX_POINTS)
    groups = [rows[start : start + every] for start in range(0, len(rows), every)]
    return {
        "p50": [(group[-1].time_s, max(row.p50_ms for row in group)) for group in groups],
        "p99": [(group[-1].time_s, max(row.p99_ms for row in group)) for group in groups],
        "max": [(group[-1].time_s, max(row.max_ms for row in group)) for group in groups],
    }


_COLOURS = ("#1f77b4", "#d95f02", "#2ca02c", "#c2185b", "#7b4fa3", "#8c564b", "#00838f", "#6d6d00")
_NAMED_VEHICLES = 10
_MARGIN = (56, 34, 12, 24)  # left, bottom, right, top

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; font: 14px system-ui, sans-serif; }}
body {{ margin: 1rem; display: grid; gap: 1rem; grid-template-columns: 1fr 1fr; }}
h1, p {{ grid-column: 1 / -1; margin: 0; font-size: 1.2rem; }} p {{ font-size: 1rem; }}
svg {{ width: 100%; height: auto; }} svg.track {{ grid-row: span 4; }}
text {{ fill: currentColor; font-size: 12px; }} .grid {{ stroke: currentColor; opacity: .15; }}
polyline {{ fill: none; stroke-width: 1.5; }}
@media (max-width: 50rem) {{ body {{ grid-template-columns: 1fr; }} }}
</style></head><body>
<h1>{title}</h1>
{charts}
<p>{notes}</p>
</body></html>
"""


def draw_page(series: RunSeries) -> str:
    """The page as text."""
    vehicles = series.vehicles
    names = [vehicle.name for vehicle in vehicles]
    charts = [
        _chart("track: east, north [m]", [v.track for v in vehicles], size=(640, 640), square=True),
        _chart("speed [m/s]", [v.speed for v in vehicles]),
        _chart("cross-track [m]", [v.cross_track for v in vehicles]),
        _chart("estimator error [m]", [v.estimator_error for v in vehicles]),
    ]
    if series.latency:
        over_time = list(series.latency.values())
        charts.append(_chart("step latency [ms]", over_time, names=list(series.latency)))
    latency = ", ".join(f"{name} {value:.3f}" for name, value in series.latency_ms.items())
    notes = _legend(names) + (f" &middot; step latency [ms]: {escape(latency)}" if latency else "")
    return _PAGE.format(title=escape(series.title), charts="\n".join(charts), notes=notes)


def _chart(
    title: str,
    lines: Sequence[Points],
    *,
    size: tuple[int, int] = (640, 220),
    square: bool = False,
    names: Sequence[str] = (),
) -> str:
    width, height = size
    left, bottom, right, top = _MARGIN
    inner = (width - left - right, height - top - bottom)
    low, high = _bounds(lines, inner if square else None)
    scale = tuple(inner[axis] / (high[axis] - low[axis]) for axis in (0, 1))

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = left + (point[0] - low[0]) * scale[0]
        return x, height - bottom - (point[1] - low[1]) * scale[1]

    parts = [f'<text x="{left}" y="16">{escape(title)}</text>']
    for x in _ticks(low[0], high[0]):
        at = place((x, low[1]))[0]
        parts.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{height - bottom}"/>'
        )
        parts.append(f'<text x="{at:.1f}" y="{height - 14}" text-anchor="middle">{x:g}</text>')
    for y in _ticks(low[1], high[1]):
        at = place((low[0], y))[1]
        parts.append(
            f'<line class="grid" y1="{at:.1f}" y2="{at:.1f}" x1="{left}" x2="{width - right}"/>'
        )
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
    for number, points in enumerate(lines):
        drawn = " ".join("{:.1f},{:.1f}".format(*place(point)) for point in points)
        parts.append(f'<polyline stroke="{_colour(number)}" points="{drawn}"/>')
    if names:
        keys = "".join(
            f'<tspan dx="8" style="fill:{_colour(number)}">{escape(name)}</tspan>'
            for number, name in enumerate(names)
        )
        parts.append(f'<text x="{width - right}" y="16" text-anchor="end">{keys}</text>')
    kind = ' class="track"' if square else ""
    label = f'role="img" aria-label="{escape(title)}"'
    return f'<svg{kind} viewBox="0 0 {width} {height}" {label}>{"".join(parts)}</svg>'


def _bounds(
    lines: Sequence[Points], inner: tuple[int, int] | None
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The corners of what is drawn; with ``inner``, one metre is as long on both axes."""
    points = [point for line in lines for point in line] or [(0.0, 0.0)]
    low = [min(point[axis] for point in points) for axis in (0, 1)]
    high = [max(point[axis] for point in points) for axis in (0, 1)]
    spans = [max(high[axis] - low[axis], 1e-3) * 1.06 for axis in (0, 1)]
    if inner is not None:
        per_pixel = max(spans[axis] / inner[axis] for axis in (0, 1))
        spans = [per_pixel * inner[axis] for axis in (0, 1)]
    middle = [(low[axis] + high[axis]) / 2 for axis in (0, 1)]
    return (
        (middle[0] - spans[0] / 2, middle[1] - spans[1] / 2),
        (middle[0] + spans[0] / 2, middle[1] + spans[1] / 2),
    )


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers."""
    rough = (high - low) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough)
    first = ceil(low / step)
    count = floor(high / step) - first + 1
    return [round((first + number) * step, 12) for number in range(count)]


def _legend(names: Sequence[str]) -> str:
    if len(names) > _NAMED_VEHICLES:
        return f"{len(names)} vehicles"
    return " ".join(
        f'<span style="color:{_colour(number)}">&#9632;</span> {escape(name)}'
        for number, name in enumerate(names)
    )


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def draw_picture(series: RunSeries, kind: str) -> bytes:
    """The picture as bytes of this kind, such as ``.png``."""
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
    drawn = BytesIO()
    metadata = {"Software": None} if kind == ".png" else None
    figure.savefig(drawn, format=kind.removeprefix("."), dpi=100, metadata=metadata)
    return drawn.getvalue()


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


_PICTURES = (".png", ".svg", ".pdf")
_PAGES = (".html", ".htm")


def plot_run(folder: str | Path, output: Path | None = None) -> Path:
    """Draw a run and return the file.

    Args:
        folder: the run's folder.
        output: .png, .svg, .pdf or .html; ``None`` = ``plot.png`` or ``plot.html`` in the folder.

    Raises:
        RecordingError: there is no recording.
        MissingExtraError: a picture needs the extra ``plots``.
        ConfigError: this kind of file is unknown.
    """
    has_pictures = find_spec("matplotlib") is not None
    with RecordedRun(folder) as run:
        # What lies in the recording's folder may be a link of a stranger; it is replaced.
        name = "plot.png" if has_pictures else "plot.html"
        target = output.resolve() if output else run.folder / name
        kind = target.suffix.lower()
        if kind not in _PICTURES + _PAGES:
            raise ConfigError(f"{target} is no kind of plot.", hint="Use .png, .svg, .pdf, .html")
        if kind in _PICTURES and not has_pictures:
            raise MissingExtraError("plots", f"Drawing a {kind} file")
        series = gather(run)
    drawn = draw_picture(series, kind) if kind in _PICTURES else draw_page(series).encode()
    _replace(target, drawn)
    return output or target


def _replace(target: Path, data: bytes) -> None:
    """Write a new file in the place of ``target``, whatever is there, never through a link."""
    draft: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            draft = Path(file.name)
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o666 & ~umask)
        draft.replace(target)
    except BaseException:
        if draft is not None:
            draft.unlink(missing_ok=True)
        raise
