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
MARGIN_M = 1e-6
# Bodies may meet, or slide into each other, when less than so many steps are between them.
REACHES = 3.0
# A contact is over when there is this much air again [m].
_RELEASE_M = 0.01
_LOOK_AGAIN = -1.0
_FREE_SQ = 1e12

# (vehicle, other vehicle) or (vehicle, -1 - obstacle) that may have met, by rank in id order.
Candidate = tuple[int, int]


class Contact(msgspec.Struct, frozen=True):
    """A vehicle touched something.

    Attributes:
        time_us: end of the step in which the touch began.
        vehicle_id: who touched.
        other: id of the other vehicle, or name of the obstacle (``disc_1``, ``wall_2`` ...).
        force_n: how hard it pushes, where the simulator computes forces.
    """

    time_us: int
    vehicle_id: int
    other: int | str
    force_n: float | None = None


def look(rovers: Sequence[Rover], outlines: Sequence[Outline]) -> list[int]:
    """Note the free distance of all that used theirs up; returns which those were."""
    looked: list[int] = []
    again = True
    while again:
        again = False
        for rank, rover in enumerate(rovers):
            if rank in looked or not _has_left(rover):
                continue
            again = True
            north, east = rover.centre_m
            looked.append(rank)
            rover.seen_north_m, rover.seen_east_m, rover.free_sq = north, east, _FREE_SQ
            for other in rovers:
                if other is not rover:
                    # A neighbour that got closer than the other one's half is looked at too.
                    ahead, aside = north - other.seen_north_m, east - other.seen_east_m
                    apart = math.sqrt(ahead * ahead + aside * aside)
                    half = 0.5 * (apart - rover.spec.radius_m - other.spec.radius_m) - MARGIN_M
                    _lower_free(rover, half)
                    _lower_free(other, half)
            for shape in outlines:
                room = shape.clearance_m(north, east) - rover.spec.radius_m
                _lower_free(rover, room - MARGIN_M)
    return looked


def _has_left(rover: Rover) -> bool:
    """Whether a part of its step was outside of what is known to be free."""
    north, east = rover.centre_m
    ahead, aside = north - rover.seen_north_m, east - rover.seen_east_m
    if ahead * ahead + aside * aside > rover.free_sq:
        return True
    if rover.spec.center_ahead_m == 0.0:  # it began where the last step ended
        return False
    pose = rover.pose
    ahead += rover.start_north_m - pose.north_m
    aside += rover.start_east_m - pose.east_m
    return ahead * ahead + aside * aside > rover.free_sq


def _lower_free(rover: Rover, free_m: float) -> None:
    free_sq = free_m * free_m if free_m > 0.0 else _LOOK_AGAIN
    if free_sq < rover.free_sq:
        rover.free_sq = free_sq


def find_candidates(
    rovers: Sequence[Rover], looked: Sequence[int], outlines: Sequence[Outline]
) -> set[Candidate]:
    """Which of those looked at may have met something in the step just made."""
    found: set[Candidate] = set()
    bodies = [_body(rover) for rover in rovers] if looked else []
    for rank in looked:
        body, reach = bodies[rank], bodies[rank].reach_m
        for number, other in enumerate(bodies):
            near = REACHES * (reach + other.reach_m) + MARGIN_M
            if other is not body and body_gap_m(body, other) < near:
                found.add((min(rank, number), max(rank, number)))
        for number, shape in enumerate(outlines):
            if wall_gap_m(body, shape) < REACHES * reach + MARGIN_M:
                found.add((rank, -1 - number))
    return found


