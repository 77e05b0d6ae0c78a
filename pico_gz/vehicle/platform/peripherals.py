"""Simulated UARTs, SPI buses and digital pins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from pico_gz.core.snapshot import Snapshot
from pico_gz.errors import ConfigError


class Claimed:
    """A peripheral held by one driver until ``close``.

    Args:
        name: what it is called in messages, such as ``UART 3``.
        release: gives it back to the board.
    """

    def __init__(self, name: str, release: Callable[[], None]) -> None:
        self._name = name
        self._release: Callable[[], None] | None = release

    def close(self) -> None:
        """Stop using it and release it; harmless when called twice."""
        if self._release is not None:
            self._switch_off()
            self._release()
            self._release = None

    def _switch_off(self) -> None:
        """What happens to the wire when it is closed."""

    def _require_open(self) -> None:
        if self._release is None:
            raise ConfigError(f"{self._name} is closed.", hint="Claim it again.")


# --- serial ports -----------------------------------------------------------------------------

UART_BUFFER_BYTES = 4096
READ_ALL = 1 << 30


class ByteFifo(Snapshot):
    """One wire of a serial port; what does not fit is lost and counted, as in a UART's FIFO."""

    __slots__ = ("capacity", "data", "overrun_bytes")
    _state_fields = ("data", "overrun_bytes")

    def __init__(self, capacity: int = UART_BUFFER_BYTES) -> None:
        if capacity < 1:
            raise ConfigError(f"A buffer of {capacity} bytes holds nothing.")
        self.capacity = capacity
        self.overrun_bytes = 0
        self.data = bytearray()

    def push(self, data: bytes) -> int:
        """Append what fits and return how many bytes that was."""
        accepted = min(len(data), self.capacity - len(self.data))
        self.data += data[:accepted]
        self.overrun_bytes += len(data) - accepted
        return accepted

    def pop(self, count: int) -> bytes:
        """Take up to ``count`` bytes, oldest first."""
        count = max(0, count)
        taken = bytes(self.data[:count])
        del self.data[:count]
        return taken


class UartPeer:
    """One end of a line. Bytes arrive at once; the baud rate does not pace them."""

    def __init__(self, rx: ByteFifo, tx: ByteFifo) -> None:
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
        return len(self._rx.data)

    @property
    def rx_overrun_bytes(self) -> int:
        """Bytes lost because this end did not read in time."""
        return self._rx.overrun_bytes

    @property
    def tx_overrun_bytes(self) -> int:
        """Bytes lost because the other end did not read in time."""
        return self._tx.overrun_bytes


class SitlUart(Claimed):
    """The vehicle's end of a serial port, held by one driver until ``close``."""

    def __init__(self, port: int, baud: int, end: UartPeer, release: Callable[[], None]) -> None:
        super().__init__(f"UART {port}", release)
        self.port = port
        self.baud = baud
        self._end = end

    def write(self, data: bytes) -> int:
        """Send, and return how many bytes found room; the rest is lost and counted."""
        self._require_open()
        return self._end.write(data)

    def read(self, count: int = READ_ALL) -> bytes:
        """Take up to ``count`` received bytes; empty when there are none. Never blocks."""
        self._require_open()
        return self._end.read(count)

    def available(self) -> int:
        """Received bytes that wait to be read."""
        return self._end.available()

    @property
    def rx_overrun_bytes(self) -> int:
        """Bytes lost because this end did not read in time."""
        return self._end.rx_overrun_bytes

    @property
    def tx_overrun_bytes(self) -> int:
        """Bytes lost because the other end did not read in time."""
        return self._end.tx_overrun_bytes


# --- SPI --------------------------------------------------------------------------------------

# Full duplex: gets what the controller clocks out, gives as many bytes back.
SpiDevice = Callable[[bytes], bytes]

# Without a device the line floats high.
FLOATING = b"\xff"


