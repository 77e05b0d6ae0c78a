"""Reads QGroundControl's .plan and the older .waypoints files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import floor, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pico_gz.core.ground_control import MissionItem, MissionType
from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot.mission import MissionCommand, known_commands

_WAYPOINTS_HEADER = "QGC WPL 110"
_WAYPOINTS_COLUMNS = 12
_MAX_BYTES = 5_000_000

Items = tuple[MissionItem, ...]


class ItemLists(NamedTuple):
    """What a mission file holds; item 0 of ``mission`` is home."""

    mission: Items
    fence: Items = ()
    rally: Items = ()


def read_mission_file(path: Path) -> Items:
    """Read the mission of a ``.plan`` or ``.waypoints`` file; item 0 is home.

    Raises:
        ConfigError: it cannot be read or is not such a file; names the file and the item.
    """
    return read_item_lists(path).mission


def read_item_lists(path: Path) -> ItemLists:
    """Read mission, fence and rally points; raises like ``read_mission_file``."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"Mission file {path} is larger than {_MAX_BYTES} bytes.")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Mission file {path} cannot be read: {error}.") from error
    try:
        if text.lstrip().startswith("{"):
            return _read_plan(text)
        return _lists_of(_read_waypoints(text))
    except ConfigError as error:
        raise ConfigError(f"Mission file {path}: {error.message}", hint=error.hint) from None


def _lists_of(items: Items) -> ItemLists:
    """Which list the items of a ``.waypoints`` file are: such files hold one kind only."""
    commands = {item.command for item in items}
    if commands and commands <= known_commands(MissionType.FENCE):
        return ItemLists((), fence=items)
    if commands and commands <= known_commands(MissionType.RALLY):
        return ItemLists((), rally=items)
    return ItemLists(items)


# --- .waypoints -------------------------------------------------------------------------------


def _read_waypoints(text: str) -> Items:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or lines[0].strip() != _WAYPOINTS_HEADER:
        raise ConfigError(
            "it is neither a plan nor a waypoint file.",
            hint=f"A .waypoints file begins with {_WAYPOINTS_HEADER!r}, a .plan file with '{{'.",
        )
    items = []
    for seq, line in enumerate(lines[1:]):
        parts = line.split()
        if len(parts) != _WAYPOINTS_COLUMNS:
            raise ConfigError(f"item {seq} has {len(parts)} columns, not {_WAYPOINTS_COLUMNS}.")
        numbers = [_number(part, seq) for part in parts]
        if numbers[0] != seq:
            raise ConfigError(
                f"item {seq} has the number {parts[0]}.",
                hint="Items are numbered 0, 1, 2 and so on, without a gap; item 0 is home.",
            )
        items.append(
            MissionItem(
                seq=seq,
                frame=_whole(numbers[2], seq),
                command=_whole(numbers[3], seq),
                param1=numbers[4],
                param2=numbers[5],
                param3=numbers[6],
                param4=numbers[7],
                lat_e7=_e7(numbers[8], seq),
                lon_e7=_e7(numbers[9], seq),
                alt_m=numbers[10],
                autocontinue=bool(numbers[11]),
            )
        )
    return tuple(items)


# --- .plan ------------------------------------------------------------------------------------


def _read_plan(text: str) -> ItemLists:
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"it is no JSON: {error}.") from None
    if not isinstance(plan, dict) or plan.get("fileType") != "Plan":
        raise ConfigError('it has no "fileType": "Plan".')
    mission = _part(plan, "mission")
    home = _place(mission.get("plannedHomePosition", [0.0, 0.0, 0.0]), 0)
    items = [
        MissionItem(
            seq=0, command=MissionCommand.NAV_WAYPOINT, frame=0,
            lat_e7=home[0], lon_e7=home[1], alt_m=home[2],
        )
    ]  # fmt: skip
    for entry in _simple_items(mission.get("items", [])):
        items.append(_item_of_plan(entry, len(items)))
    fence, rally = _part(plan, "geoFence"), _part(plan, "rallyPoints")
    try:
        return ItemLists(tuple(items), _fence_of_plan(fence), _rally_of_plan(rally))
    except (AttributeError, TypeError):
        raise ConfigError("its fence or rally points are not as in a plan.") from None


