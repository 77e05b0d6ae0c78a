"""SitlPlatform: everything an autopilot can touch."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from pico_gz.core.board_options import PlatformOptions, choice
from pico_gz.core.messages import (
    ActuatorCommands,
    BarometerData,
    CompassData,
    EncoderData,
    GpsData,
    Quaternion,
    RangefinderData,
    SensorData,
)
from pico_gz.core.snapshot import Snapshot, to_plain
from pico_gz.core.subclassable import mypyc_attr
from pico_gz.core.units import normalized_from_pwm, throttle_from_pwm
from pico_gz.core.vehicle_config import (
    ARDUPILOT_CHANNELS,
    AircraftChannels,
    ChannelMap,
    DriveKind,
    VehicleId,
)
from pico_gz.errors import ConfigError, MessageError
from pico_gz.vehicle.platform.gps_serial import SerialOutputs
from pico_gz.vehicle.platform.peripherals import (
    ByteFifo,
    GpioDirection,
    GpioLine,
    SitlGpio,
    SitlSpi,
    SitlUart,
    SpiDevice,
    UartPeer,
)
from pico_gz.vehicle.platform.pwm import (
    DEFAULT_FREQUENCY_HZ,
    PWM_CHANNELS,
    PwmBank,
    SitlPwm,
    check_frequency,
)
from pico_gz.vehicle.platform.sensor_inputs import ImuSample, SensorInbox, SensorMounting
from pico_gz.vehicle.rc.rc_source import RcFrame, rc_frame

log = logging.getLogger(__name__)


class SitlTimer(Snapshot):
    """Simulation time as the vehicle sees it: that of the newest sensor record.

    It stands while the simulator stands; nothing here looks at the wall clock.
    """

    __slots__ = ("_now_us",)
    _state_fields: ClassVar[tuple[str, ...]] = ("_now_us",)

    def __init__(self) -> None:
        self._now_us = 0

    def now_us(self) -> int:
        """Simulation time [us]."""
        return self._now_us

    def elapsed_us(self, since_us: int) -> int:
        """Simulation time that has passed since ``since_us`` [us]."""
        return self._now_us - since_us

    def set_us(self, time_us: int) -> None:
        """Set the time [us]; for the platform, which takes it from the sensor records."""
        self._now_us = time_us


SYSTEM_CLOCK_HZ: Final = 125_000_000
UART_PORTS = range(8)
SPI_BUSES = range(2)
GPIO_PINS = range(30)
SERVO_OUTPUTS: Final = 16
ADC_MAX: Final = 4095
ADC_REFERENCE_V: Final = 3.3
# Outputs below this while disarmed are a trim that is a little off; above it, a fault.
_TRIM: Final = 0.1
# A bool is an int that numbers nothing; named here, it reaches the check when compiled too.
Number = int | bool
# No record has this time, so the first one is new whatever its time is.
NO_RECORD_US: Final = -1


@mypyc_attr(allow_interpreted_subclasses=True)
class SitlPlatform(Snapshot):
    """One vehicle's pins, ports, sensors and clock; all that its autopilot ever sees.

    The bridge injects sensor records and collects actuator commands; the autopilot claims
    peripherals with ``create_*`` and reads samples, each exactly once. Everything is called
    on the simulation thread.

    Attributes:
        vehicle_id: whose board it is.
        drive: how the vehicle is driven, and so what its channels mean.
        channels: which servo output does what.
        aircraft_channels: the same of an aircraft, which has neither ``drive`` nor ``channels``.
        options: how sensors are mounted and read.
        timer: simulation time, that of the newest sensor record.
        stale_records: records ignored because their time was not new.
    """

    _state_fields = ("_pwm", "_record_us", "stale_records", "timer", "_inbox", "_rc", "_serial")
    _state_types: ClassVar[Mapping[str, Any]] = {"_rc": RcFrame | None}

    def __init__(
        self,
        vehicle_id: Number,
        *,
        drive: DriveKind = DriveKind.SKID,
        channels: ChannelMap = ARDUPILOT_CHANNELS,
        options: PlatformOptions | None = None,
        aircraft_channels: AircraftChannels | None = None,
    ) -> None:
        self.vehicle_id = int(VehicleId(vehicle_id))
        self._owners: dict[tuple[str, int], str] = {}
        self._pwm = PwmBank()
        # Per port: the wire to the vehicle, and the one to its peer.
        self._uarts: dict[int, tuple[ByteFifo, ByteFifo]] = {}
        self._gpios: dict[int, GpioLine] = {}
        self._spi_devices: dict[int, dict[int, SpiDevice]] = {bus: {} for bus in SPI_BUSES}
        self.drive = drive
        self.channels = channels
        self.aircraft_channels = aircraft_channels
        self.options = PlatformOptions() if options is None else options
        self.timer = SitlTimer()
        self.stale_records = 0
        self._record_us = NO_RECORD_US
        self._inbox = SensorInbox()
        self._mounting = SensorMounting(self.options)
        self._rc: RcFrame | None = None
        outputs = self.options.serial_outputs
        ends = {port: self.uart_peer(port) for port in outputs}
        self._serial = SerialOutputs(outputs, ends, self.options.utc_start_s)
        self._first_channel, self._second_channel = self._drive_channels()
        self._first_us = self._second_us = 0
        self._neutral = self._motors, self._servos = self._normalized(0, 0)
        self._is_neutral = True
        self._is_armed: Callable[[], bool] | None = None
        self._warned_disarmed = False

    # --- peripherals, each held by one owner at a time ------------------------------------

    def system_clock_hz(self) -> int:
        """Speed of the simulated processor [Hz], that of an RP2040."""
        return SYSTEM_CLOCK_HZ

    def create_uart(
        self, port: Number, baud: int = 115_200, *, owner: str = "the autopilot"
    ) -> SitlUart:
        """Claim a serial port, 0..7.

        Raises:
            ConfigError: it is taken (by whom is named), or there is none of that number.
        """
        if baud <= 0:
            raise ConfigError(f"UART {port}: {baud} baud is no speed.")
        release = self._claim("UART", port, UART_PORTS, owner)
        to_vehicle, to_peer = self._uart_wires(port)
        return SitlUart(port, baud, UartPeer(rx=to_vehicle, tx=to_peer), release)

    def uart_peer(self, port: int) -> UartPeer:
        """The far end of a serial port: for a test, a model or a GPS receiver."""
        to_vehicle, to_peer = self._uart_wires(port)
        return UartPeer(rx=to_peer, tx=to_vehicle)

    def create_spi(
        self,
        bus: Number,
        frequency_hz: int = 1_000_000,
        mode: int = 0,
        *,
        owner: str = "the autopilot",
    ) -> SitlSpi:
        """Claim an SPI bus, 0 or 1; raises ``ConfigError`` like ``create_uart``."""
        if frequency_hz <= 0 or mode not in range(4):
            raise ConfigError(f"SPI {bus}: no bus has {frequency_hz} Hz in mode {mode}.")
        release = self._claim("SPI", bus, SPI_BUSES, owner)
        return SitlSpi(bus, frequency_hz, mode, self._spi_devices[bus], release)

    def attach_spi_device(self, bus: int, chip_select: int, device: SpiDevice) -> None:
        """Wire a device to a chip select of a bus, before or after the bus is claimed."""
        if bus not in self._spi_devices:
            raise ConfigError(f"Vehicle {self.vehicle_id}: there is no SPI {bus}.")
        devices = self._spi_devices[bus]
        if chip_select in devices:
            raise ConfigError(f"SPI {bus}: chip select {chip_select} has a device already.")
        devices[chip_select] = device

    def create_pwm(
        self,
        channel: Number,
        frequency_hz: int = DEFAULT_FREQUENCY_HZ,
        *,
        owner: str = "the autopilot",
    ) -> SitlPwm:
        """Claim a servo output, 1..32 (SERVO1 = 1), which then gives neutral pulses.

        Raises:
            ConfigError: it is taken (by whom is named), or there is none of that number.
        """
        check_frequency(channel, frequency_hz)
        release = self._claim("PWM", channel, PWM_CHANNELS, owner)
        return SitlPwm(channel, frequency_hz, self._pwm, release)

    def create_gpio(
        self, pin: Number, direction: GpioDirection | str, *, owner: str = "the autopilot"
    ) -> SitlGpio:
        """Claim a digital pin, 0..29; raises ``ConfigError`` like ``create_uart``."""
        way = choice(GpioDirection, direction, "direction")
        release = self._claim("GPIO", pin, GPIO_PINS, owner)
        return SitlGpio(pin, way, self._gpio_line(pin), release)

    def drive_gpio(self, pin: int, level: object) -> None:
        """Set the level that the world puts on a pin: a button, a bumper, an encoder."""
        self._gpio_line(pin).change(input_level=bool(level))

    def gpio_level(self, pin: int) -> bool:
        """The level on a pin, as the world sees it."""
        return self._gpio_line(pin).level()

    def servo_outputs_us(self) -> tuple[int, ...]:
        """Pulse widths of SERVO1..16 [us]; 0 = the channel is not claimed."""
        return tuple(self._pwm.pulses_us[1 : SERVO_OUTPUTS + 1])

    def _claim(self, kind: str, number: Number, allowed: range, owner: str) -> Callable[[], None]:
        """Give a peripheral to ``owner``; returns what releases it."""
        if isinstance(number, bool) or number not in allowed:
            raise ConfigError(
                f"Vehicle {self.vehicle_id}: there is no {kind} {number}.",
                hint=f"{kind} runs from {allowed.start} to {allowed.stop - 1}.",
            )
        holder = self._owners.get((kind, number))
        if holder is not None:
            raise ConfigError(
                f"Vehicle {self.vehicle_id}: {kind} {number} is taken by {holder}.",
                hint="Close it first, or choose another.",
            )
        self._owners[kind, number] = owner
        return lambda: self._owners.__delitem__((kind, number))

    def _uart_wires(self, port: int) -> tuple[ByteFifo, ByteFifo]:
        if port not in UART_PORTS:
            raise ConfigError(f"Vehicle {self.vehicle_id}: there is no UART {port}.")
        return self._uarts.setdefault(port, (ByteFifo(), ByteFifo()))

    def _gpio_line(self, pin: int) -> GpioLine:
        if pin not in GPIO_PINS:
            raise ConfigError(f"Vehicle {self.vehicle_id}: there is no GPIO {pin}.")
        return self._gpios.setdefault(pin, GpioLine())

    # --- radio and battery ----------------------------------------------------------------

    def rc_read(self) -> RcFrame | None:
        """The newest radio frame, ``None`` before the first; its time shows a lost link."""
        return self._rc

    def inject_rc(self, channels_us: Sequence[int], now_us: int) -> None:
        """Take a radio frame of up to 16 channels [us], received at ``now_us``."""
        self._rc = rc_frame(channels_us, now_us)

    def read_battery_adc(self) -> int:
        """The 12 bit reading of the battery voltage behind its divider; 0 before any."""
        battery = self._inbox.battery
        if battery is None:
            return 0
        full_scale_v = ADC_REFERENCE_V * self.options.battery_divider
        return min(ADC_MAX, max(0, math.floor(battery.voltage_v / full_scale_v * ADC_MAX + 0.5)))

    def read_battery_current_a(self) -> float:
        """Current drawn from the battery [A]; 0 before any sample."""
        battery = self._inbox.battery
        return 0.0 if battery is None else battery.current_a

    # --- sensors: each sample is given once -----------------------------------------------

    def read_imu(self) -> list[ImuSample]:
        """Take the waiting IMU samples with their times [us], oldest first, at most 64.

        Axes and sign are the chip's (``options``), as for ``read_compass``.
        """
        samples = self.read_body_imu()
        if self._mounting.imu_is_plain:
            return samples
        return [self._mounting.imu(sample) for sample in samples]

    def read_gps(self) -> GpsData | None:
        """Take the new fix, ``None`` when there is none."""
        sample, self._inbox.gps = self._inbox.gps, None
        return sample

    def read_compass(self) -> CompassData | None:
        """Take the new compass sample; its numbers are in ``options.compass_unit``."""
        sample = self.read_body_compass()
        if sample is None or self._mounting.compass_is_plain:
            return sample
        return self._mounting.compass(sample)

    def read_barometer(self) -> BarometerData | None:
        """Take the new barometer sample; its pressure is in ``options.pressure_unit``."""
        sample = self.read_pascals()
        if sample is None or self._mounting.barometer_is_plain:
            return sample
        return self._mounting.barometer(sample)

    def read_rangefinders(self) -> tuple[RangefinderData | None, ...] | None:
        """Take the new distances, one per fitted sensor; ``None`` is one, or all, without."""
        sample, self._inbox.rangefinders = self._inbox.rangefinders, None
        return sample

    def read_encoders(self) -> EncoderData | None:
        """Take the new wheel encoder counts, ``None`` when there are none."""
        sample, self._inbox.encoders = self._inbox.encoders, None
        return sample

    def read_attitude_quat(self) -> Quaternion | None:
        """Take the new attitude of a fitted AHRS chip, body FRD to NED, (w, x, y, z)."""
        sample, self._inbox.attitude_quat = self._inbox.attitude_quat, None
        return sample

    # --- the same samples, for an autopilot that leaves the board to its drivers -----------

    def read_body_imu(self) -> list[ImuSample]:
        """``read_imu`` in body axes FRD and specific force, however the chip is mounted."""
        fifo = self._inbox.imu
        samples = list(fifo)
        fifo.clear()
        return samples

    def read_body_compass(self) -> CompassData | None:
        """``read_compass`` in body axes FRD and gauss, however the chip is mounted."""
        sample, self._inbox.compass = self._inbox.compass, None
        return sample

    def read_pascals(self) -> BarometerData | None:
        """``read_barometer`` in pascal, whatever the unit of the chip."""
        sample, self._inbox.barometer = self._inbox.barometer, None
        return sample

    @property
    def imu_overruns(self) -> int:
        """IMU samples lost because they were not read in time."""
        return self._inbox.imu_overruns

    # --- bridge side ----------------------------------------------------------------------

    def inject_sensors(self, data: SensorData) -> None:
        """Take one step's samples and its time; a record whose time is not new is ignored.

        Raises:
            MessageError: the record belongs to another vehicle.
        """
        if data.vehicle_id != self.vehicle_id:
            raise MessageError(
                f"Vehicle {self.vehicle_id} was given a record of vehicle {data.vehicle_id}."
            )
        time_us = data.timestamp_us
        if time_us <= self._record_us:
            self.stale_records += 1
            return
        self._record_us = time_us
        self.timer.set_us(time_us)
        self._inbox.put(data)
        if data.gps is not None:
            self._serial.report(data.gps, time_us)

    def collect_actuator_commands(self) -> ActuatorCommands:
        """What the servo outputs ask for now; an unclaimed or silent channel is neutral."""
        pulses_us = self._pwm.pulses_us
        if self.aircraft_channels is not None:
            return self._fly(self.aircraft_channels, pulses_us)
        first_us, second_us = pulses_us[self._first_channel], pulses_us[self._second_channel]
        if first_us != self._first_us or second_us != self._second_us:
            self._first_us, self._second_us = first_us, second_us
            self._motors, self._servos = self._normalized(first_us, second_us)
            self._is_neutral = (self._motors, self._servos) == self._neutral
        motors, servos = self._motors, self._servos
        if not self._is_neutral and self._is_armed is not None and not self._is_armed():
            self._warn_disarmed()
            motors, servos = self._neutral
        return ActuatorCommands(self.timer.now_us(), self.vehicle_id, motors, servos)

    def hold_while_disarmed(self, is_armed: Callable[[], bool]) -> None:
        """Give neutral commands from now on while ``is_armed()`` is false, whatever the pulses."""
        self._is_armed = is_armed

    def _warn_disarmed(self) -> None:
        """Log once what the autopilot would drive while disarmed."""
        if self._warned_disarmed or max(map(abs, (*self._motors, *self._servos))) < _TRIM:
            return
        self._warned_disarmed = True
        log.warning(
            "Vehicle %d: its autopilot gives %s while its status says disarmed; held in neutral.",
            self.vehicle_id,
            (*self._motors, *self._servos),
        )

    # --- snapshots ------------------------------------------------------------------------

    def save_state(self) -> dict[str, Any]:
        """Everything needed to continue from here, as plain values; claims are not part of it."""
        return {
            **super().save_state(),
            "uarts": {str(port): to_plain(wires) for port, wires in self._uarts.items()},
            "gpios": {str(pin): line.save_state() for pin, line in self._gpios.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave; servo outputs must be claimed as they were.

        Raises:
            ConfigError: the snapshot drives a servo output that is not claimed now.
        """
        super().load_state(state)
        for port in {*self._uarts, *map(int, state["uarts"])}:
            saved = state["uarts"].get(str(port)) or [ByteFifo().save_state()] * 2
            for wire, wire_state in zip(self._uart_wires(port), saved, strict=True):
                wire.load_state(wire_state)
        for pin in {*self._gpios, *map(int, state["gpios"])}:
            self._gpio_line(pin).load_state(state["gpios"].get(str(pin)) or GpioLine().save_state())

    # --- inside ---------------------------------------------------------------------------

    def _fly(self, channels: AircraftChannels, pulses_us: Sequence[int]) -> ActuatorCommands:
        self._motors = (throttle_from_pwm(pulses_us[channels.throttle]),)
        self._servos = (
            normalized_from_pwm(pulses_us[channels.aileron]),
            normalized_from_pwm(pulses_us[channels.elevator]),
            normalized_from_pwm(pulses_us[channels.rudder]),
        )
        motors, servos = self._motors, self._servos
        if self._is_armed is not None and not self._is_armed():
            self._warn_disarmed()
            motors, servos = (0.0,), (0.0, 0.0, 0.0)
        return ActuatorCommands(self.timer.now_us(), self.vehicle_id, motors, servos)

    def _drive_channels(self) -> tuple[int, int]:
        if self.drive is DriveKind.SKID:
            return self.channels.left, self.channels.right
        return self.channels.throttle, self.channels.steering

    def _normalized(
        self, first_us: int, second_us: int
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        first, second = normalized_from_pwm(first_us), normalized_from_pwm(second_us)
        return ((first, second), ()) if self.drive is DriveKind.SKID else ((first,), (second,))
