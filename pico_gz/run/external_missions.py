"""Uploads missions to external autopilots by MAVLink."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from pico_gz.core.ground_control import MissionItem, MissionResult, MissionType
from pico_gz.mavlink.codec import mav
from pico_gz.run.autopilot_link import AUTOPILOT_COMPONENT, AutopilotLink
from pico_gz.run.config.mission_check import command_name
from pico_gz.vehicle.autopilot.mission_files import ItemLists

log = logging.getLogger(__name__)

_RETRY_S = 1.0
# MAV_STATE: below it, an autopilot still starts or calibrates.
_READY_STATE = 3

Report = Callable[[str, int], None]


class MissionUpload:
    """Gives one external autopilot its mission, fence and rally points, once it is ready.

    Called between steps; it never waits. The lists are uploaded once per run.

    Args:
        vehicle_id: the autopilot's MAVLink system id.
        label: its name, for messages.
        address: host and TCP port where the autopilot takes a ground station.
        lists: what to upload.
        report: takes a sentence for people and its severity.
        link: a link that is polled elsewhere (``take`` gets its messages); default: one of its own.

    Attributes:
        refused: whether the autopilot refused one of the lists.
    """

    def __init__(
        self,
        vehicle_id: int,
        label: str,
        address: tuple[str, int],
        lists: ItemLists,
        report: Report,
        link: AutopilotLink | None = None,
    ) -> None:
        self._vehicle_id = vehicle_id
        self._label = label
        self._report = report
        self._link = link or AutopilotLink(vehicle_id, address)
        kinds = ((kind, getattr(lists, kind.name.lower())) for kind in MissionType)
        self._left: list[tuple[MissionType, Sequence[MissionItem]]] = [
            (kind, items) for kind, items in kinds if len(items) > (kind is MissionType.MISSION)
        ]
        self._connections = 0
        self._ready = False
        self._next_try_s = 0.0
        self.refused = False

    def is_done(self) -> bool:
        """Whether everything is uploaded, or refused."""
        return not self._left

    def __call__(self, now_us: int) -> None:
        """Take what has arrived, answer it, and repeat what was not answered."""
        if self.is_done():
            return
        for message in self._link.poll():
            self.take(message)
            if self.is_done():
                self._link.close()
                return
        self.repeat()

    def repeat(self) -> None:
        """Announce the list again if the autopilot is ready and did not ask for it."""
        if self._connections != self._link.connections:
            self._connections, self._ready = self._link.connections, False
        now_s = time.monotonic()
        if self._ready and self._left and now_s >= self._next_try_s:
            self._next_try_s = now_s + _RETRY_S
            self._announce()

    def close(self) -> None:
        """End; warns of what was never uploaded."""
        self._link.close()
        if not self.is_done():
            host, port = self._link.address
            what = ", ".join(kind.name.lower() for kind, _ in self._left)
            log.warning(
                "%s never got its %s: no autopilot took it on TCP %s:%d.",
                self._label, what, host, port,
            )  # fmt: skip

    def take(self, message: Any) -> None:
        """Take a message of the autopilot."""
        if self.is_done():
            return
        kind, items = self._left[0]
        name = message.get_type()
        if name == "HEARTBEAT":
            self._connections = self._link.connections
            self._ready = message.system_status >= _READY_STATE
        elif name in ("MISSION_REQUEST", "MISSION_REQUEST_INT"):
            if message.mission_type == kind and message.seq < len(items):
                self._link.send(_item_message(self._vehicle_id, kind, items[message.seq]))
                self._next_try_s = time.monotonic() + _RETRY_S
        elif name == "MISSION_ACK" and message.mission_type == kind:
            self._end_list(kind, items, message.type)

    def _end_list(self, kind: MissionType, items: Sequence[MissionItem], result: int) -> None:
        what = kind.name.lower()
        del self._left[0]
        self._next_try_s = 0.0
        if result == MissionResult.ACCEPTED:
            self._report(f"{self._label}: {what} uploaded, {len(items)} items.", 5)
            return
        self.refused = True
        names = [entry.name.lower() for entry in MissionResult if entry == result]
        commands = ", ".join(dict.fromkeys(command_name(item.command) for item in items[1:]))
        self._report(
            f"{self._label} refused its {what}: {names[0] if names else result}."
            f" It holds {commands}.",
            3,
        )

    def _announce(self) -> None:
        kind, items = self._left[0]
        self._link.send(
            mav.MAVLink_mission_count_message(
                self._vehicle_id, AUTOPILOT_COMPONENT, len(items), int(kind)
            )
        )


def _item_message(vehicle_id: int, kind: MissionType, item: MissionItem) -> Any:
    return mav.MAVLink_mission_item_int_message(
        vehicle_id,
        AUTOPILOT_COMPONENT,
        item.seq,
        item.frame,
        item.command,
        0,
        int(item.autocontinue),
        item.param1,
        item.param2,
        item.param3,
        item.param4,
        item.lat_e7,
        item.lon_e7,
        item.alt_m,
        int(kind),
    )
