"""Plots as one web page: drawn as SVG, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

from pico_gz.recording.series import Points, RunSeries

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
