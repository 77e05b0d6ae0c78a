"""Assertions about rovers that report where and when.

What cannot be known, because nothing has been driven or reported, is an error and not a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from math import hypot
from typing import TypeVar

from pico_gz.core.messages import VehicleTruth
from pico_gz.errors import ConfigError
from pico_gz.run.fleet_api import Fleet
from pico_gz.run.rover_handle import RoverHandle

Point = tuple[float, float]
Subject = TypeVar("Subject", Fleet, RoverHandle)

_REPORT_CONTACTS = ("lightweight", "mujoco")


def assert_reached(
    rover: RoverHandle, north_m: float, east_m: float, *, radius_m: float = 1.5
) -> None:
    """The rover has been within ``radius_m`` of a point."""
    __tracebackhide__ = True
    nearest_m, at_s = min(
        (
            (hypot(truth.north_m - north_m, truth.east_m - east_m), truth.timestamp_us / 1e6)
            for truth in rover.sitl.history.truth[rover.id]
        ),
        default=(rover.distance_to(north_m, east_m), 0.0),
    )
    assert nearest_m <= radius_m, (
        f"{rover.name} never came within {radius_m:g} m of north {north_m:g}, east {east_m:g}:"
        f" nearest was {nearest_m:.2f} m, at {at_s:.2f} s."
    )


def assert_path_within(
    rover: RoverHandle, points: Sequence[Point], max_m: float, *, from_sim_s: float = 0.0
) -> None:
    """The rover has never been further than ``max_m`` from the line through ``points``.

    Args:
        rover: whose path.
        points: (north, east) [m], at least one.
        max_m: how far away it may be.
        from_sim_s: simulated time from which it counts.

    Raises:
        ConfigError: it has not driven since then.
    """
    __tracebackhide__ = True
    for truth in _driven(rover, from_sim_s):
        away_m = distance_to_line((truth.north_m, truth.east_m), points)
        assert away_m <= max_m, (
            f"{rover.name} was {away_m:.2f} m off its path at {truth.timestamp_us / 1e6:.2f} s,"
            f" at north {truth.north_m:.2f}, east {truth.east_m:.2f}; allowed are {max_m:g} m."
        )


def assert_no_contact(subject: Fleet | RoverHandle) -> None:
    """No rover (or not this one) has touched anything.

    Raises:
        ConfigError: nothing has been driven, or contacts are not reported in this run.
    """
    __tracebackhide__ = True
    rovers = subject.rovers if isinstance(subject, Fleet) else [subject]
    sitl = subject if isinstance(subject, Fleet) else subject.sitl
    for rover in rovers:
        _require_contacts_reported(rover)
        _driven(rover)
    ids = {rover.id for rover in rovers}
    touched = [event for event in sitl.history.contacts if event.vehicle_id in ids]
    assert not touched, "\n".join(
        f"at {event.time_us / 1e6:.2f} s: {event.text}" for event in touched[:10]
    )


def assert_min_separation(sitl: Fleet, min_m: float) -> None:
    """No two rovers have been nearer than ``min_m`` (between their origins) at one time.

    Raises:
        ConfigError: there is only one, or one of them has not driven.
    """
    __tracebackhide__ = True
    tracks = {rover: {truth.timestamp_us: truth for truth in _driven(rover)} for rover in sitl}
    if len(tracks) < 2:
        raise ConfigError("One rover alone is never near another: two are needed to be apart.")
    for one, other in combinations(tracks, 2):
        for time_us in sorted(tracks[one].keys() & tracks[other].keys()):
            a, b = tracks[one][time_us], tracks[other][time_us]
            apart_m = hypot(a.north_m - b.north_m, a.east_m - b.east_m)
            assert apart_m >= min_m, (
                f"{one.name} and {other.name} were {apart_m:.2f} m apart at"
                f" {a.timestamp_us / 1e6:.2f} s; allowed are {min_m:g} m."
            )


def assert_mode_sequence(rover: RoverHandle, modes: Sequence[str], *, exact: bool = False) -> None:
    """The rover has been in these modes, in this order.

    Args:
        rover: whose modes.
        modes: names of modes.
        exact: no others in between; else only their order counts.
    """
    __tracebackhide__ = True
    been = rover.modes
    left = iter(been)
    in_order = been == list(modes) if exact else all(mode in left for mode in modes)
    assert in_order, f"{rover.name} went {' > '.join(been)}, not {' > '.join(modes)}."


def assert_never(subject: Subject, condition: Callable[[Subject], bool], message: str = "") -> None:
    """From now on, fail the test in the first step in which ``condition(subject)`` is true."""
    __tracebackhide__ = True

    def check(sitl: Fleet) -> None:
        __tracebackhide__ = True
        if condition(subject):
            states = "; ".join(repr(rover) for rover in sitl)
            raise AssertionError(
                f"{message or 'What must never be'}: so at {sitl.time_s:.2f} s: {states}"
            )

    sitl: Fleet = subject if isinstance(subject, Fleet) else subject.sitl
    sitl.check_every_step(check)


def _driven(rover: RoverHandle, from_sim_s: float = 0.0) -> list[VehicleTruth]:
    """Where it was since then, step by step; never empty."""
    __tracebackhide__ = True
    truths = rover.sitl.history.truth[rover.id]
    counted = [truth for truth in truths if truth.timestamp_us >= from_sim_s * 1e6]
    if not counted:
        since = f" since {from_sim_s:g} s" if from_sim_s else ""
        raise ConfigError(
            f"Nothing is known of where {rover.name} has been{since}.",
            hint="Let time pass first, with run() or wait_until(), on a simulator that reports it.",
        )
    return counted


def _require_contacts_reported(rover: RoverHandle) -> None:
    __tracebackhide__ = True
    session = rover.sitl.session
    if not session.options.contacts:
        raise ConfigError(
            "Contacts are switched off in this run, so it is unknown whether there was one.",
            hint="Leave out contacts=False.",
        )
    kind = session.fleet.adapter_type(session.fleet.vehicle(rover.id).config.adapter)
    if kind not in _REPORT_CONTACTS:
        raise ConfigError(
            f"The simulator of {rover.name} ({kind}) does not report contacts.",
            hint="Use --sim lightweight, or assert_min_separation and assert_path_within.",
        )


def distance_to_line(point: Point, points: Sequence[Point]) -> float:
    """Distance from a point to the line through several others [m]."""
    if len(points) == 1:
        return hypot(point[0] - points[0][0], point[1] - points[0][1])
    return min(_distance_to_segment(point, start, end) for start, end in pairwise(points))


def _distance_to_segment(point: Point, start: Point, end: Point) -> float:
    along = (end[0] - start[0], end[1] - start[1])
    to_point = (point[0] - start[0], point[1] - start[1])
    length_m2 = along[0] ** 2 + along[1] ** 2
    share = (to_point[0] * along[0] + to_point[1] * along[1]) / length_m2 if length_m2 else 0.0
    share = min(1.0, max(0.0, share))
    return hypot(to_point[0] - share * along[0], to_point[1] - share * along[1])
