"""The item lists of a vehicle, and which item comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from math import isfinite
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from pico_gz.core.ground_control import MAX_ITEMS, MissionItem, MissionResult, MissionType
from pico_gz.core.snapshot import Snapshot
from pico_gz.vehicle.autopilot.navigation import Point, distance_m


class MissionCommand(IntEnum):
    """``MAV_CMD`` numbers of mission, fence and rally items."""

    NAV_WAYPOINT = 16
    NAV_LOITER_UNLIM = 17
    NAV_LOITER_TURNS = 18
    NAV_LOITER_TIME = 19
    NAV_RETURN_TO_LAUNCH = 20
    NAV_GUIDED_ENABLE = 92
    NAV_DELAY = 93
    CONDITION_DELAY = 112
    CONDITION_DISTANCE = 114
    DO_JUMP = 177
    DO_CHANGE_SPEED = 178
    DO_SET_HOME = 179
    DO_SET_RELAY = 181
    DO_SET_SERVO = 183
    DO_SET_REVERSE = 194
    DO_FENCE_ENABLE = 207
    NAV_SET_YAW_SPEED = 213
    DO_AUX_FUNCTION = 218
    DO_GUIDED_LIMITS = 222
    JUMP_TAG = 600
    DO_JUMP_TAG = 601
    FENCE_RETURN_POINT = 5000
    FENCE_POLYGON_INCLUSION = 5001
    FENCE_POLYGON_EXCLUSION = 5002
    FENCE_CIRCLE_INCLUSION = 5003
    FENCE_CIRCLE_EXCLUSION = 5004
    RALLY_POINT = 5100


NAV_COMMANDS = frozenset(
    {
        MissionCommand.NAV_WAYPOINT,
        MissionCommand.NAV_LOITER_UNLIM,
        MissionCommand.NAV_LOITER_TURNS,
        MissionCommand.NAV_LOITER_TIME,
        MissionCommand.NAV_RETURN_TO_LAUNCH,
        MissionCommand.NAV_GUIDED_ENABLE,
        MissionCommand.NAV_DELAY,
        MissionCommand.NAV_SET_YAW_SPEED,
    }
)
# What ground stations put into missions and a rover cannot do: accepted, reported, skipped.
SKIPPED_COMMANDS: dict[int, str] = {
    21: "NAV_LAND",
    22: "NAV_TAKEOFF",
    30: "NAV_CONTINUE_AND_CHANGE_ALT",
    31: "NAV_LOITER_TO_ALT",
    80: "NAV_ROI",
    82: "NAV_SPLINE_WAYPOINT",
    83: "NAV_ALTITUDE_WAIT",
    84: "NAV_VTOL_TAKEOFF",
    85: "NAV_VTOL_LAND",
    94: "NAV_PAYLOAD_PLACE",
    113: "CONDITION_CHANGE_ALT",
    115: "CONDITION_YAW",
    176: "DO_SET_MODE",
    182: "DO_REPEAT_RELAY",
    184: "DO_REPEAT_SERVO",
    188: "DO_RETURN_PATH_START",
    189: "DO_LAND_START",
    195: "DO_SET_ROI_LOCATION",
    197: "DO_SET_ROI_NONE",
    200: "DO_CONTROL_VIDEO",
    201: "DO_SET_ROI",
    202: "DO_DIGICAM_CONFIGURE",
    203: "DO_DIGICAM_CONTROL",
    204: "DO_MOUNT_CONFIGURE",
    205: "DO_MOUNT_CONTROL",
    206: "DO_SET_CAM_TRIGG_DIST",
    208: "DO_PARACHUTE",
    209: "DO_MOTOR_TEST",
    210: "DO_INVERTED_FLIGHT",
    211: "DO_GRIPPER",
    212: "DO_AUTOTUNE_ENABLE",
    214: "DO_SET_CAM_TRIGG_INTERVAL",
    216: "DO_SPRAYER",
    217: "DO_SEND_SCRIPT_MESSAGE",
    223: "DO_ENGINE_CONTROL",
    530: "SET_CAMERA_MODE",
    531: "SET_CAMERA_ZOOM",
    532: "SET_CAMERA_FOCUS",
    534: "SET_CAMERA_SOURCE",
    1000: "DO_GIMBAL_MANAGER_PITCHYAW",
    1001: "DO_GIMBAL_MANAGER_CONFIGURE",
    2000: "IMAGE_START_CAPTURE",
    2001: "IMAGE_STOP_CAPTURE",
    2500: "VIDEO_START_CAPTURE",
    2501: "VIDEO_STOP_CAPTURE",
    3000: "DO_VTOL_TRANSITION",
    42600: "DO_WINCH",
    42702: "NAV_SCRIPT_TIME",
}
# Commands whose latitude and longitude mean a place.
PLACED_COMMANDS = frozenset(
    {
        MissionCommand.NAV_WAYPOINT,
        MissionCommand.NAV_LOITER_UNLIM,
        MissionCommand.NAV_LOITER_TURNS,
        MissionCommand.NAV_LOITER_TIME,
        MissionCommand.NAV_GUIDED_ENABLE,
        MissionCommand.DO_SET_HOME,
    }
)
POLYGON_COMMANDS = frozenset(
    {MissionCommand.FENCE_POLYGON_INCLUSION, MissionCommand.FENCE_POLYGON_EXCLUSION}
)
CIRCLE_COMMANDS = frozenset(
    {MissionCommand.FENCE_CIRCLE_INCLUSION, MissionCommand.FENCE_CIRCLE_EXCLUSION}
)


_MISSION_FRAMES = frozenset({0, 2, 3, 5, 6, 10, 11})
# What is done at once, by ``actions.do_action``.
ACTIONS = frozenset(
    {
        MissionCommand.DO_SET_RELAY,
        MissionCommand.DO_SET_SERVO,
        MissionCommand.DO_FENCE_ENABLE,
        MissionCommand.DO_AUX_FUNCTION,
    }
)
_MISSION_COMMANDS = (
    NAV_COMMANDS
    | ACTIONS
    | {
        MissionCommand.CONDITION_DELAY,
        MissionCommand.CONDITION_DISTANCE,
        MissionCommand.DO_JUMP,
        MissionCommand.DO_CHANGE_SPEED,
        MissionCommand.DO_SET_HOME,
        MissionCommand.DO_SET_REVERSE,
        MissionCommand.DO_GUIDED_LIMITS,
        MissionCommand.JUMP_TAG,
        MissionCommand.DO_JUMP_TAG,
    }
)
_JUMPS = (MissionCommand.DO_JUMP, MissionCommand.DO_JUMP_TAG)
_FENCE_COMMANDS = POLYGON_COMMANDS | CIRCLE_COMMANDS | {MissionCommand.FENCE_RETURN_POINT}
_RALLY_COMMANDS = frozenset({MissionCommand.RALLY_POINT})
MAX_LAT_E7, MAX_LON_E7 = 900_000_000, 1_800_000_000
MAX_ALT_M: Final = 1e5
# Seconds, turns or jumps: some eleven days are enough for anything.
_MAX_AMOUNT: Final = 1e6
MAX_SPEED_MPS: Final = 100.0
_PARAM_NAMES = ("param1", "param2", "param3", "param4")


class ItemStore(Snapshot):
    """Mission, fence and rally items; each list is replaced as a whole or not at all.

    Attributes:
        version: rises with every change.
    """

    __slots__ = ("_lists", "version")
    _state_fields = ("by_name", "version")
    _state_types: ClassVar[Mapping[str, Any]] = {"by_name": dict[str, tuple[MissionItem, ...]]}

    def __init__(self) -> None:
        self._lists: dict[MissionType, tuple[MissionItem, ...]] = dict.fromkeys(MissionType, ())
        self.version = 0

    @property
    def by_name(self) -> dict[str, tuple[MissionItem, ...]]:
        """All lists by the names of their kinds, for snapshots."""
        return {kind.name: items for kind, items in self._lists.items()}

    @by_name.setter
    def by_name(self, lists: Mapping[str, tuple[MissionItem, ...]]) -> None:
        self._lists = {kind: lists[kind.name] for kind in MissionType}

    def items(self, kind: MissionType) -> tuple[MissionItem, ...]:
        """The stored list."""
        return self._lists[kind]

    def replace(self, kind: MissionType, items: Sequence[MissionItem]) -> MissionResult:
        """Store a whole list, or nothing of it."""
        if len(items) > MAX_ITEMS:
            return MissionResult.NO_SPACE
        for number, item in enumerate(items):
            if item.seq != number:
                return MissionResult.INVALID_SEQUENCE
            # Item 0 of a mission is home: whatever the sender put there.
            if kind is MissionType.MISSION and number == 0:
                continue
            result = check_item(kind, item)
            if result is not MissionResult.ACCEPTED:
                return result
        if kind is MissionType.MISSION and not _jumps_inside(items):
            return MissionResult.INVALID_PARAM1
        if kind is MissionType.FENCE and not _polygons_whole(items):
            return MissionResult.INVALID
        self._lists[kind] = tuple(_without_nan(item) for item in items)
        self.version += 1
        return MissionResult.ACCEPTED

    def set_home_item(self, lat_e7: int, lon_e7: int, alt_m: float) -> None:
        """Show home as item 0 of a mission that exists."""
        mission = self._lists[MissionType.MISSION]
        if mission:
            home = MissionItem(
                seq=0,
                command=MissionCommand.NAV_WAYPOINT,
                frame=0,
                lat_e7=lat_e7,
                lon_e7=lon_e7,
                alt_m=alt_m,
            )
            self._lists[MissionType.MISSION] = (home, *mission[1:])


def known_commands(kind: MissionType) -> frozenset[MissionCommand]:
    """The commands of items that a list of this kind may hold."""
    if kind is MissionType.MISSION:
        return _MISSION_COMMANDS
    return _FENCE_COMMANDS if kind is MissionType.FENCE else _RALLY_COMMANDS


def check_item(kind: MissionType, item: MissionItem) -> MissionResult:
    """Whether an item could be stored in a list of this kind."""
    placed = kind is not MissionType.MISSION or item.command in PLACED_COMMANDS
    if kind is MissionType.MISSION and item.command in SKIPPED_COMMANDS:
        return MissionResult.ACCEPTED
    if item.command not in known_commands(kind):
        return MissionResult.UNSUPPORTED
    if item.frame not in _MISSION_FRAMES:
        return MissionResult.UNSUPPORTED_FRAME
    if placed and not -MAX_LAT_E7 <= item.lat_e7 <= MAX_LAT_E7:
        return MissionResult.INVALID_PARAM5_X
    if placed and not -MAX_LON_E7 <= item.lon_e7 <= MAX_LON_E7:
        return MissionResult.INVALID_PARAM6_Y
    if placed and abs(item.alt_m) > MAX_ALT_M:
        return MissionResult.INVALID_PARAM7
    return _check_params(item)


def _check_params(item: MissionItem) -> MissionResult:
    command, first = item.command, item.param1
    if command == MissionCommand.NAV_RETURN_TO_LAUNCH:
        return MissionResult.ACCEPTED
    if not isfinite(first):
        return MissionResult.INVALID_PARAM1
    if command in (
        MissionCommand.NAV_WAYPOINT,
        MissionCommand.NAV_LOITER_TIME,
        MissionCommand.NAV_LOITER_TURNS,
        MissionCommand.CONDITION_DELAY,
        MissionCommand.CONDITION_DISTANCE,
        MissionCommand.DO_GUIDED_LIMITS,
    ):
        fine = 0.0 <= first <= _MAX_AMOUNT
        return MissionResult.ACCEPTED if fine else MissionResult.INVALID_PARAM1
    if command == MissionCommand.NAV_SET_YAW_SPEED and not abs(item.param2) <= MAX_SPEED_MPS:
        return MissionResult.INVALID
    if command in _JUMPS and not -1.0 <= item.param2 <= _MAX_AMOUNT:
        return MissionResult.INVALID
    if command == MissionCommand.DO_CHANGE_SPEED and not -1.0 <= item.param2 <= MAX_SPEED_MPS:
        return MissionResult.INVALID
    if command in CIRCLE_COMMANDS and first <= 0.0:
        return MissionResult.INVALID_PARAM1
    if command in POLYGON_COMMANDS and not 3.0 <= first <= MAX_ITEMS:
        return MissionResult.INVALID_PARAM1
    return MissionResult.ACCEPTED


def _jumps_inside(items: Sequence[MissionItem]) -> bool:
    return all(
        0 < jump_target(items, item) < len(items) for item in items[1:] if item.command in _JUMPS
    )


def jump_target(items: Sequence[MissionItem], jump: MissionItem) -> int:
    """The item that a jump leads to; 0 when there is no such tag."""
    if jump.command == MissionCommand.DO_JUMP:
        return int(jump.param1)
    for item in items[1:]:
        if item.command == MissionCommand.JUMP_TAG and item.param1 == jump.param1:
            return item.seq
    return 0


def _polygons_whole(items: Sequence[MissionItem]) -> bool:
    """Whether every polygon has as many corners in a row as its first one says."""
    index = 0
    while index < len(items):
        item = items[index]
        if item.command not in POLYGON_COMMANDS:
            index += 1
            continue
        corners = items[index : index + int(item.param1)]
        same = all(c.command == item.command and c.param1 == item.param1 for c in corners)
        if len(corners) < int(item.param1) or not same:
            return False
        index += len(corners)
    return True


def _without_nan(item: MissionItem) -> MissionItem:
    """Turn "no value" (NaN) into the default 0, which all other code expects."""
    changes: dict[str, float] = {
        name: 0.0 for name in _PARAM_NAMES if not isfinite(getattr(item, name))
    }
    if not isfinite(item.alt_m):
        changes["alt_m"] = 0.0
    return msgspec.structs.replace(item, **changes) if changes else item


# FENCE_TYPE bits.
CIRCLE_BIT, POLYGON_BIT = 2, 4
# FENCE_BREACH of MAVLink.
BREACH_NONE, BREACH_BOUNDARY = 0, 3


class _Circle(NamedTuple):
    center: Point
    radius_m: float
    inside: bool


class _Polygon(NamedTuple):
    corners: tuple[Point, ...]
    inside: bool


class Fence(Snapshot):
    """All fences of one rover.

    Attributes:
        breached: it is outside now; ``outside_m`` how far.
        breach_count: how often that began.
    """

    __slots__ = ("_circles", "_polygons", "breach_count", "breached", "outside_m")
    _state_fields = ("breach_count", "breached", "outside_m")

    def __init__(self) -> None:
        self._circles: list[_Circle] = []
        self._polygons: list[_Polygon] = []
        self.breached = False
        self.breach_count = 0
        self.outside_m = 0.0

    def build(
        self, items: Sequence[MissionItem], local_from_e7: Callable[[int, int], Point]
    ) -> None:
        """Take the stored fence items."""
        self._circles, self._polygons = [], []
        index = 0
        while index < len(items):
            item = items[index]
            if item.command in CIRCLE_COMMANDS:
                center = local_from_e7(item.lat_e7, item.lon_e7)
                inside = item.command == MissionCommand.FENCE_CIRCLE_INCLUSION
                self._circles.append(_Circle(center, item.param1, inside))
            elif item.command in POLYGON_COMMANDS:
                corners = items[index : index + int(item.param1)]
                places = tuple(local_from_e7(c.lat_e7, c.lon_e7) for c in corners)
                inside = item.command == MissionCommand.FENCE_POLYGON_INCLUSION
                self._polygons.append(_Polygon(places, inside))
                index += len(corners) - 1
            index += 1

    def excess_m(self, here: Point, home: Point, types: int, home_radius_m: float) -> float:
        """How far ``here`` is on the wrong side of a fence; 0 or less when it is allowed.

        Of several inclusion areas all must be kept, as with ArduPilot's default.
        """
        worst = -1e9
        if types & CIRCLE_BIT:
            worst = distance_m(here, home) - home_radius_m
        if types & POLYGON_BIT:
            for circle in self._circles:
                beyond = distance_m(here, circle.center) - circle.radius_m
                worst = max(worst, beyond if circle.inside else -beyond)
            for polygon in self._polygons:
                beyond = _beyond_polygon(here, polygon.corners)
                worst = max(worst, beyond if polygon.inside else -beyond)
        return worst

    def note(self, excess_m: float) -> bool:
        """Remember where it is; true when it has just left."""
        began = excess_m > 0.0 and not self.breached
        self.breached = excess_m > 0.0
        self.outside_m = excess_m if self.breached else 0.0
        if began:
            self.breach_count += 1
        return began


def _beyond_polygon(point: Point, corners: tuple[Point, ...]) -> float:
    """Distance from the edge, positive outside."""
    nearest = 1e18
    inside = False
    before = corners[-1]
    for corner in corners:
        nearest = min(nearest, _distance_to_edge(point, before, corner))
        if (corner[0] > point[0]) != (before[0] > point[0]):
            share = (point[0] - corner[0]) / (before[0] - corner[0])
            if point[1] < corner[1] + share * (before[1] - corner[1]):
                inside = not inside
        before = corner
    return -nearest if inside else nearest


def _distance_to_edge(point: Point, start: Point, end: Point) -> float:
    north, east = end[0] - start[0], end[1] - start[1]
    length_sq = north * north + east * east
    share = 0.0
    if length_sq > 0.0:
        share = ((point[0] - start[0]) * north + (point[1] - start[1]) * east) / length_sq
        share = min(1.0, max(0.0, share))
    return distance_m(point, (start[0] + share * north, start[1] + share * east))


# A mission that only jumps would never come to an item to drive to.
_MAX_JUMPS: Final = 100


class MissionState(IntEnum):
    """``MISSION_STATE`` of MAVLink."""

    NO_MISSION = 1
    NOT_STARTED = 2
    ACTIVE = 3
    PAUSED = 4
    COMPLETE = 5


class MissionRunner(Snapshot):
    """Walks through the mission: one item to drive, and what is to be done on the way.

    DO and CONDITION items between two waypoints run, in order, while the rover drives from
    the first to the second; a CONDITION holds up those after it.

    Attributes:
        current: the item being driven, 0 before the start.
        state: as MAVLink numbers it.
        pending: items to be done on the way to ``current``, by number.
    """

    __slots__ = ("_store", "current", "delay_until_us", "jumps_left", "pending", "state")
    _state_fields = ("current", "delay_until_us", "jumps_left", "pending", "state")

    def __init__(self, store: ItemStore) -> None:
        self._store = store
        self.current = 0
        self.state = MissionState.NO_MISSION
        self.pending: list[int] = []
        self.delay_until_us = -1
        self.jumps_left: dict[str, int] = {}

    def items(self) -> Sequence[MissionItem]:
        """The mission."""
        return self._store.items(MissionType.MISSION)

    def reset(self) -> None:
        """Begin again before the first item."""
        self.current = 0
        self.pending = []
        self.delay_until_us = -1
        self.jumps_left = {}
        self.state = MissionState.NOT_STARTED if len(self.items()) > 1 else MissionState.NO_MISSION

    def item(self) -> MissionItem | None:
        """The item being driven."""
        items = self.items()
        return items[self.current] if 0 < self.current < len(items) else None

    def start_at(self, seq: int) -> bool:
        """Look for something to drive from item ``seq`` on; false at the end of the mission."""
        found, pending = self._search(max(1, seq), self.jumps_left)
        self.delay_until_us = -1
        self.pending = pending
        if found == 0:
            self.state = MissionState.COMPLETE
            return False
        self.current = found
        self.state = MissionState.ACTIVE
        return True

    def advance(self) -> bool:
        """Advance to the next item; false at the end of the mission."""
        return self.start_at(self.current + 1)

    def next_place(self) -> MissionItem | None:
        """The place that follows the current item, for rounding its corner."""
        found, pending = self._search(self.current + 1, dict(self.jumps_left))
        if found == 0 or any(
            self.items()[seq].command == MissionCommand.DO_SET_REVERSE for seq in pending
        ):
            return None
        item = self.items()[found]
        placed = item.command in PLACED_COMMANDS and (item.lat_e7 or item.lon_e7)
        return item if placed else None

    def due(self, now_us: int, distance_m: float = 0.0) -> list[MissionItem]:
        """Take the items that are to be done now, so far from the end of the leg."""
        ready: list[MissionItem] = []
        while self.pending:
            item = self.items()[self.pending[0]]
            if item.command == MissionCommand.CONDITION_DELAY:
                if self.delay_until_us < 0:
                    self.delay_until_us = now_us + int(item.param1 * 1e6)
                if now_us < self.delay_until_us:
                    break
                self.delay_until_us = -1
            elif item.command == MissionCommand.CONDITION_DISTANCE:
                if distance_m > item.param1:
                    break
            else:
                ready.append(item)
            self.pending = self.pending[1:]
        return ready

    def _search(self, seq: int, jumps_left: dict[str, int]) -> tuple[int, list[int]]:
        """Return (next item to drive or 0, items to be done on the way)."""
        items = self.items()
        pending: list[int] = []
        jumps = 0
        while 0 < seq < len(items):
            item = items[seq]
            if item.command in NAV_COMMANDS:
                return seq, pending
            if item.command in _JUMPS and jumps < _MAX_JUMPS:
                key = str(seq)
                left = jumps_left.setdefault(key, int(item.param2))
                if left != 0:
                    jumps += 1
                    # -1 jumps without end.
                    jumps_left[key] = left - 1 if left > 0 else left
                    seq = jump_target(items, item)
                    continue
            elif item.command not in _JUMPS and item.command != MissionCommand.JUMP_TAG:
                pending.append(seq)
            seq += 1
        return 0, pending
