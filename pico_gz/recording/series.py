"""What a recording looks like over time: the numbers behind its plots."""

from __future__ import annotations

from math import hypot
from typing import Any

import msgspec

from pico_gz.recording.errors import RecordingError
from pico_gz.recording.latency_log import read_latency
from pico_gz.recording.recorded_run import RecordedRun
from pico_gz.recording.topics import AutopilotSample

MOST_POINTS = 2000

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
    return RunSeries(
        _title(run), list(found.values()), _latency_of_all(run.facts), _latency_over_time(run)
    )


def _thinning(run: RecordedRun) -> int:
    steps = sum(1 for _ in run.step_numbers())
    return max(1, steps // MOST_POINTS)


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
    every = max(1, len(rows) // MOST_POINTS)
    groups = [rows[start : start + every] for start in range(0, len(rows), every)]
    return {
        "p50": [(group[-1].time_s, max(row.p50_ms for row in group)) for group in groups],
        "p99": [(group[-1].time_s, max(row.p99_ms for row in group)) for group in groups],
        "max": [(group[-1].time_s, max(row.max_ms for row in group)) for group in groups],
    }
