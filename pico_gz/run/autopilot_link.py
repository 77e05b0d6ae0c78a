"""A MAVLink link over TCP to an external autopilot; never waits."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from typing import Any

from pico_gz.errors import PicoGzError
from pico_gz.mavlink.codec import SplitCounters, StreamSplitter, decode, frame, pack

log = logging.getLogger(__name__)

# Not 255: an autopilot that watches its ground station must not take us for it.
SYSTEM_ID = 250
AUTOPILOT_COMPONENT = 1
_RETRY_S = 1.0
_CONNECT_S = 0.05
_READ_BYTES = 65536


class AutopilotLink:
    """Connects again and again, and hands over what the autopilot sends.

    Args:
        vehicle_id: the autopilot's MAVLink system id.
        address: host and TCP port where it takes a ground station.
        retry_s: how long to wait between two tries to connect [s].

    Attributes:
        connections: how often it was connected; a new one is an autopilot that knows nothing.
    """

    def __init__(
        self, vehicle_id: int, address: tuple[str, int], retry_s: float = _RETRY_S
    ) -> None:
        self.vehicle_id = vehicle_id
        self.address = address
        self.connections = 0
        self._retry_s = retry_s
        self._socket: socket.socket | None = None
        self._splitter = StreamSplitter(SplitCounters())
        self._sequence = 0
        self._next_try_s = 0.0

    def poll(self) -> list[Any]:
        """Connect if need be; returns the messages of this autopilot since the last call."""
        if self._socket is None:
            now_s = time.monotonic()
            if now_s >= self._next_try_s:
                self._next_try_s = now_s + self._retry_s
                self._connect()
            return []
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:  # the autopilot has ended; it may come back
            self.close()
            return []
        messages = map(decode, self._splitter.feed(data, int(time.monotonic() * 1e6)))
        return [one for one in messages if one and one.get_srcSystem() == self.vehicle_id]

    def send(self, message: Any) -> None:
        """Send a message of the dialect, if there is a connection."""
        if self._socket is None:
            return
        self._sequence = (self._sequence + 1) % 256
        try:
            self._socket.sendall(frame(pack(message), self._sequence, SYSTEM_ID))
        except (OSError, PicoGzError) as error:
            log.debug("Vehicle %d: %s", self.vehicle_id, error)
            self.close()

    def close(self) -> None:
        """End the connection; ``poll`` opens another one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> None:
        with contextlib.suppress(OSError):
            connected = socket.create_connection(self.address, timeout=_CONNECT_S)
            connected.setblocking(False)
            self._socket = connected
            self._splitter = StreamSplitter(SplitCounters())
            self.connections += 1
