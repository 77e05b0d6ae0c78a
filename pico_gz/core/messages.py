"""Sensor samples, actuator commands, truth and capabilities: immutable, checked on construction.

Each part of ``SensorData`` is ``None`` when that sensor has no new sample in this step.

A fleet makes hundreds of these per step. None of them can be part of a reference cycle, so the
garbage collector need not look at them (``gc=False``); that alone saves a tenth of a step of
255 vehicles.
"""

from __future__ import annotations

from enum import IntEnum
from math import isfinite

import msgspec

from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.portable_math import DEG_PER_RAD
from pico_gz.errors import MessageError

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


class ImuData(msgspec.Struct, frozen=True, gc=False):
    """An IMU sample.

    Attributes:
        accel_mss: specific force in the body frame FRD [m/s^2]; (0, 0, -9.81) level at rest.
        gyro_rads: angular rate in the body frame FRD [rad/s]; right turn has z > 0.
        temperature_c: of the chip [degrees C].
    """

    accel_mss: Vector3
    gyro_rads: Vector3
    temperature_c: float = 25.0

    def __post_init__(self) -> None:
        """Refuse what is not finite."""
        ax, ay, az = self.accel_mss
        gx, gy, gz = self.gyro_rads
        # One sum is enough: NaN and infinity survive additions.
        if not isfinite(ax + ay + az + gx + gy + gz + self.temperature_c):
            raise MessageError(f"IMU sample is not finite: {self!r}")


class GpsFixType(IntEnum):
    """Quality of a position fix, worst first."""

    NO_FIX = 0
    FIX_2D = 1
    FIX_3D = 2
    RTK_FLOAT = 3
    RTK_FIXED = 4


class GpsData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A position fix.

    Attributes:
        lat_deg: WGS-84 latitude [degrees].
        lon_deg: WGS-84 longitude [degrees].
        alt_m: above the ellipsoid of the fleet's origin, metres.
        speed_ms: speed over ground [m/s].
        course_deg: course over ground, clockwise from north, 0..360 [degrees].
        velocity_ned_mps: velocity north, east, down [m/s].
        fix_type: quality; with ``NO_FIX`` the numbers are the last known ones.
        satellites: in use.
        hdop: horizontal dilution of precision.
    """

    lat_deg: float
    lon_deg: float
    alt_m: float
    speed_ms: float
    course_deg: float
    velocity_ned_mps: Vector3 = (0.0, 0.0, 0.0)
    fix_type: GpsFixType = GpsFixType.FIX_3D
    satellites: int = 12
    hdop: float = 0.8

    def __post_init__(self) -> None:
        """Refuse what is not finite or not on this planet."""
        vn, ve, vd = self.velocity_ned_mps
        total = self.alt_m + self.speed_ms + self.course_deg + self.hdop + vn + ve + vd
        if not isfinite(total):
            raise MessageError(f"GPS sample is not finite: {self!r}")
        if not (-90.0 <= self.lat_deg <= 90.0 and -180.0 <= self.lon_deg <= 180.0):
            raise MessageError(f"GPS sample is off the globe: {self.lat_deg}, {self.lon_deg}")


class CompassData(msgspec.Struct, frozen=True, gc=False):
    """A magnetometer sample; ``mag_gauss`` is the field in the body frame FRD [gauss]."""

    mag_gauss: Vector3

    def __post_init__(self) -> None:
        """Refuse what is not finite."""
        x, y, z = self.mag_gauss
        if not isfinite(x + y + z):
            raise MessageError(f"Compass sample is not finite: {self!r}")


class BarometerData(msgspec.Struct, frozen=True, gc=False):
    """A barometer sample: ``pressure_pa`` [Pa] and ``temperature_c`` [degrees C]."""

    pressure_pa: float
    temperature_c: float = 15.0

    def __post_init__(self) -> None:
        """Refuse what is not finite or not positive."""
        if not (isfinite(self.pressure_pa + self.temperature_c) and self.pressure_pa > 0.0):
            raise MessageError(f"Barometer sample is impossible: {self!r}")


class RangefinderData(msgspec.Struct, frozen=True, gc=False):
    """A distance sample.

    Attributes:
        distance_m: to the nearest surface; ``max_m`` when nothing is in range.
        min_m: shortest distance it can measure.
        max_m: longest distance it can measure; 1e7 when unknown.
        bearing_deg: where it looks, clockwise from the bow [degrees].
    """

    distance_m: float
    min_m: float = 0.02
    max_m: float = 4.0
    bearing_deg: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is not finite or negative."""
        if not isfinite(self.distance_m + self.bearing_deg) or self.distance_m < 0.0:
            raise MessageError(f"Rangefinder sample is impossible: {self!r}")


class EncoderData(msgspec.Struct, frozen=True, gc=False):
    """Wheel encoder counts since power-on, (left, right), and ticks per wheel turn."""

    ticks: tuple[int, int]
    ticks_per_turn: int = 20


