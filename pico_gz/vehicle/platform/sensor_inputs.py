"""Sensor samples on their way to drivers, in the board's mounting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pico_gz.core.board_options import AccelConvention, PlatformOptions
from pico_gz.core.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    GpsData,
    ImuData,
    Quaternion,
    RangefinderData,
    SensorData,
    Vector3,
)
from pico_gz.core.snapshot import Snapshot, to_plain

# 0.64 s at the default step of 10 ms: longer than any main loop waits.
IMU_FIFO_SAMPLES = 64

ImuSample = tuple[int, ImuData]


class SensorInbox(Snapshot):
    """Keeps each new sample until it is read once; only the battery can be read again.

    Attributes:
        imu_overruns: IMU samples lost because nobody read them in time.
    """

    __slots__ = (
        "attitude_quat",
        "barometer",
        "battery",
        "compass",
        "encoders",
        "gps",
        "imu",
        "imu_overruns",
        "rangefinders",
    )

    def __init__(self) -> None:
        self.imu: deque[ImuSample] = deque(maxlen=IMU_FIFO_SAMPLES)
        self.imu_overruns = 0
        self.gps: GpsData | None = None
        self.compass: CompassData | None = None
        self.barometer: BarometerData | None = None
        self.rangefinders: tuple[RangefinderData | None, ...] | None = None
        self.attitude_quat: Quaternion | None = None
        self.encoders: EncoderData | None = None
        self.battery: BatteryData | None = None

    def put(self, data: SensorData) -> None:
        """Take the new samples of one step."""
        if data.imu is not None:
            if len(self.imu) == IMU_FIFO_SAMPLES:
                self.imu_overruns += 1
            self.imu.append((data.timestamp_us, data.imu))
        if data.gps is not None:
            self.gps = data.gps
        if data.compass is not None:
            self.compass = data.compass
        if data.barometer is not None:
            self.barometer = data.barometer
        if data.rangefinders is not None:
            self.rangefinders = data.rangefinders
        if data.attitude_quat is not None:
            self.attitude_quat = data.attitude_quat
        if data.encoders is not None:
            self.encoders = data.encoders
        if data.battery is not None:
            self.battery = data.battery

    def save_state(self) -> dict[str, Any]:
        """The samples that nobody has read yet, as plain values."""
        return {name: to_plain(getattr(self, name)) for name in self.__slots__}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        samples = msgspec.convert(state["imu"], list[ImuSample])
        self.imu = deque(samples, maxlen=IMU_FIFO_SAMPLES)
        self.imu_overruns = state["imu_overruns"]
        self.gps = msgspec.convert(state["gps"], GpsData | None)
        self.compass = msgspec.convert(state["compass"], CompassData | None)
        self.barometer = msgspec.convert(state["barometer"], BarometerData | None)
        self.rangefinders = msgspec.convert(
            state["rangefinders"], tuple[RangefinderData | None, ...] | None
        )
        self.attitude_quat = msgspec.convert(state["attitude_quat"], Quaternion | None)
        self.encoders = msgspec.convert(state["encoders"], EncoderData | None)
        self.battery = msgspec.convert(state["battery"], BatteryData | None)


VectorMap = Callable[[Vector3], Vector3]


class SensorMounting:
    """Turns body-frame samples (FRD, specific force, gauss, Pa) into what the chips show."""

    def __init__(self, options: PlatformOptions) -> None:
        accel_sign = -1.0 if options.accel_convention is AccelConvention.GRAVITY_POSITIVE else 1.0
        self._accel = vector_map(options.axis_remap, accel_sign)
        self._gyro = vector_map(options.axis_remap, 1.0)
        self._mag = vector_map(options.axis_remap, options.compass_unit.per_gauss)
        self._pascals = options.pressure_unit.pascals
        plain_axes = options.axis_remap == ("+x", "+y", "+z")
        self.imu_is_plain = plain_axes and accel_sign > 0.0
        self.compass_is_plain = plain_axes and options.compass_unit.per_gauss == 1.0
        self.barometer_is_plain = self._pascals == 1.0

    def imu(self, sample: ImuSample) -> ImuSample:
        """An IMU sample as the chip gives it."""
        time_us, data = sample
        accel, gyro = self._accel(data.accel_mss), self._gyro(data.gyro_rads)
        return time_us, ImuData(accel, gyro, data.temperature_c)

    def compass(self, data: CompassData) -> CompassData:
        """A compass sample as the chip gives it, in the chosen unit."""
        return CompassData(self._mag(data.mag_gauss))

    def barometer(self, data: BarometerData) -> BarometerData:
        """A barometer sample in the chosen unit."""
        return BarometerData(data.pressure_pa / self._pascals, data.temperature_c)


def vector_map(axis_remap: tuple[str, str, str], scale: float) -> VectorMap:
    """Make the function that picks, signs and scales the three components."""
    (i, a), (j, b), (k, c) = (
        ("xyz".index(axis[1]), -scale if axis[0] == "-" else scale) for axis in axis_remap
    )

    def mapped(vector: Vector3) -> Vector3:
        return a * vector[i], b * vector[j], c * vector[k]

    return mapped
