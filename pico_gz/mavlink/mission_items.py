"""Mission items between the wire and the autopilot."""

from __future__ import annotations

import math

from pico_gz.autopilot.api import MissionItem, MissionResult, MissionType
from pico_gz.mavlink.codec import Message, mav

_GLOBAL_FRAMES = frozenset(
    {
        mav.MAV_FRAME_GLOBAL,
        mav.MAV_FRAME_GLOBAL_RELATIVE_ALT,
        mav.MAV_FRAME_GLOBAL_INT,
        mav.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
        mav.MAV_FRAME_GLOBAL_TERRAIN_ALT,
        mav.MAV_FRAME_GLOBAL_TERRAIN_ALT_INT,
    }
)
# The "_INT" frames mean the same place; one number per meaning is stored.
_PLAIN_FRAME = {
    mav.MAV_FRAME_GLOBAL_INT: mav.MAV_FRAME_GLOBAL,
    mav.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT: mav.MAV_FRAME_GLOBAL_RELATIVE_ALT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT_INT: mav.MAV_FRAME_GLOBAL_TERRAIN_ALT,
}
_MAX_LAT_E7 = 900_000_000
_MAX_LON_E7 = 1_800_000_000
_I32_MAX = 2**31 - 1


def item_from_message(message: Message) -> MissionItem | MissionResult:
    """Read MISSION_ITEM or MISSION_ITEM_INT; a number that cannot be is its own refusal."""
    if message.get_msgId() == mav.MAVLINK_MSG_ID_MISSION_ITEM_INT:
        lat_e7, lon_e7 = message.x, message.y
    else:
        scaled = _scaled(message)
        if isinstance(scaled, MissionResult):
            return scaled
        lat_e7, lon_e7 = scaled
    if message.frame in _GLOBAL_FRAMES:
        if abs(lat_e7) > _MAX_LAT_E7:
            return MissionResult.INVALID_PARAM5_X
        if abs(lon_e7) > _MAX_LON_E7:
            return MissionResult.INVALID_PARAM6_Y
    if not math.isfinite(message.z):
        return MissionResult.INVALID_PARAM7
    if any(math.isinf(value) for value in _params(message)):
        return MissionResult.INVALID
    return MissionItem(
        seq=message.seq,
        command=message.command,
        frame=_PLAIN_FRAME.get(message.frame, message.frame),
        current=bool(message.current),
        autocontinue=bool(message.autocontinue),
        param1=message.param1,
        param2=message.param2,
        param3=message.param3,
        param4=message.param4,
        lat_e7=lat_e7,
        lon_e7=lon_e7,
        alt_m=message.z,
    )


def _params(message: Message) -> tuple[float, float, float, float]:
    return message.param1, message.param2, message.param3, message.param4


def _scaled(message: Message) -> tuple[int, int] | MissionResult:
    """Return x and y of the float form in 1e-7 degrees."""
    if not math.isfinite(message.x) or abs(message.x) * 1e7 > _I32_MAX:
        return MissionResult.INVALID_PARAM5_X
    if not math.isfinite(message.y) or abs(message.y) * 1e7 > _I32_MAX:
        return MissionResult.INVALID_PARAM6_Y
    return math.floor(message.x * 1e7 + 0.5), math.floor(message.y * 1e7 + 0.5)


def item_to_message(
    item: MissionItem, kind: MissionType, receiver: tuple[int, int], *, as_int: bool
) -> Message:
    """Build MISSION_ITEM_INT, or MISSION_ITEM for those who asked with the old request."""
    head = (
        *receiver,
        item.seq,
        item.frame,
        item.command,
        int(item.current),
        int(item.autocontinue),
        item.param1,
        item.param2,
        item.param3,
        item.param4,
    )
    if as_int:
        return mav.MAVLink_mission_item_int_message(
            *head, item.lat_e7, item.lon_e7, item.alt_m, int(kind)
        )
    return mav.MAVLink_mission_item_message(
        *head, item.lat_e7 * 1e-7, item.lon_e7 * 1e-7, item.alt_m, int(kind)
    )
