"""Coordinate frames, rotations, and metres to latitude and longitude.

Inside the package the world is NED (north, east, down), the body FRD (forward, right, down),
yaw runs clockwise from north and a quaternion is (w, x, y, z), turning body into NED. Gazebo
speaks ENU and FLU; only code that faces it uses those conversions. The geodetic frame is in
``LocalFrame``. Angles go through ``portable_math``, so results may be hashed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from math import floor
from typing import Final

from pico_gz.core import portable_math
from pico_gz.core.portable_math import TWO_PI
from pico_gz.errors import ConfigError

# WGS-84.
SEMI_MAJOR_M: Final = 6378137.0
FLATTENING: Final = 1.0 / 298.257223563
SEMI_MINOR_M: Final = SEMI_MAJOR_M * (1.0 - FLATTENING)
ECCENTRICITY_SQ: Final = FLATTENING * (2.0 - FLATTENING)
_SECOND_ECCENTRICITY_SQ: Final = ECCENTRICITY_SQ / (1.0 - ECCENTRICITY_SQ)

Vector3 = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class LocalFrame:
    """The plane that touches the WGS-84 ellipsoid's normal at the origin: north, east, down.

    Exact over any distance, through earth-centred coordinates; all operations come from
    ``portable_math``, so the bits are the same on every machine.

    Attributes:
        lat_deg: latitude of the origin, -90..90 [degrees].
        lon_deg: longitude of the origin, -180..180 [degrees].
        alt_m: altitude of the origin above the ellipsoid [m].

    Raises:
        ConfigError: the origin is not on the globe.
    """

    lat_deg: float
    lon_deg: float
    alt_m: float = 0.0
    sin_lat: float = field(init=False, repr=False, compare=False)
    cos_lat: float = field(init=False, repr=False, compare=False)
    sin_lon: float = field(init=False, repr=False, compare=False)
    cos_lon: float = field(init=False, repr=False, compare=False)
    origin_ecef_m: tuple[float, float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the origin and prepare what every conversion needs."""
        if not -90.0 <= self.lat_deg <= 90.0:
            raise ConfigError(f"Latitude {self.lat_deg} is outside -90..90.")
        if not -180.0 <= self.lon_deg <= 180.0:
            raise ConfigError(f"Longitude {self.lon_deg} is outside -180..180.")
        if not -1.0e5 < self.alt_m < 1.0e5:
            raise ConfigError(f"Altitude {self.alt_m} m is not near the ground.")
        sin_lat, cos_lat = portable_math.sincos(self.lat_deg * portable_math.RAD_PER_DEG)
        sin_lon, cos_lon = portable_math.sincos(self.lon_deg * portable_math.RAD_PER_DEG)
        origin = ecef_from_geodetic(self.lat_deg, self.lon_deg, self.alt_m)
        for name, value in (
            ("sin_lat", sin_lat), ("cos_lat", cos_lat),
            ("sin_lon", sin_lon), ("cos_lon", cos_lon), ("origin_ecef_m", origin),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def geodetic_from_ned(self, north_m: float, east_m: float, down_m: float) -> Vector3:
        """Return (latitude [deg], longitude [deg], altitude [m]) of a point."""
        # Down along the meridian plane, then turned to the origin's longitude.
        out = -self.sin_lat * north_m - self.cos_lat * down_m
        x0, y0, z0 = self.origin_ecef_m
        x = x0 + (self.cos_lon * out - self.sin_lon * east_m)
        y = y0 + (self.sin_lon * out + self.cos_lon * east_m)
        z = z0 + (self.cos_lat * north_m - self.sin_lat * down_m)
        return geodetic_from_ecef(x, y, z)

    def ned_from_geodetic(self, lat_deg: float, lon_deg: float, alt_m: float) -> Vector3:
        """Return (north, east, down) of a place [m]."""
        x, y, z = ecef_from_geodetic(lat_deg, lon_deg, alt_m)
        x0, y0, z0 = self.origin_ecef_m
        dx, dy, dz = x - x0, y - y0, z - z0
        out = self.cos_lon * dx + self.sin_lon * dy
        return (
            self.cos_lat * dz - self.sin_lat * out,
            self.cos_lon * dy - self.sin_lon * dx,
            -(self.cos_lat * out + self.sin_lat * dz),
        )


def ecef_from_geodetic(lat_deg: float, lon_deg: float, alt_m: float) -> Vector3:
    """Return earth-centred, earth-fixed coordinates [m]."""
    sin_lat, cos_lat = portable_math.sincos(lat_deg * portable_math.RAD_PER_DEG)
    sin_lon, cos_lon = portable_math.sincos(lon_deg * portable_math.RAD_PER_DEG)
    normal_m = SEMI_MAJOR_M / math.sqrt(1.0 - ECCENTRICITY_SQ * sin_lat * sin_lat)
    across = (normal_m + alt_m) * cos_lat
    return (
        across * cos_lon,
        across * sin_lon,
        (normal_m * (1.0 - ECCENTRICITY_SQ) + alt_m) * sin_lat,
    )


def geodetic_from_ecef(x_m: float, y_m: float, z_m: float) -> Vector3:
    """Return (latitude [deg], longitude [deg], altitude [m]) of an earth-centred point.

    Bowring's formula, twice: below 1e-9 m near the ground.
    """
    across = math.sqrt(x_m * x_m + y_m * y_m)
    # The parametric latitude as a point (rim, axis) of any length.
    rim, axis = SEMI_MINOR_M * across, SEMI_MAJOR_M * z_m
    for _ in range(2):
        length = math.sqrt(rim * rim + axis * axis)
        cos_b, sin_b = rim / length, axis / length
        up = z_m + _SECOND_ECCENTRICITY_SQ * SEMI_MINOR_M * (sin_b * sin_b * sin_b)
        out = across - ECCENTRICITY_SQ * SEMI_MAJOR_M * (cos_b * cos_b * cos_b)
        rim, axis = out * SEMI_MAJOR_M, up * SEMI_MINOR_M
    length = math.sqrt(out * out + up * up)
    cos_lat, sin_lat = out / length, up / length
    alt = (
        across * cos_lat
        + z_m * sin_lat
        - SEMI_MAJOR_M * math.sqrt(1.0 - ECCENTRICITY_SQ * sin_lat * sin_lat)
    )
    return (
        portable_math.atan2(up, out) * portable_math.DEG_PER_RAD,
        portable_math.atan2(y_m, x_m) * portable_math.DEG_PER_RAD,
        alt,
    )


Quaternion = tuple[float, float, float, float]
Matrix3 = tuple[Vector3, Vector3, Vector3]

_HALF_SQRT2: Final = 0.7071067811865476


def ned_from_enu(east: float, north: float, up: float) -> tuple[float, float, float]:
    """Turn an ENU vector into NED."""
    return north, east, -up


def enu_from_ned(north: float, east: float, down: float) -> tuple[float, float, float]:
    """Turn a NED vector into ENU."""
    return east, north, -down


def frd_from_flu(forward: float, left: float, up: float) -> tuple[float, float, float]:
    """Turn a body vector FLU into FRD."""
    return forward, -left, -up


def flu_from_frd(forward: float, right: float, down: float) -> tuple[float, float, float]:
    """Turn a body vector FRD into FLU."""
    return forward, -right, -down


def yaw_ned_from_enu(yaw_enu_rad: float) -> float:
    """Turn an angle counter-clockwise from east into one clockwise from north, -pi..pi."""
    return float(wrap_pi(portable_math.HALF_PI - yaw_enu_rad))


def yaw_enu_from_ned(yaw_ned_rad: float) -> float:
    """Turn an angle clockwise from north into one counter-clockwise from east, -pi..pi."""
    return float(wrap_pi(portable_math.HALF_PI - yaw_ned_rad))


def wrap_pi(angle_rad: float) -> float:
    """Bring an angle into -pi <= angle < pi [rad]."""
    return angle_rad - TWO_PI * floor(angle_rad / TWO_PI + 0.5)


def wrap_deg_360(angle_deg: float) -> float:
    """Bring an angle into 0 <= angle < 360 [degrees]."""
    wrapped = angle_deg - 360.0 * math.floor(angle_deg / 360.0)
    # A tiny negative angle rounds up to exactly 360, the tiniest ones stay as they are.
    return 0.0 if wrapped >= 360.0 or wrapped < 0.0 else wrapped


def quat_multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the rotation ``a`` after ``b``."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def quat_conjugate(quat: Quaternion) -> Quaternion:
    """Return the inverse of a unit quaternion."""
    w, x, y, z = quat
    return w, -x, -y, -z


def quat_normalize(quat: Quaternion) -> Quaternion:
    """Return the quaternion at length 1; a zero one becomes "no rotation"."""
    w, x, y, z = quat
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if length == 0.0:
        return 1.0, 0.0, 0.0, 0.0
    return w / length, x / length, y / length, z / length


def quat_rotate(quat: Quaternion, vector: Vector3) -> Vector3:
    """Return ``vector`` turned by a unit quaternion (body to world for an attitude)."""
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = rotation_from_quat(quat)
    x, y, z = vector
    return (
        r00 * x + r01 * y + r02 * z,
        r10 * x + r11 * y + r12 * z,
        r20 * x + r21 * y + r22 * z,
    )


def quat_from_euler(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Quaternion:
    """Return the attitude of roll after pitch after yaw, all right-handed in NED/FRD."""
    sr, cr = portable_math.sincos(0.5 * roll_rad)
    sp, cp = portable_math.sincos(0.5 * pitch_rad)
    sy, cy = portable_math.sincos(0.5 * yaw_rad)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def euler_from_quat(quat: Quaternion) -> Vector3:
    """Return (roll, pitch, yaw) of a unit quaternion [rad]."""
    w, x, y, z = quat
    roll = portable_math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = portable_math.asin(2.0 * (w * y - z * x))
    return roll, pitch, yaw_from_quat(quat)


def yaw_from_quat(quat: Quaternion) -> float:
    """Return the heading of a unit quaternion, clockwise from north, -pi..pi [rad]."""
    w, x, y, z = quat
    yaw: float = portable_math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return yaw


def rotation_from_quat(quat: Quaternion) -> Matrix3:
    """Return the matrix NED-from-FRD of a unit quaternion, row by row."""
    w, x, y, z = quat
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


def quat_from_rotation(rotation: Matrix3) -> Quaternion:
    """Return the unit quaternion (w >= 0) of a rotation matrix NED-from-FRD."""
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = rotation
    # Divide by the largest component: dividing by a small one would lose digits.
    squares = (1.0 + r00 + r11 + r22, 1.0 + r00 - r11 - r22,
               1.0 - r00 + r11 - r22, 1.0 - r00 - r11 + r22)  # fmt: skip
    largest = squares.index(max(squares))
    columns = (
        (squares[0], r21 - r12, r02 - r20, r10 - r01),
        (r21 - r12, squares[1], r01 + r10, r02 + r20),
        (r02 - r20, r01 + r10, squares[2], r12 + r21),
        (r10 - r01, r02 + r20, r12 + r21, squares[3]),
    )
    w, x, y, z = quat_normalize(columns[largest])
    return (w, x, y, z) if w >= 0.0 else _negated((w, x, y, z))


def quat_ned_frd_from_enu_flu(quat: Quaternion) -> Quaternion:
    """Turn an attitude FLU-to-ENU (Gazebo) into FRD-to-NED."""
    return _swap_worlds(quat)


def quat_enu_flu_from_ned_frd(quat: Quaternion) -> Quaternion:
    """Turn an attitude FRD-to-NED into FLU-to-ENU (Gazebo)."""
    return _swap_worlds(quat)


def _swap_worlds(quat: Quaternion) -> Quaternion:
    # NED-from-ENU is half a turn about (1, 1, 0)/sqrt 2 and FRD-from-FLU half a turn about x;
    # each is its own inverse, so both directions are the same product, up to the sign.
    w, x, y, z = quat
    result = (
        _HALF_SQRT2 * (w + z),
        _HALF_SQRT2 * (x + y),
        _HALF_SQRT2 * (x - y),
        _HALF_SQRT2 * (w - z),
    )
    return result if result[0] >= 0.0 else _negated(result)


def _negated(quat: Quaternion) -> Quaternion:
    w, x, y, z = quat
    return -w, -x, -y, -z
