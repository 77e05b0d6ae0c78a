"""How chips are mounted on the board and which sign and unit their drivers expect."""

from __future__ import annotations

from collections.abc import Callable

from pico_gz.board_options import AccelConvention, PlatformOptions
from pico_gz.messages import BarometerData, CompassData, ImuData
from pico_gz.messages.sensors import Vector3
from pico_gz.vehicle.inbox import ImuSample

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
