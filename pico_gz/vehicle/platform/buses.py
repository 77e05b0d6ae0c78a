"""Simulated UARTs and SPI buses with bounded buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pico_gz.core.snapshot import Snapshot
from pico_gz.errors import ConfigError


class RingBuffer(Snapshot):
    """First in, first out; what does not fit is lost and counted, as in a UART's FIFO.

    Attributes:
        capacity: most bytes it holds.
        overrun_bytes: how many were refused since the start.
    """

    __slots__ = ("_data", "capacity", "overrun_bytes")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ConfigError(f"A buffer of {capacity} bytes holds nothing.")
        self.capacity = capacity
        self.overrun_bytes = 0
        self._data = bytearray()

    def __len__(self) -> int:
        """Bytes waiting."""
        return len(self._data)

    def push(self, data: bytes) -> int:
        """Append what fits and return how many bytes that was."""
        accepted = min(len(data), self.capacity - len(self._data))
        self._data += data[:accepted]
        self.overrun_bytes += len(data) - accepted
        return accepted

    def pop(self, count: int) -> bytes:
        """Take up to ``count`` bytes, oldest first."""
        if count <= 0:
            return b""
        taken = bytes(self._data[:count])
        del self._data[:count]
        return taken

    def clear(self) -> None:
        """Drop what is waiting; the overrun count stays."""
        self._data.clear()

    def save_state(self) -> dict[str, Any]:
        """Waiting bytes and count, as plain values."""
        return {"data": bytes(self._data), "overrun_bytes": self.overrun_bytes}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._data = bytearray(state["data"])
        self.overrun_bytes = state["overrun_bytes"]


UART_BUFFER_BYTES = 4096
READ_ALL = 1 << 30


class UartLine(Snapshot):
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


# Full duplex: gets what the controller clocks out, gives as many bytes back.
SpiDevice = Callable[[bytes], bytes]

# Nobody drives the line: it floats high.
FLOATING = b"\xff"


class SpiWiring:
    """Which device listens to which chip select of one bus.

    A device keeps its own state; it is not part of a platform's snapshot.
    """

    __slots__ = ("_devices", "bus")

    def __init__(self, bus: int) -> None:
        self.bus = bus
        self._devices: dict[int, SpiDevice] = {}

    def attach(self, chip_select: int, device: SpiDevice) -> None:
        """Wire a device to a chip select.

        Raises:
            ConfigError: there is one already.
        """
        if chip_select in self._devices:
            raise ConfigError(f"SPI {self.bus}: chip select {chip_select} has a device already.")
        self._devices[chip_select] = device

    def detach(self, chip_select: int) -> None:
        """Take the device off; harmless when there is none."""
        self._devices.pop(chip_select, None)

    def exchange(self, chip_select: int, data: bytes) -> bytes:
        """Clock ``data`` out and return what came back at the same time."""
        device = self._devices.get(chip_select)
        if device is None:
            return FLOATING * len(data)
        answer = device(data)
        if len(answer) != len(data):
            raise ConfigError(
                f"SPI {self.bus}: the device at chip select {chip_select} answered "
                f"{len(answer)} bytes to {len(data)}.",
                hint="SPI is full duplex: as many bytes come back as go out.",
            )
        return answer


class SitlSpi:
    """The controller's end of a bus, held by one driver until ``close``."""

    __slots__ = ("_release", "_wiring", "frequency_hz", "mode")

    def __init__(
        self, wiring: SpiWiring, frequency_hz: int, mode: int, release: Callable[[], None]
    ) -> None:
        self._wiring = wiring
        self.frequency_hz = frequency_hz
        self.mode = mode
        self._release: Callable[[], None] | None = release

    def transfer(self, data: bytes, chip_select: int = 0) -> bytes:
        """Send and receive the same number of bytes; 0xFF when no device is there."""
        if self._release is None:
            raise ConfigError(f"SPI {self._wiring.bus} is closed.", hint="Claim it again.")
        return self._wiring.exchange(chip_select, data)

    def close(self) -> None:
        """Release the bus; harmless when called twice."""
        if self._release is not None:
            self._release()
            self._release = None


def check_bus(bus: int, frequency_hz: int, mode: int) -> None:
    """Refuse a clock or mode that no bus has."""
    if frequency_hz <= 0 or mode not in range(4):
        raise ConfigError(f"SPI {bus}: no bus has {frequency_hz} Hz in mode {mode}.")
