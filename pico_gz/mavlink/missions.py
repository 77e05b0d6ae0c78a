"""The mission service: upload, download, clear."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pico_gz.core.ground_control import MAX_ITEMS, MissionItem, MissionResult, MissionType, Result
from pico_gz.mavlink.codec import Message, mav, sender_of
from pico_gz.mavlink.endpoint import Handler, Service, VehicleEndpoint
from pico_gz.mavlink.links import Channel

# Heights over home.
RELATIVE_FRAMES = frozenset(
    {mav.MAV_FRAME_GLOBAL_RELATIVE_ALT, mav.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT}
)
# A rover is on the ground in all of them: latitude and longitude are what counts.
GLOBAL_FRAMES = RELATIVE_FRAMES | {
    mav.MAV_FRAME_GLOBAL,
    mav.MAV_FRAME_GLOBAL_INT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT_INT,
}
# The "_INT" frames mean the same place; one number per meaning is stored.
_PLAIN_FRAME = {
    mav.MAV_FRAME_GLOBAL_INT: mav.MAV_FRAME_GLOBAL,
    mav.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT: mav.MAV_FRAME_GLOBAL_RELATIVE_ALT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT_INT: mav.MAV_FRAME_GLOBAL_TERRAIN_ALT,
}
_MAX_LAT_E7 = 900_000_000
_MAX_LON_E7 = 1_800_000_000
_I32_MAX = 2**31 - 1
_RETRY_US = 1_000_000
_TRIES = 5
_ALL_TYPES = 255
_GUIDED_ITEM = 2


def is_place(lat_e7: float, lon_e7: float) -> bool:
    """Whether these are somewhere; 0/0 is what a ground station sends that has no place."""
    in_range = abs(lat_e7) <= _MAX_LAT_E7 and abs(lon_e7) <= _MAX_LON_E7
    return in_range and not lat_e7 == lon_e7 == 0


def item_from_message(message: Message) -> MissionItem | MissionResult:
    """Read MISSION_ITEM or MISSION_ITEM_INT; a number that cannot be is its own refusal."""
    if message.get_msgId() == mav.MAVLINK_MSG_ID_MISSION_ITEM_INT:
        lat_e7, lon_e7 = message.x, message.y
    else:
        scaled = _scaled(message)
        if isinstance(scaled, MissionResult):
            return scaled
        lat_e7, lon_e7 = scaled
    if message.frame in GLOBAL_FRAMES:
        if abs(lat_e7) > _MAX_LAT_E7:
            return MissionResult.INVALID_PARAM5_X
        if abs(lon_e7) > _MAX_LON_E7:
            return MissionResult.INVALID_PARAM6_Y
    if not math.isfinite(message.z):
        return MissionResult.INVALID_PARAM7
    params = (message.param1, message.param2, message.param3, message.param4)
    if any(math.isinf(value) for value in params):
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
    """Build MISSION_ITEM_INT, or MISSION_ITEM to answer the old request."""
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


@dataclass(slots=True, eq=False)
class _Upload:
    """An upload under way: items ``first..last`` of a list that keeps ``before`` and ``after``."""

    channel: Channel
    requester: tuple[int, int]
    kind: MissionType
    first: int
    last: int
    before: tuple[MissionItem, ...]
    after: tuple[MissionItem, ...]
    items: list[MissionItem] = field(default_factory=list)
    tries: int = 0

    @property
    def expected(self) -> int:
        """Return the number of the item that is wanted next."""
        return self.first + len(self.items)


class MissionService(Service):
    """Item lists of one vehicle; any number of readers, one writer at a time."""

    def __init__(self, endpoint: VehicleEndpoint) -> None:
        super().__init__(endpoint)
        self._upload: _Upload | None = None

    def handlers(self) -> dict[int, Handler]:
        return {
            mav.MAVLINK_MSG_ID_MISSION_COUNT: self._on_count,
            mav.MAVLINK_MSG_ID_MISSION_WRITE_PARTIAL_LIST: self._on_partial,
            mav.MAVLINK_MSG_ID_MISSION_ITEM: self._on_item,
            mav.MAVLINK_MSG_ID_MISSION_ITEM_INT: self._on_item,
            mav.MAVLINK_MSG_ID_MISSION_REQUEST_LIST: self._on_request_list,
            mav.MAVLINK_MSG_ID_MISSION_REQUEST: self._on_request,
            mav.MAVLINK_MSG_ID_MISSION_REQUEST_INT: self._on_request,
            mav.MAVLINK_MSG_ID_MISSION_ACK: self._on_ack,
            mav.MAVLINK_MSG_ID_MISSION_CLEAR_ALL: self._on_clear,
            mav.MAVLINK_MSG_ID_MISSION_SET_CURRENT: self._on_set_current,
        }

    def forget(self, channel: Channel) -> None:
        """Drop the upload of a receiver that is gone; the old list stays."""
        if self._upload is not None and self._upload.channel is channel:
            self._upload = None

    # --- upload ---------------------------------------------------------------------------

    def _on_count(self, message: Message, channel: Channel) -> None:
        kind = self._writable_kind(message, channel)
        if kind is None:
            return
        if message.count > MAX_ITEMS:
            self._ack(channel, message, MissionResult.NO_SPACE)
        elif message.count == 0:
            self._upload = None
            self._ack(channel, message, self._vehicle.missions.clear(kind))
            self._endpoint.vehicle_changed()
        else:
            self._begin(message, channel, kind, (0, message.count - 1), ((), ()))

    def _on_partial(self, message: Message, channel: Channel) -> None:
        kind = self._writable_kind(message, channel)
        if kind is None:
            return
        items = tuple(self._vehicle.missions.items(kind))
        first, last = message.start_index, message.end_index
        if not 0 <= first <= last < len(items):
            self._ack(channel, message, MissionResult.INVALID_SEQUENCE)
            return
        self._begin(message, channel, kind, (first, last), (items[:first], items[last + 1 :]))

    def _begin(
        self,
        message: Message,
        channel: Channel,
        kind: MissionType,
        span: tuple[int, int],
        around: tuple[tuple[MissionItem, ...], tuple[MissionItem, ...]],
    ) -> None:
        self._upload = _Upload(channel, sender_of(message), kind, *span, *around)
        self._request(self._upload)

    def _request(self, upload: _Upload) -> None:
        """Ask for the next item, and again while it does not come."""
        # A MAVLink 1 ground station may not know the integer form of the request.
        build = (
            mav.MAVLink_mission_request_message
            if upload.channel.peer.v1
            else mav.MAVLink_mission_request_int_message
        )
        message = build(*upload.requester, upload.expected, int(upload.kind))
        self._endpoint.reply(upload.channel, message)
        upload.tries += 1
        expected = upload.expected
        due_us = self._endpoint.schedule.wall_us + _RETRY_US
        self._endpoint.schedule.at_wall(due_us, lambda: self._retry(upload, expected))

    def _retry(self, upload: _Upload, expected: int) -> None:
        if upload is not self._upload or upload.expected != expected:
            return
        if upload.tries >= _TRIES:
            self._finish(upload, MissionResult.CANCELLED)
        else:
            self._request(upload)

    def _on_item(self, message: Message, channel: Channel) -> None:
        if message.current == _GUIDED_ITEM:
            self._on_guided_item(message, channel)
            return
        upload = self._upload
        if upload is None or upload.channel is not channel:
            self._ack(channel, message, MissionResult.DENIED if upload else MissionResult.ERROR)
            return
        if message.mission_type != upload.kind:
            self._ack(channel, message, MissionResult.INVALID)
        elif message.seq < upload.expected and message.seq >= upload.first:
            return  # a repetition of what we have, after a repeated request
        elif message.seq != upload.expected:
            self._ack(channel, message, MissionResult.INVALID_SEQUENCE)
        else:
            self._take(upload, item_from_message(message))

    def _take(self, upload: _Upload, item: MissionItem | MissionResult) -> None:
        if isinstance(item, MissionResult):
            self._finish(upload, item)
            return
        verdict = self._vehicle.missions.check(upload.kind, item)
        if verdict is not MissionResult.ACCEPTED:
            self._finish(upload, verdict)
            return
        upload.items.append(item)
        upload.tries = 0
        if upload.expected <= upload.last:
            self._request(upload)
            return
        whole_list = (*upload.before, *upload.items, *upload.after)
        self._finish(upload, self._vehicle.missions.replace(upload.kind, whole_list))

    def _finish(self, upload: _Upload, result: MissionResult) -> None:
        self._upload = None
        ack = mav.MAVLink_mission_ack_message(*upload.requester, int(result), int(upload.kind))
        self._endpoint.reply(upload.channel, ack)
        self._endpoint.vehicle_changed()

    def _on_guided_item(self, message: Message, channel: Channel) -> None:
        """Take the old form of a guided target: a lone item with ``current`` 2."""
        item = item_from_message(message)
        if isinstance(item, MissionItem):
            done = self._vehicle.guided.to_global(item.lat_e7, item.lon_e7)
            item = MissionResult.ACCEPTED if done is Result.ACCEPTED else MissionResult.DENIED
        self._ack(channel, message, item)
        self._endpoint.vehicle_changed()

    # --- download and the rest --------------------------------------------------------------

    def _on_request_list(self, message: Message, channel: Channel) -> None:
        kind = _kind_of(message)
        if kind is None:
            self._ack(channel, message, MissionResult.UNSUPPORTED)
            return
        count = len(self._vehicle.missions.items(kind))
        self._endpoint.reply(
            channel, mav.MAVLink_mission_count_message(*sender_of(message), count, int(kind))
        )

    def _on_request(self, message: Message, channel: Channel) -> None:
        kind = _kind_of(message)
        if kind is None:
            self._ack(channel, message, MissionResult.UNSUPPORTED)
            return
        items = self._vehicle.missions.items(kind)
        if message.seq >= len(items):
            self._ack(channel, message, MissionResult.INVALID_SEQUENCE)
            return
        as_int = message.get_msgId() == mav.MAVLINK_MSG_ID_MISSION_REQUEST_INT
        item = item_to_message(items[message.seq], kind, sender_of(message), as_int=as_int)
        self._endpoint.reply(channel, item)

    def _on_ack(self, message: Message, channel: Channel) -> None:
        """End an upload that its own sender cancels; the end of a download needs nothing."""
        if message.type == MissionResult.CANCELLED:
            self.forget(channel)

    def _on_clear(self, message: Message, channel: Channel) -> None:
        if self._is_busy_for(channel):
            self._ack(channel, message, MissionResult.DENIED)
            return
        if message.mission_type == _ALL_TYPES:
            kinds = list(MissionType)
        else:
            kind = _kind_of(message)
            kinds = [] if kind is None else [kind]
        result = MissionResult.ACCEPTED if kinds else MissionResult.UNSUPPORTED
        if kinds:
            self._upload = None
        for kind in kinds:
            result = max(result, self._vehicle.missions.clear(kind))
        self._ack(channel, message, result)
        self._endpoint.vehicle_changed()

    def _on_set_current(self, message: Message, channel: Channel) -> None:
        """Change the current item; the answer is what holds now, changed or not."""
        self._vehicle.missions.set_current(message.seq)
        self._endpoint.vehicle_changed()
        current = self._endpoint.packed(mav.MAVLINK_MSG_ID_MISSION_CURRENT)
        if current is not None:
            channel.send(current)

    def _writable_kind(self, message: Message, channel: Channel) -> MissionType | None:
        """Return which list the sender may write now; otherwise refuse and return None."""
        kind = _kind_of(message)
        if kind is None:
            self._ack(channel, message, MissionResult.UNSUPPORTED)
        elif self._is_busy_for(channel):
            self._ack(channel, message, MissionResult.DENIED)
        else:
            return kind
        return None

    def _is_busy_for(self, channel: Channel) -> bool:
        return self._upload is not None and self._upload.channel is not channel

    def _ack(self, channel: Channel, message: Message, result: MissionResult) -> None:
        self._endpoint.reply(
            channel,
            mav.MAVLink_mission_ack_message(*sender_of(message), int(result), message.mission_type),
        )


def _kind_of(message: Message) -> MissionType | None:
    try:
        return MissionType(message.mission_type)
    except ValueError:
        return None
