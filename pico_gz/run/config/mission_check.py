"""Says why the built-in autopilot refuses a mission, item by item."""

from __future__ import annotations

from collections.abc import Sequence
from math import asin, cos, radians, sin, sqrt

from pico_gz.core.ground_control import MAX_ITEMS, MissionItem, MissionResult, MissionType
from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot.mission import (
    MAX_SPEED_MPS,
    PLACED_COMMANDS,
    SKIPPED_COMMANDS,
    ItemStore,
    MissionCommand,
    check_item,
    jump_target,
    known_commands,
)
from pico_gz.vehicle.autopilot.mission_files import ItemLists

MAX_DISTANCE_M = 100_000.0
# MAV_CMD: those that drive come first; ArduPilot has a few more, which external autopilots take.
_NAV_LAST = 95
_NAV_BEYOND = (213, 42702)
_EARTH_RADIUS_M = 6_371_000.0
_MAX_ITEMS_NAMED = 5
_PLACES = {
    MissionResult.INVALID_PARAM5_X: "latitude {lat}: allowed are -90..90 degrees",
    MissionResult.INVALID_PARAM6_Y: "longitude {lon}: allowed are -180..180 degrees",
    MissionResult.INVALID_PARAM7: "altitude {item.alt_m:g}: allowed are 100000 m up or down",
    MissionResult.UNSUPPORTED_FRAME: "frame {item.frame}: allowed are 0, 2, 3, 5, 6, 10 and 11",
}
# What the first parameter is, for those commands that check it.
_FIRST = {
    MissionCommand.NAV_WAYPOINT: "a delay of 0..1000000 s",
    MissionCommand.NAV_LOITER_TIME: "0..1000000 s",
    MissionCommand.NAV_LOITER_TURNS: "0..1000000 turns",
    MissionCommand.CONDITION_DELAY: "0..1000000 s",
    MissionCommand.FENCE_CIRCLE_INCLUSION: "a radius above 0 m",
    MissionCommand.FENCE_CIRCLE_EXCLUSION: "a radius above 0 m",
    MissionCommand.FENCE_POLYGON_INCLUSION: "3 corners or more",
    MissionCommand.FENCE_POLYGON_EXCLUSION: "3 corners or more",
}
_SECOND = {
    MissionCommand.DO_JUMP: "-1 (without end)..1000000 times",
    MissionCommand.DO_CHANGE_SPEED: f"-1 (no change)..{MAX_SPEED_MPS:g} m/s",
}
_WHOLE_LIST = {
    MissionResult.NO_SPACE: f"it has more than {MAX_ITEMS} items",
    MissionResult.INVALID_SEQUENCE: "its items are not numbered 0, 1, 2 and so on",
    MissionResult.INVALID: "a polygon has other corners than its first one announces",
}


def require_items(kind: MissionType, items: Sequence[MissionItem], what: str) -> None:
    """Refuse a list of items that the built-in autopilot would refuse.

    Args:
        kind: what the items are.
        items: the whole list.
        what: whose list it is, to begin the message with.

    Raises:
        ConfigError: names every such item, its command and what is allowed.
    """
    reasons = refusals(kind, items)
    if reasons:
        more = len(reasons) - _MAX_ITEMS_NAMED
        named = "; ".join(reasons[:_MAX_ITEMS_NAMED]) + (f"; and {more} more" if more > 0 else "")
        raise ConfigError(f"{what}: {named}.", hint=_allowed(kind, items))


