"""The three item lists of a vehicle, and what may be stored in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from pico_gz.autopilot.api import MAX_ITEMS, MissionItem, MissionResult, MissionType
from pico_gz.autopilot.commands import (
    CIRCLE_COMMANDS,
    NAV_COMMANDS,
    PLACED_COMMANDS,
    POLYGON_COMMANDS,
    Command,
)

_MISSION_FRAMES = frozenset({0, 2, 3, 5, 6, 10, 11})
_MISSION_COMMANDS = NAV_COMMANDS | {
    Command.CONDITION_DELAY,
    Command.DO_JUMP,
    Command.DO_CHANGE_SPEED,
    Command.DO_SET_HOME,
    Command.DO_SET_REVERSE,
}
_FENCE_COMMANDS = POLYGON_COMMANDS | CIRCLE_COMMANDS | {Command.FENCE_RETURN_POINT}
_MAX_LAT_E7, _MAX_LON_E7 = 900_000_000, 1_800_000_000
_MAX_ALT_M = 1e5
# Seconds, turns or jumps: some eleven days are enough for anything.
_MAX_AMOUNT = 1e6
_MAX_SPEED_MPS = 100.0
_PARAM_NAMES = ("param1", "param2", "param3", "param4")


class ItemStore:
    """Mission, fence and rally items; each list is replaced as a whole or not at all.

    Attributes:
        version: rises with every change, so that others know when to look again.
    """

    __slots__ = ("_lists", "version")

    def __init__(self) -> None:
        self._lists: dict[MissionType, tuple[MissionItem, ...]] = dict.fromkeys(MissionType, ())
        self.version = 0

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
                command=Command.NAV_WAYPOINT,
                frame=0,
                lat_e7=lat_e7,
                lon_e7=lon_e7,
                alt_m=alt_m,
            )
            self._lists[MissionType.MISSION] = (home, *mission[1:])

    def save_state(self) -> dict[str, Any]:
        """Return all lists as plain values."""
        return {
            "version": self.version,
            "lists": {
                kind.name: [msgspec.to_builtins(item) for item in items]
                for kind, items in self._lists.items()
            },
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self.version = state["version"]
        for kind in MissionType:
            saved = state["lists"][kind.name]
            self._lists[kind] = tuple(msgspec.convert(saved, list[MissionItem]))


def check_item(kind: MissionType, item: MissionItem) -> MissionResult:
    """Whether an item could be stored in a list of this kind."""
    if kind is MissionType.MISSION:
        known, placed = _MISSION_COMMANDS, item.command in PLACED_COMMANDS
    elif kind is MissionType.FENCE:
        known, placed = _FENCE_COMMANDS, True
    else:
        known, placed = frozenset({Command.RALLY_POINT}), True
    if item.command not in known:
        return MissionResult.UNSUPPORTED
    if item.frame not in _MISSION_FRAMES:
        return MissionResult.UNSUPPORTED_FRAME
    if placed and not -_MAX_LAT_E7 <= item.lat_e7 <= _MAX_LAT_E7:
        return MissionResult.INVALID_PARAM5_X
    if placed and not -_MAX_LON_E7 <= item.lon_e7 <= _MAX_LON_E7:
        return MissionResult.INVALID_PARAM6_Y
    if placed and abs(item.alt_m) > _MAX_ALT_M:
        return MissionResult.INVALID_PARAM7
    return _check_params(item)


def _check_params(item: MissionItem) -> MissionResult:
    command, first = item.command, item.param1
    if command == Command.NAV_RETURN_TO_LAUNCH:
        return MissionResult.ACCEPTED
    if not isfinite(first):
        return MissionResult.INVALID_PARAM1
    if command in (
        Command.NAV_WAYPOINT,
        Command.NAV_LOITER_TIME,
        Command.NAV_LOITER_TURNS,
        Command.CONDITION_DELAY,
    ):
        fine = 0.0 <= first <= _MAX_AMOUNT
        return MissionResult.ACCEPTED if fine else MissionResult.INVALID_PARAM1
    if command == Command.DO_JUMP and not -1.0 <= item.param2 <= _MAX_AMOUNT:
        return MissionResult.INVALID
    if command == Command.DO_CHANGE_SPEED and not -1.0 <= item.param2 <= _MAX_SPEED_MPS:
        return MissionResult.INVALID
    if command in CIRCLE_COMMANDS and first <= 0.0:
        return MissionResult.INVALID_PARAM1
    if command in POLYGON_COMMANDS and not 3.0 <= first <= MAX_ITEMS:
        return MissionResult.INVALID_PARAM1
    return MissionResult.ACCEPTED


def _jumps_inside(items: Sequence[MissionItem]) -> bool:
    return all(
        0 < item.param1 < len(items) for item in items[1:] if item.command == Command.DO_JUMP
    )


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
