"""Which mission item comes next: a small machine that drives nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from pico_gz.autopilot.api import MissionItem, MissionType
from pico_gz.autopilot.commands import NAV_COMMANDS, PLACED_COMMANDS, Command
from pico_gz.autopilot.mission import ItemStore
from pico_gz.state import Stateful

# A mission that only jumps would never come to an item to drive to.
_MOST_JUMPS = 100


class MissionState(IntEnum):
    """``MISSION_STATE`` of MAVLink."""

    NO_MISSION = 1
    NOT_STARTED = 2
    ACTIVE = 3
    PAUSED = 4
    COMPLETE = 5


class MissionRunner(Stateful):
    """Walks through the mission: one item to drive, and what is to be done on the way.

    DO and CONDITION items between two waypoints run, in order, while the rover drives from
    the first to the second; a CONDITION holds up those after it.

    Attributes:
        current: the item being driven, 0 before the start.
        state: as MAVLink tells it.
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
        """The current item is done: go on; false at the end of the mission."""
        return self.start_at(self.current + 1)

    def next_place(self) -> MissionItem | None:
        """The place that follows the current item, for rounding its corner."""
        found, pending = self._search(self.current + 1, dict(self.jumps_left))
        if found == 0 or any(
            self.items()[seq].command == Command.DO_SET_REVERSE for seq in pending
        ):
            return None
        item = self.items()[found]
        placed = item.command in PLACED_COMMANDS and (item.lat_e7 or item.lon_e7)
        return item if placed else None

    def due(self, now_us: int) -> list[MissionItem]:
        """Take the items that are to be done now."""
        ready: list[MissionItem] = []
        while self.pending:
            item = self.items()[self.pending[0]]
            if item.command == Command.CONDITION_DELAY:
                if self.delay_until_us < 0:
                    self.delay_until_us = now_us + int(item.param1 * 1e6)
                if now_us < self.delay_until_us:
                    break
                self.delay_until_us = -1
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
            if item.command == Command.DO_JUMP and jumps < _MOST_JUMPS:
                key = str(seq)
                left = jumps_left.setdefault(key, int(item.param2))
                if left != 0:
                    jumps += 1
                    # -1 jumps for ever.
                    jumps_left[key] = left - 1 if left > 0 else left
                    seq = int(item.param1)
                    continue
            elif item.command != Command.DO_JUMP:
                pending.append(seq)
            seq += 1
        return 0, pending