def _body(rover: Rover) -> Body:
    (north, east), pose = rover.centre_m, rover.pose
    start_n = north - pose.north_m + rover.start_north_m
    start_e = east - pose.east_m + rover.start_east_m
    return Body(rover.spec.radius_m, start_n, start_e, north - start_n, east - start_e)


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
        self.alone = True

    def watch(self, rovers: Mapping[int, Rover]) -> None:
        """Take the rovers, by id in order."""
        self._ids = list(rovers)
        self._rovers = list(rovers.values())
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

    def touching(self) -> list[tuple[int, int | str]]:
        """The contacts that last: (vehicle id, the other's id or an obstacle's name)."""
        return sorted(self._touching, key=_order)

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
        outlines = self._scene.outlines
        found = find_candidates(self._rovers, look(self._rovers, outlines), outlines)
        if found or self._touching:
            self.stop(end_time_us, found)

    @property
    def is_touching(self) -> bool:
        """Whether anything touches."""
        return bool(self._touching)

    def touching_ranks(self) -> set[int]:
        """Ranks of the vehicles that touch something."""
        rank = {vehicle_id: number for number, vehicle_id in enumerate(self._ids)}
        touching = {rank[vehicle_id] for vehicle_id, _ in self._touching}
        return touching | {rank[other] for _, other in self._touching if isinstance(other, int)}

    def stop(self, end_time_us: int, found: set[Candidate]) -> None:
        """Stop, of those that may have met something, those that have."""
        pairs = sorted(pair for pair in found if pair[1] >= 0)
        walls = sorted((rank, -1 - other) for rank, other in found if other < 0)
        shapes = self._scene.outlines
        involved = {one for pair in pairs for one in pair} | {one for one, _ in walls}
        bodies = {
            rank: _body(self._rovers[rank]) for rank in sorted(involved | self.touching_ranks())
        }
        met_pairs, met_walls = resolve(
            bodies, pairs, [(rank, number, shapes[number]) for rank, number in walls]
        )
        # What overlaps is in contact, however it came there.
        met_pairs |= {p for p in pairs if body_gap_m(bodies[p[0]], bodies[p[1]], 0.0) < -MARGIN_M}
        met_walls |= {w for w in walls if wall_gap_m(bodies[w[0]], shapes[w[1]], 0.0) < -MARGIN_M}
        self._note(end_time_us, met_pairs, met_walls)
        for rank, body in bodies.items():
            if body.share < 1.0:
                self._rovers[rank].block(body.share)
        self._part(bodies, met_pairs, found)
        self._release(bodies)

    def _note(
        self, end_time_us: int, met_pairs: set[tuple[int, int]], met_walls: set[tuple[int, int]]
    ) -> None:
        """Report what was not touched before."""
        ids, names = self._ids, self._scene.names
        met: set[tuple[int, int | str]] = {(ids[i], names[number]) for i, number in met_walls}
        for one, other in met_pairs:
            met |= {(ids[one], ids[other]), (ids[other], ids[one])}
        for pair in sorted(met - self._touching, key=_order):
            self._events.append(Contact(end_time_us, *pair))
        self._touching |= met

    def _part(
        self, bodies: Mapping[int, Body], met: set[tuple[int, int]], found: set[Candidate]
    ) -> None:
        """Let vehicles that push each other slide along each other, so that none is locked.

        What is left of a step goes sideways: the way it leads, to the right when undecided.
        """
        slid: set[int] = set()
        for pair in sorted(met):
            for me, other in (pair, pair[::-1]):
                if me not in slid and self._slide(bodies, me, other, found):
                    slid.add(me)

    def _slide(
        self, bodies: Mapping[int, Body], me: int, other: int, found: set[Candidate]
    ) -> bool:
        body = bodies[me]
        (n0, e0), (n1, e1) = body.at(1.0), bodies[other].at(1.0)
        north, east = n1 - n0, e1 - e0
        apart = math.sqrt(north * north + east * east)
        left = 1.0 - body.share
        if left == 0.0 or apart == 0.0:
            return False
        pushed = left * (body.step_n_m * north + body.step_e_m * east) / apart
        aside = left * (body.step_e_m * north - body.step_n_m * east) / apart
        if abs(aside) < pushed:
            aside = pushed
        slide_n, slide_e = -aside * east / apart, aside * north / apart
        there = msgspec.structs.replace(
            body, north_m=body.north_m + slide_n, east_m=body.east_m + slide_e
        )
        if pushed <= 0.0 or not self._has_room(bodies, me, there, found):
            return False
        body.north_m, body.east_m = there.north_m, there.east_m
        pose = self._rovers[me].pose
        pose.north_m, pose.east_m = pose.north_m + slide_n, pose.east_m + slide_e
        return True

    def _has_room(
        self, bodies: Mapping[int, Body], me: int, there: Body, found: set[Candidate]
    ) -> bool:
        """Whether a vehicle can be there without coming closer to what it touches."""
        for one, other in found:
            if me not in (one, other):
                continue
            if other < 0:
                shape = self._scene.outlines[-1 - other]
                before, after = wall_gap_m(bodies[me], shape), wall_gap_m(there, shape)
            else:
                near = bodies[other if one == me else one]
                before, after = body_gap_m(bodies[me], near), body_gap_m(there, near)
            if after < 0.0 and after < before:
                return False
        return True

    def _release(self, bodies: Mapping[int, Body]) -> None:
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
            self._rovers[rank[pair[0]]].free_sq = _LOOK_AGAIN


def _order(pair: tuple[int, int | str]) -> tuple[int, bool, int | str]:
    """Sort by vehicle, then vehicles before obstacles."""
    return pair[0], isinstance(pair[1], str), pair[1]
