"""Simulated serial ports: two bounded buffers between a driver and whatever is wired to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from pico_gz.errors import ConfigError
from pico_gz.state import Stateful
from pico_gz.vehicle.ring_buffer import RingBuffer

UART_BUFFER_BYTES = 4096
READ_ALL = 1 << 30


class UartLine(Stateful):
    """The two wires of one port; it is there whether or not anybody uses either end."""

    __slots__ = ("to_peer", "to_vehicle")
    _state_fields: ClassVar[tuple[str, ...]] = ("to_vehicle", "to_peer")

    def __init__(self, capacity: int = UART_BUFFER_BYTES) -> None:
        self.to_vehicle = RingBuffer(capacity)
        self.to_peer = RingBuffer(capacity)


class UartPeer:
    """One end of a line. Bytes arrive at once; the baud rate does not pace them."""

    __slots__ = ("_rx", "_tx")

    def __init__(self, rx: RingBuffer, tx: RingBuffer) -> None:
        self._rx = rx
        self._tx = tx

    def write(self, data: bytes) -> int:
        """Send, and return how many bytes found room; the rest is lost and counted."""
        return self._tx.push(data)

    def read(self, count: int = READ_ALL) -> bytes:
        """Take up to ``count`` received bytes; empty when there are none. Never blocks."""
        return self._rx.pop(count)

    def available(self) -> int:
        """Received bytes that wait to be read."""
        return len(self._rx)

    @property
    def rx_overrun_bytes(self) -> int:
        """Bytes lost because this end did not read in time."""
        return self._rx.overrun_bytes

    @property
    def tx_overrun_bytes(self) -> int:
        """Bytes lost because the other end did not read in time."""
        return self._tx.overrun_bytes


class SitlUart(UartPeer):
    """The vehicle's end of a serial port, held by one driver until ``close``."""

    __slots__ = ("_release", "baud", "port")

    def __init__(self, port: int, baud: int, line: UartLine, release: Callable[[], None]) -> None:
        super().__init__(rx=line.to_vehicle, tx=line.to_peer)
        self.port = port
        self.baud = baud
        self._release: Callable[[], None] | None = release

    def write(self, data: bytes) -> int:
        """Send, and return how many bytes found room; the rest is lost and counted."""
        self._require_open()
        return self._tx.push(data)

    def read(self, count: int = READ_ALL) -> bytes:
        """Take up to ``count`` received bytes; empty when there are none. Never blocks."""
        self._require_open()
        return self._rx.pop(count)

    def close(self) -> None:
        """Release the port; harmless when called twice."""
        if self._release is not None:
            self._release()
            self._release = None

    def _require_open(self) -> None:
        if self._release is None:
            raise ConfigError(f"UART {self.port} is closed.", hint="Claim it with create_uart.")


def check_baud(port: int, baud: int) -> None:
    """Refuse a speed that is none."""
    if baud <= 0:
        raise ConfigError(f"UART {port}: {baud} baud is no speed.")