class SitlSpi(Claimed):
    """The controller's end of a bus, held by one driver until ``close``.

    ``devices`` are those wired to the bus, by chip select. A device keeps its own state; it is
    not part of a platform's snapshot.
    """

    def __init__(
        self,
        bus: int,
        frequency_hz: int,
        mode: int,
        devices: Mapping[int, SpiDevice],
        release: Callable[[], None],
    ) -> None:
        super().__init__(f"SPI {bus}", release)
        self.frequency_hz = frequency_hz
        self.mode = mode
        self._devices = devices

    def transfer(self, data: bytes, chip_select: int = 0) -> bytes:
        """Send and receive the same number of bytes; 0xFF when no device is there."""
        self._require_open()
        device = self._devices.get(chip_select)
        if device is None:
            return FLOATING * len(data)
        answer = device(data)
        if len(answer) != len(data):
            raise ConfigError(
                f"{self._name}: the device at chip select {chip_select} answered "
                f"{len(answer)} bytes to {len(data)}.",
                hint="SPI is full duplex: as many bytes come back as go out.",
            )
        return answer


# --- digital pins -----------------------------------------------------------------------------

EdgeCallback = Callable[[bool], None]


class GpioDirection(StrEnum):
    """Who sets the level: the world (IN) or the vehicle (OUT)."""

    IN = "in"
    OUT = "out"


class GpioLine(Snapshot):
    """One pin's wire: what the vehicle drives, what the world drives, and the edges seen."""

    __slots__ = (
        "direction", "falling_edges", "input_level", "on_edge", "output_level", "rising_edges",
    )  # fmt: skip
    _state_fields = ("direction", "falling_edges", "input_level", "output_level", "rising_edges")

    def __init__(self) -> None:
        self.direction = GpioDirection.IN
        self.output_level = False
        self.input_level = False
        self.rising_edges = 0
        self.falling_edges = 0
        self.on_edge: EdgeCallback | None = None

    def level(self) -> bool:
        """The level on the wire."""
        return self.output_level if self.direction is GpioDirection.OUT else self.input_level

    def change(
        self,
        *,
        direction: GpioDirection | None = None,
        output_level: bool | None = None,
        input_level: bool | None = None,
    ) -> None:
        """Change what is given, and count and report the edge that comes of it."""
        before = self.level()
        if direction is not None:
            self.direction = direction
        if output_level is not None:
            self.output_level = output_level
        if input_level is not None:
            self.input_level = input_level
        after = self.level()
        if after == before:
            return
        if after:
            self.rising_edges += 1
        else:
            self.falling_edges += 1
        if self.on_edge is not None:
            self.on_edge(after)


class SitlGpio(Claimed):
    """The vehicle's side of a pin, held by one driver until ``close``."""

    def __init__(
        self, pin: int, direction: GpioDirection, line: GpioLine, release: Callable[[], None]
    ) -> None:
        super().__init__(f"GPIO {pin}", release)
        self.pin = pin
        self._line = line
        line.change(direction=direction)

    @property
    def direction(self) -> GpioDirection:
        """Whether it is an input or an output."""
        return self._line.direction

    def set_direction(self, direction: GpioDirection | str) -> None:
        """Make it an input or an output; an output starts with the level last written."""
        self._require_open()
        self._line.change(direction=GpioDirection(direction))

    def read(self) -> bool:
        """The level on the wire."""
        self._require_open()
        return self._line.level()

    def write(self, level: bool) -> None:
        """Drive the wire.

        Raises:
            ConfigError: it is an input, or closed.
        """
        self._require_open()
        if self._line.direction is not GpioDirection.OUT:
            raise ConfigError(f"GPIO {self.pin} is an input.", hint="Call set_direction first.")
        self._line.change(output_level=bool(level))

    def on_edge(self, callback: EdgeCallback | None) -> None:
        """Be called back at each edge with the new level; ``None`` ends it."""
        self._require_open()
        self._line.on_edge = callback

    @property
    def rising_edges(self) -> int:
        """Edges low to high since the start."""
        return self._line.rising_edges

    @property
    def falling_edges(self) -> int:
        """Edges high to low since the start."""
        return self._line.falling_edges

    def _switch_off(self) -> None:
        self._line.on_edge = None
        self._line.change(direction=GpioDirection.IN, output_level=False)
