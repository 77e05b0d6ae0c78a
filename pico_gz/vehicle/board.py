"""The pins, ports and channels of one simulated vehicle, and who holds them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pico_gz.board_options import choice
from pico_gz.errors import ConfigError
from pico_gz.messages import VehicleId
from pico_gz.state import Stateful
from pico_gz.vehicle.claims import ClaimTable
from pico_gz.vehicle.gpio import GpioDirection, GpioLine, SitlGpio
from pico_gz.vehicle.pwm import (
    DEFAULT_FREQUENCY_HZ,
    PWM_CHANNELS,
    PwmBank,
    SitlPwm,
    check_frequency,
)
from pico_gz.vehicle.spi import SitlSpi, SpiDevice, SpiWiring, check_bus
from pico_gz.vehicle.uart import SitlUart, UartLine, UartPeer, check_baud

SYSTEM_CLOCK_HZ = 125_000_000
UART_PORTS = range(8)
SPI_BUSES = range(2)
GPIO_PINS = range(30)
SERVO_OUTPUTS = 16


class Board(Stateful):
    """Gives out peripherals, each to one owner at a time.

    Attributes:
        vehicle_id: whose board it is.
    """

    def __init__(self, vehicle_id: int) -> None:
        self.vehicle_id = int(VehicleId(vehicle_id))
        self._claims = ClaimTable(self.vehicle_id)
        self._pwm = PwmBank()
        self._uart_lines: dict[int, UartLine] = {}
        self._gpio_lines: dict[int, GpioLine] = {}
        self._spi_wirings = {bus: SpiWiring(bus) for bus in SPI_BUSES}

    def system_clock_hz(self) -> int:
        """Speed of the simulated processor [Hz], that of an RP2040."""
        return SYSTEM_CLOCK_HZ

    def create_uart(
        self, port: int, baud: int = 115_200, *, owner: str = "the autopilot"
    ) -> SitlUart:
        """Claim a serial port, 0..7.

        Raises:
            ConfigError: somebody holds it (named), or there is none of that number.
        """
        check_baud(port, baud)
        self._claims.claim("UART", port, UART_PORTS, owner)
        return SitlUart(port, baud, self._uart_line(port), self._releaser("UART", port))

    def uart_peer(self, port: int) -> UartPeer:
        """The far end of a serial port: for a test, a model or a GPS receiver."""
        line = self._uart_line(port)
        return UartPeer(rx=line.to_peer, tx=line.to_vehicle)

    def create_spi(
        self,
        bus: int,
        frequency_hz: int = 1_000_000,
        mode: int = 0,
        *,
        owner: str = "the autopilot",
    ) -> SitlSpi:
        """Claim an SPI bus, 0 or 1; raises ``ConfigError`` like ``create_uart``."""
        check_bus(bus, frequency_hz, mode)
        self._claims.claim("SPI", bus, SPI_BUSES, owner)
        return SitlSpi(self._spi_wirings[bus], frequency_hz, mode, self._releaser("SPI", bus))

    def attach_spi_device(self, bus: int, chip_select: int, device: SpiDevice) -> None:
        """Wire a device to a chip select of a bus, before or after the bus is claimed."""
        if bus not in self._spi_wirings:
            raise ConfigError(f"Vehicle {self.vehicle_id}: there is no SPI {bus}.")
        self._spi_wirings[bus].attach(chip_select, device)

    def create_pwm(
        self,
        channel: int,
        frequency_hz: int = DEFAULT_FREQUENCY_HZ,
        *,
        owner: str = "the autopilot",
    ) -> SitlPwm:
        """Claim a servo output, 1..32 (SERVO1 = 1), which then gives neutral pulses.

        Raises:
            ConfigError: somebody holds it (named), or there is none of that number.
        """
        check_frequency(channel, frequency_hz)
        self._claims.claim("PWM", channel, PWM_CHANNELS, owner)
        return SitlPwm(channel, frequency_hz, self._pwm, self._releaser("PWM", channel))

    def create_gpio(
        self, pin: int, direction: GpioDirection, *, owner: str = "the autopilot"
    ) -> SitlGpio:
        """Claim a digital pin, 0..29; raises ``ConfigError`` like ``create_uart``."""
        direction = choice(GpioDirection, direction, "direction")
        self._claims.claim("GPIO", pin, GPIO_PINS, owner)
        return SitlGpio(pin, direction, self._gpio_line(pin), self._releaser("GPIO", pin))

    def drive_gpio(self, pin: int, level: bool) -> None:
        """Set the level that the world puts on a pin: a button, a bumper, an encoder."""
        self._gpio_line(pin).change(input_level=bool(level))

    def gpio_level(self, pin: int) -> bool:
        """The level on a pin, as the world sees it."""
        return self._gpio_line(pin).level()

    def servo_outputs_us(self) -> tuple[int, ...]:
        """Pulse widths of SERVO1..16 [us]; 0 = nobody has claimed the channel."""
        return tuple(self._pwm.pulses_us[1 : SERVO_OUTPUTS + 1])

    def save_state(self) -> dict[str, Any]:
        """Levels, pulses and waiting bytes, as plain values; claims are not part of it."""
        return {
            "pwm": self._pwm.save_state(),
            "uarts": {str(port): line.save_state() for port, line in self._uart_lines.items()},
            "gpios": {str(pin): line.save_state() for pin, line in self._gpio_lines.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; servo outputs must be claimed as they were.

        Raises:
            ConfigError: the snapshot drives a servo output that nobody holds now.
        """
        self._pwm.load_state(state["pwm"])
        for port in UART_PORTS:
            saved = state["uarts"].get(str(port))
            if saved is not None or port in self._uart_lines:
                self._uart_line(port).load_state(saved or UartLine().save_state())
        for pin in GPIO_PINS:
            saved = state["gpios"].get(str(pin))
            if saved is not None or pin in self._gpio_lines:
                self._gpio_line(pin).load_state(saved or GpioLine().save_state())

    def _uart_line(self, port: int) -> UartLine:
        if port not in UART_PORTS:
            raise ConfigError(f"Vehicle {self.vehicle_id}: there is no UART {port}.")
        return self._uart_lines.setdefault(port, UartLine())

    def _gpio_line(self, pin: int) -> GpioLine:
        if pin not in GPIO_PINS:
            raise ConfigError(f"Vehicle {self.vehicle_id}: there is no GPIO {pin}.")
        return self._gpio_lines.setdefault(pin, GpioLine())

    def _releaser(self, kind: str, number: int) -> partial[None]:
        return partial(self._claims.release, kind, number)
