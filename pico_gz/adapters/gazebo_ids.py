"""Vehicle ids for people."""

from __future__ import annotations

from collections.abc import Iterable


def id_text(vehicle_ids: Iterable[int]) -> str:
    """Return the ids in order, runs of three and more as ranges: ``1-3, 7, 9, 10``."""
    runs: list[list[int]] = []
    for vehicle_id in sorted(vehicle_ids):
        if runs and runs[-1][-1] == vehicle_id - 1:
            runs[-1].append(vehicle_id)
        else:
            runs.append([vehicle_id])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ", ".join(parts)
