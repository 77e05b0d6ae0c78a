"""Contacts: obstacles and vehicles block each other's way.

Every vehicle is a disc. Most steps need no check at all: when a vehicle is looked at, the free
distance around it is noted, and it is looked at again only after it has moved that far
(conservative advancement). Whether and where a contact stops a vehicle is then decided from
that one step alone, so the outcome does not depend on when anybody was looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from pico_gz.simulator.obstacles import Outline
from pico_gz.simulator.rover import Rover
from pico_gz.simulator.scene import Scene

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


# Free distances are trimmed by this, so that rounding never hides a touch [m].
_MARGIN_M = 1e-6
# A contact is over when there is this much air again [m].
_RELEASE_M = 0.01
_LOOK_AGAIN = -1.0

Floats = NDArray[np.float64]


class Contact(msgspec.Struct, frozen=True):
    """A vehicle touched something.

    Attributes:
        time_us: end of the step in which the touch began.
        vehicle_id: who touched.
        other: id of the other vehicle, or name of the obstacle (``disc_1``, ``wall_2`` ...).
    """

    time_us: int
    vehicle_id: int
    other: int | str


class _Step:
    """One step of everybody, in id order."""

    def __init__(self, rovers: Sequence[Rover]) -> None:
        rows = []
        for rover in rovers:
            (north, east), pose = rover.centre_m, rover.pose
            start_n, start_e = rover.start_north_m, rover.start_east_m
            rows.append(
                (
                    north, east, north - pose.north_m + start_n, east - pose.east_m + start_e,
                    rover.seen_north_m, rover.seen_east_m, rover.free_sq,
                )
            )  # fmt: skip
        columns = np.array(rows).T.copy()
        self.end, self.start = columns[0:2], columns[2:4]
        self.seen = columns[4:6]
        free_sq = columns[6]
        self.free = np.where(free_sq < 0.0, _LOOK_AGAIN, np.sqrt(np.abs(free_sq)))
        self.reach = _length(self.end - self.start)


class ContactChecker:
    """Stops vehicles at what they touch, and reports each touch once, when it begins.

    Attributes:
        alone: there is nothing to touch, so that nothing need be checked.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._touching: set[tuple[int, int | str]] = set()
        self._events: list[Contact] = []
        self._ids: list[int] = []
        self._rovers: list[Rover] = []
        self._radii: Floats = np.zeros(0)
        self.alone = True
        fields = ("north_m", "east_m", "cos", "sin", "half_a_m", "half_b_m", "round_m")
        self._shapes = [
            np.array([getattr(shape, name) for shape in scene.outlines]) for name in fields
        ]

    def watch(self, rovers: Mapping[int, Rover]) -> None:
        """Take the rovers, by id in order."""
        self._ids = list(rovers)
        self._rovers = list(rovers.values())
        self._radii = np.array([rover.spec.radius_m for rover in self._rovers])
        self.alone = len(self._ids) < 2 and not self._scene.outlines
        self._touching = {
            pair
            for pair in self._touching
            if pair[0] in rovers and (pair[1] in rovers or isinstance(pair[1], str))
        }
        self.look_again()

    def look_again(self) -> None:
        """A vehicle was put elsewhere: what was known to be free no longer is."""
        for rover in self._rovers:
            rover.free_sq = _LOOK_AGAIN

    def drain(self) -> list[Contact]:
        """Take the contacts that began since the last call."""
        events, self._events = self._events, []
        return events

    def save(self) -> list[list[int | str]]:
        """Who touches what, as plain values."""
        return [list(pair) for pair in sorted(self._touching, key=_order)]

    def load(self, touching: Sequence[Sequence[Any]]) -> None:
        """Go on from what ``save`` gave."""
        self._touching = {(pair[0], pair[1]) for pair in touching}
        self._events = []
        self.look_again()

    def check(self, end_time_us: int) -> None:
        """Stop those that ran into something in the step just made."""
        for rover in self._rovers:
            north, east = rover.centre_m
            north, east = north - rover.seen_north_m, east - rover.seen_east_m
            if north * north + east * east > rover.free_sq:
                break
        else:
            return
        step = _Step(self._rovers)
        looked = self._look(step)
        pairs = self._pairs(step, looked)
        walls = self._walls(step, looked)
        if pairs or walls or self._touching:
            self._stop(end_time_us, step, pairs, walls)
        free_sq = np.where(step.free <= 0.0, _LOOK_AGAIN, step.free * step.free)
        rows = zip(*step.seen.tolist(), free_sq.tolist(), strict=True)
        for rover, row in zip(self._rovers, rows, strict=True):
            rover.seen_north_m, rover.seen_east_m, rover.free_sq = row

    # --- who must be looked at -------------------------------------------------------------

    def _look(self, step: _Step) -> NDArray[np.intp]:
        """Note the free distance of everybody who used theirs up; returns who that was."""
        chosen = _length(step.end - step.seen) > step.free
        while True:
            looked = np.nonzero(chosen)[0]
            step.seen[:, looked] = step.end[:, looked]
            half = 0.5 * self._gaps(step.seen, looked) - _MARGIN_M
            step.free[looked] = half.min(axis=1, initial=1e6)
            others = ~chosen
            step.free[others] = np.minimum(step.free, half.min(axis=0, initial=1e6))[others]
            # A neighbour that got closer than the other one's share must be looked at too.
            more = others & (_length(step.end - step.seen) > step.free)
            if not more.any():
                break
            chosen |= more
        if self._scene.outlines:
            room = self._wall_gaps(step.seen, looked).min(axis=1) - _MARGIN_M
            step.free[looked] = np.minimum(step.free[looked], room)
        return looked

    def _gaps(self, centres: Floats, rows: NDArray[np.intp]) -> Floats:
        """Air between some vehicles and everybody else, shape (rows, all)."""
        apart = _length(centres[:, rows, np.newaxis] - centres[:, np.newaxis, :])
        gaps = apart - self._radii[rows, np.newaxis] - self._radii
        gaps[np.arange(len(rows)), rows] = np.inf
        return gaps

    def _wall_gaps(self, centres: Floats, rows: NDArray[np.intp]) -> Floats:
        """Air between some vehicles and every obstacle, shape (rows, obstacles)."""
        at_n, at_e, cos, sin, half_a, half_b, grown = self._shapes
        north = centres[0, rows, np.newaxis] - at_n
        east = centres[1, rows, np.newaxis] - at_e
        a = np.abs(north * cos + east * sin) - half_a
        b = np.abs(east * cos - north * sin) - half_b
        outside = np.sqrt(np.maximum(a, 0.0) ** 2 + np.maximum(b, 0.0) ** 2)
        inside = np.minimum(np.maximum(a, b), 0.0)
        gaps: Floats = outside + inside - grown - self._radii[rows, np.newaxis]
        return gaps

    def _pairs(self, step: _Step, looked: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Vehicles that may have met in this step."""
        near = self._gaps(step.end, looked) < (
            step.reach[looked, np.newaxis] + step.reach + _MARGIN_M
        )
        found = {
            (min(one, other), max(one, other))
            for one, other in zip(
                looked[np.nonzero(near)[0]].tolist(), np.nonzero(near)[1].tolist(), strict=True
            )
        }
        return sorted(found)

    def _walls(self, step: _Step, looked: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Vehicles and obstacles that may have met in this step."""
        if not self._scene.outlines:
            return []
        near = self._wall_gaps(step.end, looked) < step.reach[looked, np.newaxis] + _MARGIN_M
        rows, numbers = np.nonzero(near)
        return sorted(zip(looked[rows].tolist(), numbers.tolist(), strict=True))

    # --- what happens to them --------------------------------------------------------------

    def _stop(
        self,
        end_time_us: int,
        step: _Step,
        pairs: Sequence[tuple[int, int]],
        walls: Sequence[tuple[int, int]],
    ) -> None:
        bodies = self._bodies(step, pairs, walls)
        shapes = self._scene.outlines
        met_pairs, met_walls = resolve(
            bodies, pairs, [(rank, number, shapes[number]) for rank, number in walls]
        )
        ids, names = self._ids, self._scene.names
        met: set[tuple[int, int | str]] = {(ids[i], names[number]) for i, number in met_walls}
        for one, other in met_pairs:
            met |= {(ids[one], ids[other]), (ids[other], ids[one])}
        for pair in sorted(met - self._touching, key=_order):
            self._events.append(Contact(end_time_us, *pair))
        self._touching |= met
        for rank, body in bodies.items():
            if body.share < 1.0:
                self._rovers[rank].block(body.share)
        self._release(step, bodies)

    def _bodies(
        self, step: _Step, pairs: Sequence[tuple[int, int]], walls: Sequence[tuple[int, int]]
    ) -> dict[int, Body]:
        rank = {vehicle_id: number for number, vehicle_id in enumerate(self._ids)}
        involved = {one for pair in pairs for one in pair} | {one for one, _ in walls}
        for vehicle_id, other in self._touching:
            involved.add(rank[vehicle_id])
            if isinstance(other, int):
                involved.add(rank[other])
        bodies = {}
        for number in sorted(involved):
            (n0, e0), (n1, e1) = step.start[:, number].tolist(), step.end[:, number].tolist()
            bodies[number] = Body(float(self._radii[number]), n0, e0, n1 - n0, e1 - e0)
        return bodies

    def _release(self, step: _Step, bodies: Mapping[int, Body]) -> None:
        """End the contacts that have air again; look at the others in every step."""
        rank = {vehicle_id: number for number, vehicle_id in enumerate(self._ids)}
        shapes = dict(zip(self._scene.names, self._scene.outlines, strict=True))
        for pair in sorted(self._touching, key=_order):
            body, other = bodies[rank[pair[0]]], pair[1]
            if isinstance(other, int):
                gap_m = body_gap_m(body, bodies[rank[other]])
            else:
                gap_m = wall_gap_m(body, shapes[other])
            if gap_m > _RELEASE_M:
                self._touching.discard(pair)
            step.free[rank[pair[0]]] = _LOOK_AGAIN


def _length(vectors: Floats) -> Floats:
    length: Floats = np.sqrt(vectors[0] * vectors[0] + vectors[1] * vectors[1])
    return length


def _order(pair: tuple[int, int | str]) -> tuple[int, bool, int | str]:
    """Sort by vehicle, then vehicles before obstacles."""
    return pair[0], isinstance(pair[1], str), pair[1]
