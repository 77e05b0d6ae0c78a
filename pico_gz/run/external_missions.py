"""Uploads missions to external autopilots by MAVLink."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from pico_gz.core.ground_control import MissionItem, MissionResult, MissionType
from pico_gz.errors import PicoGzError
from pico_gz.mavlink.codec import SplitCounters, StreamSplitter, decode, frame, mav, pack
from pico_gz.run.mission_check import command_name
from pico_gz.vehicle.autopilot.mission_files import ItemLists

log = logging.getLogger(__name__)

# Not 255: an autopilot that watches its ground station must not take us for it.
_SYSTEM_ID = 250
_AUTOPILOT_COMPONENT = 1
_RETRY_S = 1.0
_CONNECT_S = 0.05
_READ_BYTES = 65536
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
    """

    def __init__(
        self,
        vehicle_id: int,
        label: str,
        address: tuple[str, int],
        lists: ItemLists,
        report: Report,
    ) -> None:
        self._vehicle_id = vehicle_id
        self._label = label
        self._address = address
        self._report = report
        kinds = ((kind, getattr(lists, kind.name.lower())) for kind in MissionType)
        self._left: list[tuple[MissionType, Sequence[MissionItem]]] = [
            (kind, items) for kind, items in kinds if len(items) > (kind is MissionType.MISSION)
        ]
        self._socket: socket.socket | None = None
        self._splitter = StreamSplitter(SplitCounters())
        self._sequence = 0
        self._ready = False
        self._next_try_s = 0.0

    def is_done(self) -> bool:
        """Whether everything is uploaded, or refused."""
        return not self._left

    def __call__(self, now_us: int) -> None:
        """Take what has arrived, answer it, and repeat what was not answered."""
        if self.is_done():
            return
        now_s = time.monotonic()
        if self._socket is None:
            if now_s >= self._next_try_s:
                self._next_try_s = now_s + _RETRY_S
                self._connect()
            return
        for message in self._received(now_s):
            self._take(message)
            if self.is_done():
                self._disconnect()
                return
        if self._ready and now_s >= self._next_try_s:
            self._next_try_s = now_s + _RETRY_S
            self._announce()

    def close(self) -> None:
        """End; warns of what was never uploaded."""
        self._disconnect()
        if not self.is_done():
            host, port = self._address
            what = ", ".join(kind.name.lower() for kind, _ in self._left)
            log.warning(
                "%s never got its %s: no autopilot took it on TCP %s:%d.",
                self._label, what, host, port,
            )  # fmt: skip

    def _connect(self) -> None:
        with contextlib.suppress(OSError):
            connected = socket.create_connection(self._address, timeout=_CONNECT_S)
            connected.setblocking(False)
            self._socket, self._ready = connected, False
            self._splitter = StreamSplitter(SplitCounters())

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _received(self, now_s: float) -> list[Any]:
        data = b""
        try:
            data = self._socket.recv(_READ_BYTES) if self._socket else b""
        except BlockingIOError:
            return []
        except OSError:
            pass
        if not data:  # the autopilot has ended; it may come back
            self._disconnect()
            return []
        frames = self._splitter.feed(data, int(now_s * 1e6))
        messages = [decode(raw) for raw in frames]
        return [one for one in messages if one and one.get_srcSystem() == self._vehicle_id]

    def _take(self, message: Any) -> None:
        kind, items = self._left[0]
        name = message.get_type()
        if name == "HEARTBEAT":
            self._ready = message.system_status >= _READY_STATE
        elif name in ("MISSION_REQUEST", "MISSION_REQUEST_INT"):
            if message.mission_type == kind and message.seq < len(items):
                self._send(_item_message(self._vehicle_id, kind, items[message.seq]))
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
        names = [entry.name.lower() for entry in MissionResult if entry == result]
        commands = ", ".join(dict.fromkeys(command_name(item.command) for item in items[1:]))
        self._report(
            f"{self._label} refused its {what}: {names[0] if names else result}."
            f" It holds {commands}.",
            3,
        )

    def _announce(self) -> None:
        kind, items = self._left[0]
        self._send(
            mav.MAVLink_mission_count_message(
                self._vehicle_id, _AUTOPILOT_COMPONENT, len(items), int(kind)
            )
        )

    def _send(self, message: Any) -> None:
        self._sequence = (self._sequence + 1) % 256
        try:
            if self._socket is not None:
                self._socket.sendall(frame(pack(message), self._sequence, _SYSTEM_ID))
        except (OSError, PicoGzError) as error:
            log.debug("%s: %s", self._label, error)
            self._disconnect()


def _item_message(vehicle_id: int, kind: MissionType, item: MissionItem) -> Any:
    return mav.MAVLink_mission_item_int_message(
        vehicle_id,
        _AUTOPILOT_COMPONENT,
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
