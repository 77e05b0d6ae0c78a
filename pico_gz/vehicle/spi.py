"""A simulated SPI bus with devices that a test or a model attaches."""

from __future__ import annotations

from collections.abc import Callable

from pico_gz.errors import ConfigError

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
