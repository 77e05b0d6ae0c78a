"""Everything an autopilot can touch: the board of one simulated vehicle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.board_options import PlatformOptions
from pico_gz.errors import MessageError
from pico_gz.messages import (
    ARDUPILOT_CHANNELS,
    ActuatorCommands,
    BarometerData,
    ChannelMap,
    CompassData,
    DriveKind,
    EncoderData,
    GpsData,
    RangefinderData,
    SensorData,
)
from pico_gz.messages.sensors import Quaternion
from pico_gz.units import normalized_from_pwm
from pico_gz.vehicle.board import Board
from pico_gz.vehicle.inbox import ImuSample, SensorInbox
from pico_gz.vehicle.mounting import SensorMounting
from pico_gz.vehicle.rc_frame import RcFrame, rc_frame
from pico_gz.vehicle.serial_outputs import SerialOutputs
from pico_gz.vehicle.timer import SitlTimer

ADC_MAX = 4095
ADC_REFERENCE_V = 3.3
# No record has this time, so the first one is new whatever its time is.
NO_RECORD_US = -1


class SitlPlatform(Board):
    """One vehicle's pins, ports, sensors and clock; all that its autopilot ever sees.

    The bridge injects sensor records and collects actuator commands; the autopilot claims
    peripherals with ``create_*`` and reads samples, each exactly once. Everything is called
    on the simulation thread.

    Attributes:
        vehicle_id: whose board it is.
        drive: how the vehicle is driven, and so what its channels mean.
        channels: which servo output does what.
        options: how sensors are mounted and read.
        timer: simulation time, that of the newest sensor record.
        stale_records: records ignored because their time was not new.
    """

    def __init__(
        self,
        vehicle_id: int,
        *,
        drive: DriveKind = DriveKind.SKID,
        channels: ChannelMap = ARDUPILOT_CHANNELS,
        options: PlatformOptions | None = None,
    ) -> None:
        super().__init__(vehicle_id)
        self.drive = drive
        self.channels = channels
        self.options = PlatformOptions() if options is None else options
        self.timer = SitlTimer()
        self.stale_records = 0
        self._record_us = NO_RECORD_US
        self._inbox = SensorInbox()
        self._mounting = SensorMounting(self.options)
        self._rc: RcFrame | None = None
        self._serial = self._make_serial_outputs()
        self._first_channel, self._second_channel = self._drive_channels()
        self._first_us = self._second_us = 0
        self._motors, self._servos = self._normalized(0, 0)

    # --- radio and battery ----------------------------------------------------------------

    def rc_read(self) -> RcFrame | None:
        """The newest radio frame, ``None`` before the first; its time tells a lost link."""
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
        """``read_barometer`` in pascal, whatever unit the chip tells."""
        sample, self._inbox.barometer = self._inbox.barometer, None
        return sample

    @property
    def imu_overruns(self) -> int:
        """IMU samples lost because nobody read them in time."""
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
        if self._serial is not None and data.gps is not None:
            self._serial.report(data.gps, time_us)

    def collect_actuator_commands(self) -> ActuatorCommands:
        """What the servo outputs ask for now; an unclaimed or silent channel is neutral."""
        pulses_us = self._pwm.pulses_us
        first_us, second_us = pulses_us[self._first_channel], pulses_us[self._second_channel]
        if first_us != self._first_us or second_us != self._second_us:
            self._first_us, self._second_us = first_us, second_us
            self._motors, self._servos = self._normalized(first_us, second_us)
        return ActuatorCommands(self.timer.now_us(), self.vehicle_id, self._motors, self._servos)

    # --- snapshots ------------------------------------------------------------------------

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, as plain values; claims are not part of it."""
        return {
            **super().save_state(),
            "record_us": self._record_us,
            "stale_records": self.stale_records,
            "timer": self.timer.save_state(),
            "inbox": self._inbox.save_state(),
            "rc": msgspec.to_builtins(self._rc),
            "serial": None if self._serial is None else self._serial.save_state(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; the autopilot must have claimed its channels."""
        super().load_state(state)
        self._record_us = state["record_us"]
        self.stale_records = state["stale_records"]
        self.timer.load_state(state["timer"])
        self._inbox.load_state(state["inbox"])
        self._rc = msgspec.convert(state["rc"], RcFrame | None)
        if self._serial is not None and state["serial"] is not None:
            self._serial.load_state(state["serial"])

    # --- inside ---------------------------------------------------------------------------

    def _make_serial_outputs(self) -> SerialOutputs | None:
        outputs = self.options.serial_outputs
        if not outputs:
            return None
        ends = {port: self.uart_peer(port) for port in outputs}
        return SerialOutputs(outputs, ends, self.options.utc_start_s)

    def _drive_channels(self) -> tuple[int, int]:
        if self.drive is DriveKind.SKID:
            return self.channels.left, self.channels.right
        return self.channels.throttle, self.channels.steering

    def _normalized(
        self, first_us: int, second_us: int
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        first, second = normalized_from_pwm(first_us), normalized_from_pwm(second_us)
        return ((first, second), ()) if self.drive is DriveKind.SKID else ((first,), (second,))