class BatteryData(msgspec.Struct, frozen=True, gc=False):
    """Battery: volts at the terminals, amperes drawn, charge left 0..1."""

    voltage_v: float
    current_a: float
    remaining: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is not finite."""
        if not isfinite(self.voltage_v + self.current_a + self.remaining):
            raise MessageError(f"Battery sample is not finite: {self!r}")


class SensorData(msgspec.Struct, frozen=True, gc=False):
    """One vehicle's new samples of one step.

    Attributes:
        timestamp_us: simulation time of the step [us].
        vehicle_id: whose they are.
        imu: and ``gps, compass, barometer, encoders, battery``: ``None`` = no new sample.
        rangefinders: one per fitted sensor; ``None``, for one or all: no new sample.
        attitude_quat: orientation of a fitted AHRS chip, body FRD to NED, (w, x, y, z).
    """

    timestamp_us: int
    vehicle_id: int
    imu: ImuData | None = None
    gps: GpsData | None = None
    compass: CompassData | None = None
    barometer: BarometerData | None = None
    rangefinders: tuple[RangefinderData | None, ...] | None = None
    attitude_quat: Quaternion | None = None
    encoders: EncoderData | None = None
    battery: BatteryData | None = None

    def __post_init__(self) -> None:
        """Refuse a negative time and a foreign id."""
        if self.timestamp_us < 0:
            raise MessageError(f"Sensor time {self.timestamp_us} us is negative.")
        if not 1 <= self.vehicle_id <= 255:
            raise MessageError(f"Vehicle id {self.vehicle_id} is outside 1..255.")


class ActuatorCommands(msgspec.Struct, frozen=True, gc=False):
    """One vehicle's actuator commands, every value in -1..1.

    Skid steer: ``motors = (left, right)``. Ackermann: ``motors = (throttle,)`` and
    ``servos = (steering,)``, right positive. Aircraft: ``motors = (throttle,)``, 0..1, and
    ``servos = (aileron, elevator, rudder)``: right roll, nose up, nose right positive.

    Attributes:
        timestamp_us: simulation time at which they were decided [us].
        vehicle_id: whose they are.
        motors: forward positive.
        servos: right positive.
    """

    timestamp_us: int
    vehicle_id: int
    motors: tuple[float, ...] = ()
    servos: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is not a number in -1..1."""
        for value in self.motors:
            if not -1.0 <= value <= 1.0:
                raise MessageError(
                    f"Vehicle {self.vehicle_id}: motor command {value} not in -1..1."
                )
        for value in self.servos:
            if not -1.0 <= value <= 1.0:
                raise MessageError(
                    f"Vehicle {self.vehicle_id}: servo command {value} not in -1..1."
                )


class VehicleTruth(msgspec.Struct, frozen=True, gc=False):
    """Where a vehicle really is. Autopilots never see this.

    Attributes:
        timestamp_us: simulation time [us].
        vehicle_id: whose it is.
        north_m: and ``east_m, down_m``: position from the fleet's origin [m].
        quat_wxyz: attitude, body FRD to NED.
        velocity_ned_mps: velocity [m/s].
        rates_frd_radps: angular rate in the body frame [rad/s].
        accel_ned_mps2: coordinate acceleration, gravity not included [m/s^2].
        angular_accel_frd_radps2: angular acceleration [rad/s^2].
        wind_ned_mps: wind at the vehicle [m/s].
    """

    timestamp_us: int
    vehicle_id: int
    north_m: float
    east_m: float
    down_m: float
    quat_wxyz: Quaternion
    velocity_ned_mps: Vector3 = (0.0, 0.0, 0.0)
    rates_frd_radps: Vector3 = (0.0, 0.0, 0.0)
    accel_ned_mps2: Vector3 = (0.0, 0.0, 0.0)
    angular_accel_frd_radps2: Vector3 = (0.0, 0.0, 0.0)
    wind_ned_mps: Vector3 = (0.0, 0.0, 0.0)

    @property
    def yaw_deg(self) -> float:
        """Heading, clockwise from north, -180..180 [degrees]."""
        return yaw_from_quat(self.quat_wxyz) * DEG_PER_RAD


class SensorCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Which sensors the simulator delivers."""

    imu: bool = False
    gps: bool = False
    compass: bool = False
    barometer: bool = False
    rangefinder: bool = False
    optical_flow: bool = False
    camera: bool = False


class SimulatorCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter's simulator offers now.

    Attributes:
        sensors: what it delivers.
        max_rate_hz: the highest step rate that makes sense.
        multi_vehicle: whether it takes more than one vehicle.
        terrain: whether the ground may be uneven.
        wind: whether it has wind.
    """

    sensors: SensorCapabilities = SensorCapabilities()
    max_rate_hz: float = 0.0
    multi_vehicle: bool = False
    terrain: bool = False
    wind: bool = False