def refusals(kind: MissionType, items: Sequence[MissionItem]) -> list[str]:
    """Why the built-in autopilot refuses these items, one reason per item; empty: it does not."""
    # Item 0 of a mission is home, whatever it holds.
    checked = items[1:] if kind is MissionType.MISSION else items
    reasons = [
        f"item {item.seq}, {command_name(item.command)}: {_reason(result, item)}"
        for item in checked
        if (result := check_item(kind, item)) is not MissionResult.ACCEPTED
    ]
    if reasons:
        return reasons
    result = ItemStore().replace(kind, items)
    if result is MissionResult.INVALID_PARAM1:
        last = len(items) - 1
        return [
            f"item {item.seq}, {command_name(item.command)}: there is no item {item.param1:g}"
            f" to jump to, only 1..{last}"
            for item in checked
            if item.command == MissionCommand.DO_JUMP and not 0 < item.param1 <= last
        ] + [
            f"item {item.seq}, {command_name(item.command)}: there is no tag {item.param1:g}"
            for item in checked
            if item.command == MissionCommand.DO_JUMP_TAG and not jump_target(items, item)
        ]
    if result is not MissionResult.ACCEPTED:
        return [_WHOLE_LIST.get(result, result.name.lower())]
    return []


def lacks_a_goal(lists: ItemLists) -> bool:
    """Whether a file holds nothing to drive to; a fence or rally points alone are of use."""
    if any(_is_driven_to(item) for item in lists.mission[1:]):
        return False
    return len(lists.mission) > 1 or not (lists.fence or lists.rally)


def _is_driven_to(item: MissionItem) -> bool:
    """Whether an item moves a rover; a waypoint at 0, 0 is wherever the rover is."""
    if item.command == MissionCommand.NAV_WAYPOINT:
        return bool(item.lat_e7 or item.lon_e7)
    if item.command in SKIPPED_COMMANDS:
        return False
    return item.command <= _NAV_LAST or item.command in _NAV_BEYOND


def far_items(
    items: Sequence[MissionItem], lat_deg: float, lon_deg: float
) -> list[tuple[MissionItem, float]]:
    """The items of a mission that lie farther away than any rover should drive, with how far."""
    found = []
    for item in items[1:]:
        if item.command in PLACED_COMMANDS and (item.lat_e7 or item.lon_e7):
            distance_m = _distance_m(lat_deg, lon_deg, item.lat_e7 * 1e-7, item.lon_e7 * 1e-7)
            if distance_m > MAX_DISTANCE_M:
                found.append((item, distance_m))
    return found


def _distance_m(lat_deg: float, lon_deg: float, lat2_deg: float, lon2_deg: float) -> float:
    """Distance on a sphere, exact enough to see that a place is far away."""
    lat, lat2 = radians(lat_deg), radians(lat2_deg)
    half_lat, half_lon = 0.5 * (lat2 - lat), 0.5 * radians(lon2_deg - lon_deg)
    chord = sin(half_lat) ** 2 + cos(lat) * cos(lat2) * sin(half_lon) ** 2
    return 2.0 * _EARTH_RADIUS_M * asin(min(1.0, sqrt(chord)))


def command_name(number: int) -> str:
    """A command as people know it: ``NAV_TAKEOFF (22)``."""
    # Imported here: the dialect takes a while, and most missions are right.
    from pico_gz.mavlink.codec import mav

    entry = mav.enums["MAV_CMD"].get(number)
    name = entry.name.removeprefix("MAV_CMD_") if entry is not None else "unknown command"
    return f"{name} ({number})"


def _reason(result: MissionResult, item: MissionItem) -> str:
    if result is MissionResult.UNSUPPORTED:
        return "the built-in autopilot does not have this command"
    if result in _PLACES:
        lat, lon = item.lat_e7 * 1e-7, item.lon_e7 * 1e-7
        return _PLACES[result].format(item=item, lat=f"{lat:g}", lon=f"{lon:g}")
    if result is MissionResult.INVALID_PARAM1:
        allowed = _FIRST.get(MissionCommand(item.command), "a finite number")
        return f"param1 = {item.param1:g}: allowed are {allowed}"
    allowed = _SECOND.get(MissionCommand(item.command), "other values")
    return f"param2 = {item.param2:g}: allowed are {allowed}"


def _allowed(kind: MissionType, items: Sequence[MissionItem]) -> str:
    """Which commands there are, when one of these is none of them."""
    known = known_commands(kind)
    checked = items[1:] if kind is MissionType.MISSION else items
    if all(item.command in known for item in checked):
        return ""
    return "Allowed: " + ", ".join(f"{MissionCommand(n).name} ({n})" for n in sorted(known)) + "."
