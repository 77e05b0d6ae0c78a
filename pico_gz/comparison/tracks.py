"""Where rovers went, and how far apart two drives of them are. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec

from pico_gz.comparison.open_loop import Phase


class Place(msgspec.Struct, frozen=True):
    """Where a rover was: seconds, metres north and east, heading without jumps [rad]."""

    time_s: float
    north_m: float
    east_m: float
    yaw_rad: float


Track = tuple[Place, ...]


class Difference(msgspec.Struct, frozen=True):
    """How far apart two rovers were at a time: metres and degrees (second minus first)."""

    time_s: float
    position_m: float
    heading_deg: float


class PhaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """How far a command took a rover: metres and degrees, (first, second) simulator."""

    name: str
    seconds: float
    distance_m: tuple[float, float]
    turn_deg: tuple[float, float]


def unwrapped(yaw_rad: float, before_rad: float) -> float:
    """The angle that means ``yaw_rad`` and is nearest to the one before."""
    return before_rad + math.remainder(yaw_rad - before_rad, math.tau)


def differences(first: Track, second: Track) -> list[Difference]:
    """How far apart two drives are, place by place."""
    return [
        Difference(
            time_s=a.time_s,
            position_m=math.hypot(b.north_m - a.north_m, b.east_m - a.east_m),
            heading_deg=math.degrees(b.yaw_rad - a.yaw_rad),
        )
        for a, b in zip(first, second, strict=False)
    ]


def farthest_apart(
    tracks: tuple[Mapping[int, Track], Mapping[int, Track]],
) -> tuple[tuple[int, Difference], tuple[int, Difference]]:
    """The vehicle and time of the largest difference in position, and those in heading."""
    everything = [
        (vehicle_id, difference)
        for vehicle_id, first in tracks[0].items()
        for difference in differences(first, tracks[1][vehicle_id])
    ]
    return (
        max(everything, key=lambda entry: entry[1].position_m),
        max(everything, key=lambda entry: abs(entry[1].heading_deg)),
    )


def phase_results(first: Track, second: Track, phases: Sequence[Phase]) -> list[PhaseResult]:
    """What each command led to, without those that do nothing.

    What a rover coasts afterwards belongs to the command before.
    """
    results = []
    start_s = 0.0
    for index, phase in enumerate(phases):
        end_s = start_s + phase.seconds
        if phase.first or phase.second:
            following = phases[index + 1] if index + 1 < len(phases) else None
            at_rest_s = end_s
            if following is not None and not (following.first or following.second):
                at_rest_s += following.seconds
            parts = [_part(track, start_s, at_rest_s) for track in (first, second)]
            results.append(
                PhaseResult(
                    name=phase.name,
                    seconds=phase.seconds,
                    distance_m=(_length_m(parts[0]), _length_m(parts[1])),
                    turn_deg=(_turn_deg(parts[0]), _turn_deg(parts[1])),
                )
            )
        start_s = end_s
    return results


def _part(track: Track, start_s: float, end_s: float) -> Track:
    slack_s = 1e-6
    return tuple(p for p in track if start_s - slack_s <= p.time_s <= end_s + slack_s)


def _length_m(track: Track) -> float:
    return sum(
        math.hypot(b.north_m - a.north_m, b.east_m - a.east_m) for a, b in itertools.pairwise(track)
    )


def _turn_deg(track: Track) -> float:
    return math.degrees(track[-1].yaw_rad - track[0].yaw_rad) if track else 0.0
