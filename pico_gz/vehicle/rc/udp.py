"""Radio frames by UDP, as ArduPilot's SITL takes them."""

from __future__ import annotations

import errno
import logging
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from pico_gz.errors import ConfigError, PortClashError
from pico_gz.vehicle.rc_frame import RC_CHANNELS

logger = logging.getLogger(__name__)

# One datagram: 8 or 16 little-endian uint16, microseconds, channel 1 first.
FRAME_SIZES = (16, 32)
# One poll reads no more than this, so that a flood cannot hold the simulation.
MAX_DATAGRAMS_PER_POLL = 64
_RECEIVE_BYTES = 2048


class UdpRcSource:
    """Takes the newest datagram; a value of 0 leaves that channel as it was.

    Attributes:
        port: where it listens; useful after asking for port 0.
        bad_datagrams: how many were dropped for their size.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._socket = _bound_socket(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.bad_datagrams = 0
        self._channels_us = [0] * RC_CHANNELS

    def poll(self, now_us: int) -> Sequence[int] | None:
        """The newest frame, ``None`` when no datagram has come since the last call."""
        fresh = False
        for _ in range(MAX_DATAGRAMS_PER_POLL):
            datagram = self._receive()
            if datagram is None:
                break
            fresh = self._take(datagram) or fresh
        return tuple(self._channels_us) if fresh else None

    def close(self) -> None:
        """Close the socket; harmless when called twice."""
        self._socket.close()

    def save_state(self) -> dict[str, Any]:
        """The channels as they stand, as plain values."""
        return {"channels_us": list(self._channels_us)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._channels_us = list(state["channels_us"])

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(_RECEIVE_BYTES)
        except OSError as exc:
            if exc.errno == errno.EBADF:
                raise ConfigError(f"RC port {self.port} is closed.") from exc
            # Nothing there; a refused datagram of another socket shows up here as well.
            return None

    def _take(self, datagram: bytes) -> bool:
        if len(datagram) not in FRAME_SIZES:
            self.bad_datagrams += 1
            if self.bad_datagrams == 1:
                logger.warning(
                    "RC port %d: a datagram of %d bytes was dropped, expected 16 or 32.",
                    self.port,
                    len(datagram),
                )
            return False
        for index, pulse_us in enumerate(struct.unpack(f"<{len(datagram) // 2}H", datagram)):
            if pulse_us:
                self._channels_us[index] = pulse_us
        return True


def _bound_socket(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise ConfigError(f"RC port {port} is outside 0..65535.")
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.bind((host, port))
    except OSError as exc:
        sock.close()
        if exc.errno == errno.EADDRINUSE:
            raise PortClashError(
                f"UDP port {port} on {host} for RC input is in use.",
                hint="Stop the program that holds it, or use --port-offset auto.",
            ) from exc
        raise ConfigError(f"UDP {host}:{port} for RC input cannot be opened: {exc}.") from exc
    return sock
