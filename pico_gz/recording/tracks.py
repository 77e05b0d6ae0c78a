"""Where everybody was in a recording, thin enough for a map."""

from __future__ import annotations

from pico_gz.recording.recorded_run import RecordedRun

# All tracks together have at most about this many points.
BUDGET = 30_000

# time [ms], north [cm], east [cm], in turn: whole numbers are short in JSON.
Track = list[int]


def read_tracks(run: RecordedRun, budget: int = BUDGET) -> dict[int, Track]:
    """Vehicle id -> its track; long recordings are thinned out, their ends stay."""
    ids = {name: vehicle_id for vehicle_id, name in run.names.items()}
    tracks: dict[int, list[tuple[int, int, int]]] = {}
    for name, time_us, north_m, east_m in run.places():
        if name in ids:
            point = (time_us // 1000, round(north_m * 100.0), round(east_m * 100.0))
            tracks.setdefault(ids[name], []).append(point)
    every = 1 + sum(map(len, tracks.values())) // budget
    return {i: _flat(points, every) for i, points in tracks.items()}


def _flat(points: list[tuple[int, int, int]], every: int) -> Track:
    kept = points[::every]
    if kept[-1] != points[-1]:
        kept.append(points[-1])
    return [value for point in kept for value in point]