def _part(plan: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = plan.get(name, {})
    if not isinstance(part, dict):
        raise ConfigError(f"its {name!r} is no object.")
    return part


def _list(part: Mapping[str, Any], name: str) -> list[Any]:
    found = part.get(name, [])
    if not isinstance(found, list):
        raise ConfigError(f"its {name!r} is no list.")
    return found


def _objects(part: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = _list(part, name)
    if not all(isinstance(one, dict) for one in found):
        raise ConfigError(f"its {name!r} is no list of objects.")
    return found


def _simple_items(entries: object) -> list[Mapping[str, Any]]:
    """Flatten what a survey or corridor scan was turned into."""
    if not isinstance(entries, list):
        raise ConfigError("its list of items is no list.")
    found: list[Mapping[str, Any]] = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise ConfigError(f"item {number} is no object.")
        if entry.get("type") == "SimpleItem":
            found.append(entry)
            continue
        inner = entry.get("TransectStyleComplexItem")
        if not isinstance(inner, dict) or "Items" not in inner:
            kind = entry.get("complexItemType", entry.get("type"))
            raise ConfigError(
                f"item {number} is a {kind!r}, which cannot be driven.",
                hint="Use waypoints, or save the plan after QGroundControl has worked it out.",
            )
        found += _simple_items(inner["Items"])
    return found


def _item_of_plan(entry: Mapping[str, Any], seq: int) -> MissionItem:
    params = entry.get("params")
    if not isinstance(params, list) or len(params) != 7:
        raise ConfigError(f"item {seq} does not have 7 params.")
    numbers = [0.0 if value is None else _number(value, seq) for value in params]
    return MissionItem(
        seq=seq,
        command=_whole(entry.get("command"), seq),
        frame=_whole(entry.get("frame", 3), seq),
        autocontinue=bool(entry.get("autoContinue", True)),
        param1=numbers[0],
        param2=numbers[1],
        param3=numbers[2],
        param4=numbers[3],
        lat_e7=_e7(numbers[4], seq),
        lon_e7=_e7(numbers[5], seq),
        alt_m=numbers[6],
    )


def _fence_of_plan(fence: Mapping[str, Any]) -> Items:
    items: list[MissionItem] = []
    for circle in _objects(fence, "circles"):
        body = _part(circle, "circle")
        lat_e7, lon_e7, _ = _place(body.get("center"), len(items))
        inside = circle.get("inclusion", True)
        items.append(
            MissionItem(
                seq=len(items),
                command=(
                    MissionCommand.FENCE_CIRCLE_INCLUSION
                    if inside
                    else MissionCommand.FENCE_CIRCLE_EXCLUSION
                ),
                param1=_number(body.get("radius"), len(items)),
                lat_e7=lat_e7,
                lon_e7=lon_e7,
            )
        )
    for polygon in _objects(fence, "polygons"):
        corners = _list(polygon, "polygon")
        inside = polygon.get("inclusion", True)
        command = (
            MissionCommand.FENCE_POLYGON_INCLUSION
            if inside
            else MissionCommand.FENCE_POLYGON_EXCLUSION
        )
        for corner in corners:
            lat_e7, lon_e7, _ = _place(corner, len(items))
            items.append(
                MissionItem(
                    seq=len(items),
                    command=command,
                    param1=float(len(corners)),
                    lat_e7=lat_e7,
                    lon_e7=lon_e7,
                )
            )
    return tuple(items)


def _rally_of_plan(rally: Mapping[str, Any]) -> Items:
    places = [_place(point, seq) for seq, point in enumerate(_list(rally, "points"))]
    return tuple(
        MissionItem(seq=seq, command=MissionCommand.RALLY_POINT, lat_e7=lat, lon_e7=lon, alt_m=alt)
        for seq, (lat, lon, alt) in enumerate(places)
    )


# --- numbers ----------------------------------------------------------------------------------


def _place(value: object, seq: int) -> tuple[int, int, float]:
    if not isinstance(value, list) or len(value) not in (2, 3):
        raise ConfigError(f"item {seq} has no place [latitude, longitude].")
    numbers = [0.0 if part is None else _number(part, seq) for part in value]
    return _e7(numbers[0], seq), _e7(numbers[1], seq), numbers[2] if len(numbers) == 3 else 0.0


def _number(value: object, seq: int) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ConfigError(f"item {seq}: {value!r} is no number.") from None
    if not isfinite(number):
        raise ConfigError(f"item {seq}: {value!r} is no finite number.")
    return number


def _whole(value: object, seq: int) -> int:
    number = _number(value, seq)
    if not number.is_integer():
        raise ConfigError(f"item {seq}: {value!r} is no whole number.")
    return int(number)


def _e7(degrees: float, seq: int) -> int:
    if abs(degrees) > 180.0:
        raise ConfigError(f"item {seq}: {degrees} degrees is not on the globe.")
    return floor(degrees * 1e7 + 0.5)
