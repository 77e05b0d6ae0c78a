"""Sensor samples on their way to drivers, in the board's mounting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

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
from pico_gz.core.snapshot import Snapshot

# 0.64 s at the default step of 10 ms: longer than any main loop waits.
IMU_FIFO_SAMPLES: Final = 64

ImuSample = tuple[int, ImuData]


class SensorInbox(Snapshot):
    """Keeps each new sample until it is read once; only the battery can be read again.

    Attributes:
        imu_overruns: IMU samples lost because they were not read in time.
    """

    _state_fields = (
        "attitude_quat", "barometer", "battery", "compass", "encoders", "gps", "imu",
        "imu_overruns", "rangefinders",
    )  # fmt: skip
    __slots__ = _state_fields
    _state_types: ClassVar[Mapping[str, Any]] = {
        "attitude_quat": Quaternion | None,
        "barometer": BarometerData | None,
        "battery": BatteryData | None,
        "compass": CompassData | None,
        "encoders": EncoderData | None,
        "gps": GpsData | None,
        "imu": list[ImuSample],
        "rangefinders": tuple[RangefinderData | None, ...] | None,
    }

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
