"""How far bodies may go in one step before they touch; exact operations, on floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from pico_gz.simulator.obstacles import Outline

_BISECTIONS = 40
_PASSES = 8
# A body moves at most this share of its radius between two looks, so nothing is jumped over.
_LOOK_SHARE = 0.25
_MOST_LOOKS = 400


class Body(msgspec.Struct):
    """A vehicle's disc in one step: where it begins and how far it wants to go."""

    radius_m: float
    north_m: float
    east_m: float
    step_n_m: float
    step_e_m: float
    share: float = 1.0  # of the step that it may go

    def at(self, time: float) -> tuple[float, float]:
        """Where it is when ``time`` (0..1) of the step is over."""
        gone = time if time < self.share else self.share
        return self.north_m + gone * self.step_n_m, self.east_m + gone * self.step_e_m

    @property
    def reach_m(self) -> float:
        """Length of its step."""
        return math.sqrt(self.step_n_m * self.step_n_m + self.step_e_m * self.step_e_m)


def body_gap_m(one: Body, other: Body, time: float = 1.0) -> float:
    """Air between two bodies; negative when they overlap."""
    (n1, e1), (n2, e2) = one.at(time), other.at(time)
    north, east = n2 - n1, e2 - e1
    return math.sqrt(north * north + east * east) - one.radius_m - other.radius_m


def wall_gap_m(body: Body, shape: Outline, time: float = 1.0) -> float:
    """Air between a body and an obstacle; negative when they overlap."""
    return shape.clearance_m(*body.at(time)) - body.radius_m


def resolve(
    bodies: Mapping[int, Body],
    pairs: Sequence[tuple[int, int]],
    walls: Sequence[tuple[int, int, Outline]],
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Shorten the steps of bodies that would run into something.

    Args:
        bodies: by vehicle id; their ``share`` is set.
        pairs: vehicle ids that may meet, in order.
        walls: vehicle id, number and outline of obstacles that may be met, in order.

    Returns:
        The pairs that met, and the (vehicle id, obstacle number) that met.
    """
    met_pairs: set[tuple[int, int]] = set()
    met_walls: set[tuple[int, int]] = set()
    # Stopping one body may put it into another's way: look again until nothing changes. Nobody
    # moving is always possible, so bodies that still disagree after some rounds stay put.
    for round_number in range(_PASSES + len(bodies)):
        give_up = round_number >= _PASSES
        changed = False
        for vehicle_id, number, shape in walls:
            if _stop_at_wall(bodies[vehicle_id], shape, give_up):
                met_walls.add((vehicle_id, number))
                changed = True
        for one, other in pairs:
            if _stop_pair(bodies[one], bodies[other], give_up):
                met_pairs.add((one, other))
                changed = True
        if not changed:
            break
    return met_pairs, met_walls


def _stop_at_wall(body: Body, shape: Outline, give_up: bool) -> bool:
    looks = _looks(body.reach_m, body.radius_m)
    time = _touch_time(lambda when: wall_gap_m(body, shape, when), looks)
    if time is None:
        return False
    body.share = 0.0 if give_up else min(body.share, time)
    return True


def _stop_pair(one: Body, other: Body, give_up: bool) -> bool:
    looks = _looks(one.reach_m + other.reach_m, min(one.radius_m, other.radius_m))
    time = _touch_time(lambda when: body_gap_m(one, other, when), looks)
    if time is None:
        return False
    (n1, e1), (n2, e2) = one.at(time), other.at(time)
    north, east = n2 - n1, e2 - e1
    one_closes = one.step_n_m * north + one.step_e_m * east > 0.0
    other_closes = other.step_n_m * north + other.step_e_m * east < 0.0
    limit = 0.0 if give_up else time
    # Who moves away from the other is not held back by being run into.
    if one_closes or not other_closes:
        one.share = min(one.share, limit)
    if other_closes or not one_closes:
        other.share = min(other.share, limit)
    return True


def _looks(reach_m: float, radius_m: float) -> int:
    return max(1, min(_MOST_LOOKS, math.ceil(reach_m / (_LOOK_SHARE * radius_m))))


def _touch_time(gap_m: Callable[[float], float], looks: int) -> float | None:
    """The last moment (0..1) before a gap closes; ``None`` when it stays open or widens."""
    low, gap = 0.0, gap_m(0.0)
    for look in range(1, looks + 1):
        high = look / looks
        next_gap = gap_m(high)
        if next_gap < 0.0 and next_gap < gap:
            return low if gap < 0.0 else _bisect(gap_m, low, high)
        low, gap = high, next_gap
    return None


def _bisect(gap_m: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if gap_m(middle) < 0.0:
            high = middle
        else:
            low = middle
    return low
