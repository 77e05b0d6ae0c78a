"""Missions of a run: the examples, shifting, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, inf, pi
from pathlib import Path

import msgspec

from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import GcsVehicle, MissionItem, MissionType
from pico_gz.core.vehicle_config import DriveKind, Pose
from pico_gz.vehicle.autopilot.mission import PLACED_COMMANDS, MissionCommand
from pico_gz.vehicle.autopilot.mission_files import ItemLists
from pico_gz.vehicle.circuit import EXPECTED_S
from pico_gz.vehicle.scripted import (
    CRUISE_SPEED_MPS,
    Drive,
    Move,
    Pivot,
    is_circuit,
    script_moves,
)

_EXAMPLES = Path(__file__).with_name("example_missions")
_WALKED_ITEMS = 100_000  # a mission with more jumps than this counts as endless
_CIRCLE_RADIUS_M = 20.0  # CIRC_RADIUS of ArduRover
_SLOWEST_MPS = 0.05


def example_missions() -> dict[str, Path]:
    """The missions that ship with the kit, by name."""
    return {path.stem: path for path in sorted(_EXAMPLES.iterdir())}


def find_mission(wanted: str | Path) -> tuple[Path, bool]:
    """The mission file that is meant, and whether it is an example of the kit.

    A file of that name wins over an example.
    """
    path = Path(wanted)
    if not path.exists() and path.name == str(wanted):
        known = example_missions()
        if str(wanted) in known:
            return known[str(wanted)], True
    return path, False


def shifted(lists: ItemLists, frame: LocalFrame, start: Pose, first_start: Pose) -> ItemLists:
    """Mission, fence and rally points moved by ``start`` minus the plan's home.

    A plan without a home is taken as made for ``first_start``, the start of the first rover.
    """
    home = lists.mission[0] if lists.mission else None
    if home is not None and (home.lat_e7 or home.lon_e7):
        plan_frame = LocalFrame(home.lat_e7 / 1e7, home.lon_e7 / 1e7, frame.alt_m)
        north_m, east_m = start.north_m, start.east_m
    else:
        plan_frame = frame
        north_m, east_m = start.north_m - first_start.north_m, start.east_m - first_start.east_m

    def move(item: MissionItem) -> MissionItem:
        if not (item.lat_e7 or item.lon_e7):
            return item
        here_m = _ned(plan_frame, item)
        lat_deg, lon_deg, _ = frame.geodetic_from_ned(here_m[0] + north_m, here_m[1] + east_m, 0.0)
        return msgspec.structs.replace(
            item, lat_e7=round(lat_deg * 1e7), lon_e7=round(lon_deg * 1e7)
        )

    return ItemLists(*(tuple(move(item) for item in items) for items in lists))


def mission_time_s(pilot: GcsVehicle, frame: LocalFrame, start: Pose) -> float:
    """How long a stored mission takes at cruise speed [s]; inf for one without an end."""
    items = pilot.missions.items(MissionType.MISSION)
    speed_mps = _param(pilot, "WP_SPEED") or _param(pilot, "CRUISE_SPEED")
    return _Walk(items, frame, start, speed_mps, _param(pilot, "CIRC_RADIUS")).time_s()


def items_time_s(
    items: Sequence[MissionItem], frame: LocalFrame, start: Pose, speed_mps: float
) -> float:
    """How long a mission takes at this speed, with ArduRover's own circles [s]."""
    return _Walk(items, frame, start, speed_mps, _CIRCLE_RADIUS_M).time_s()


class _Walk:
    """Goes through the items of a mission as AUTO does and adds up the time."""

    def __init__(
        self,
        items: Sequence[MissionItem],
        frame: LocalFrame,
        start: Pose,
        speed_mps: float,
        radius_m: float,
    ) -> None:
        self._items = items
        self._frame = frame
        self._start_m = (start.north_m, start.east_m)
        self._here_m = self._start_m
        self._speed_mps = max(speed_mps, _SLOWEST_MPS)
        self._radius_m = radius_m
        self._jumps_left: dict[int, int] = {}

    def time_s(self) -> float:
        total_s, seq = 0.0, 1
        for _ in range(_WALKED_ITEMS):
            if not 0 < seq < len(self._items):
                return total_s
            item = self._items[seq]
            if item.command == MissionCommand.DO_JUMP and self._jumps(item):
                seq = int(item.param1)
                continue
            total_s += self._item_s(item)
            seq += 1
        return inf

    def _jumps(self, item: MissionItem) -> bool:
        left = self._jumps_left.setdefault(item.seq, int(item.param2))
        self._jumps_left[item.seq] = left - 1 if left > 0 else left
        return left != 0

    def _item_s(self, item: MissionItem) -> float:
        command = item.command
        if command == MissionCommand.DO_CHANGE_SPEED and item.param2 > 0.0:
            self._speed_mps = max(item.param2, _SLOWEST_MPS)
        if command == MissionCommand.NAV_LOITER_UNLIM:
            return inf
        seconds = self._leg_s(item)
        if command in (
            MissionCommand.NAV_WAYPOINT,
            MissionCommand.NAV_LOITER_TIME,
            MissionCommand.CONDITION_DELAY,
        ):
            seconds += item.param1
        elif command == MissionCommand.NAV_LOITER_TURNS:
            radius_m = abs(item.param3) or self._radius_m
            seconds += max(item.param1, 0.0) * 2.0 * pi * radius_m / self._speed_mps
        return seconds

    def _leg_s(self, item: MissionItem) -> float:
        if item.command == MissionCommand.NAV_RETURN_TO_LAUNCH:
            there_m = self._start_m
        elif item.command in PLACED_COMMANDS - {MissionCommand.DO_SET_HOME} and (
            item.lat_e7 or item.lon_e7
        ):
            there_m = _ned(self._frame, item)
        else:
            return 0.0
        length_m = hypot(there_m[0] - self._here_m[0], there_m[1] - self._here_m[1])
        self._here_m = there_m
        return length_m / self._speed_mps


def script_time_s(script: str, drive: DriveKind) -> float:
    """How long a script such as ``script:square:5`` takes [s]; inf for one without an end."""
    if is_circuit(script):
        return EXPECTED_S
    return sum(_move_s(move) for move in script_moves(script, drive))


def _move_s(move: Move) -> float:
    if isinstance(move, Drive):
        return move.length_m / CRUISE_SPEED_MPS
    return abs(move.angle_rad) if isinstance(move, Pivot) else move.duration_s


def _ned(frame: LocalFrame, item: MissionItem) -> tuple[float, float]:
    lat_deg, lon_deg = item.lat_e7 / 1e7, item.lon_e7 / 1e7
    north_m, east_m, _ = frame.ned_from_geodetic(lat_deg, lon_deg, frame.alt_m)
    return north_m, east_m


def _param(pilot: GcsVehicle, name: str) -> float:
    found = pilot.params.by_name(name)
    return found.value if found is not None else 0.0
