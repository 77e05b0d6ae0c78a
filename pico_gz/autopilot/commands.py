"""The item commands this autopilot knows, by their MAVLink numbers."""

from __future__ import annotations

from enum import IntEnum


class Command(IntEnum):
    """``MAV_CMD`` numbers of mission, fence and rally items."""

    NAV_WAYPOINT = 16
    NAV_LOITER_UNLIM = 17
    NAV_LOITER_TURNS = 18
    NAV_LOITER_TIME = 19
    NAV_RETURN_TO_LAUNCH = 20
    CONDITION_DELAY = 112
    DO_JUMP = 177
    DO_CHANGE_SPEED = 178
    DO_SET_HOME = 179
    DO_SET_REVERSE = 194
    FENCE_RETURN_POINT = 5000
    FENCE_POLYGON_INCLUSION = 5001
    FENCE_POLYGON_EXCLUSION = 5002
    FENCE_CIRCLE_INCLUSION = 5003
    FENCE_CIRCLE_EXCLUSION = 5004
    RALLY_POINT = 5100


NAV_COMMANDS = frozenset(
    {
        Command.NAV_WAYPOINT,
        Command.NAV_LOITER_UNLIM,
        Command.NAV_LOITER_TURNS,
        Command.NAV_LOITER_TIME,
        Command.NAV_RETURN_TO_LAUNCH,
    }
)
# Commands whose latitude and longitude mean a place.
PLACED_COMMANDS = (NAV_COMMANDS - {Command.NAV_RETURN_TO_LAUNCH}) | {Command.DO_SET_HOME}
POLYGON_COMMANDS = frozenset({Command.FENCE_POLYGON_INCLUSION, Command.FENCE_POLYGON_EXCLUSION})
CIRCLE_COMMANDS = frozenset({Command.FENCE_CIRCLE_INCLUSION, Command.FENCE_CIRCLE_EXCLUSION})
