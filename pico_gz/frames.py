"""Frames and how to change between them; pure functions.

Inside the package the world is NED (north, east, down), the body FRD (forward, right, down),
yaw runs clockwise from north and a quaternion is (w, x, y, z), turning body into NED. Gazebo
speaks ENU and FLU; only code that faces it uses those conversions. The geodetic frame is in
``LocalFrame``. Angles go through ``exact``, so results may be hashed.
"""

from __future__ import annotations

from pico_gz import exact
from pico_gz.exact import Arithmetic, Column
from pico_gz.local_frame import LocalFrame

__all__ = [
    "LocalFrame",
    "enu_from_ned",
    "euler_from_quat",
    "flu_from_frd",
    "frd_from_flu",
    "ned_from_enu",
    "quat_conjugate",
    "quat_enu_flu_from_ned_frd",
    "quat_from_euler",
    "quat_from_rotation",
    "quat_multiply",
    "quat_ned_frd_from_enu_flu",
    "quat_normalize",
    "quat_rotate",
    "rotation_from_quat",
    "wrap_deg_360",
    "wrap_pi",
    "yaw_enu_from_ned",
    "yaw_from_quat",
    "yaw_ned_from_enu",
]

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Matrix3 = tuple[Vector3, Vector3, Vector3]

_HALF_SQRT2 = 0.7071067811865476


def ned_from_enu(east: Column, north: Column, up: Column) -> tuple[Column, Column, Column]:
    """Turn an ENU vector into NED."""
    return north, east, -up


def enu_from_ned(north: Column, east: Column, down: Column) -> tuple[Column, Column, Column]:
    """Turn a NED vector into ENU."""
    return east, north, -down


def frd_from_flu(forward: Column, left: Column, up: Column) -> tuple[Column, Column, Column]:
    """Turn a body vector FLU into FRD."""
    return forward, -left, -up


def flu_from_frd(forward: Column, right: Column, down: Column) -> tuple[Column, Column, Column]:
    """Turn a body vector FRD into FLU."""
    return forward, -right, -down


def yaw_ned_from_enu(yaw_enu_rad: float) -> float:
    """Turn an angle counter-clockwise from east into one clockwise from north, -pi..pi."""
    return float(wrap_pi(exact.FLOATS, exact.HALF_PI - yaw_enu_rad))


def yaw_enu_from_ned(yaw_ned_rad: float) -> float:
    """Turn an angle clockwise from north into one counter-clockwise from east, -pi..pi."""
    return float(wrap_pi(exact.FLOATS, exact.HALF_PI - yaw_ned_rad))


def wrap_pi(ops: Arithmetic, angle_rad: Column) -> Column:
    """Bring an angle into -pi <= angle < pi [rad]."""
    return angle_rad - exact.TWO_PI * ops.floor(angle_rad / exact.TWO_PI + 0.5)


def wrap_deg_360(ops: Arithmetic, angle_deg: Column) -> Column:
    """Bring an angle into 0 <= angle < 360 [degrees]."""
    wrapped = angle_deg - 360.0 * ops.floor(angle_deg / 360.0)
    # A tiny negative angle rounds up to exactly 360, the tiniest ones stay as they are.
    return ops.where((wrapped >= 360.0) | (wrapped < 0.0), 0.0, wrapped)


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
    length = exact.FLOATS.sqrt(w * w + x * x + y * y + z * z)
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
    sr, cr = exact.sincos(exact.FLOATS, 0.5 * roll_rad)
    sp, cp = exact.sincos(exact.FLOATS, 0.5 * pitch_rad)
    sy, cy = exact.sincos(exact.FLOATS, 0.5 * yaw_rad)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def euler_from_quat(quat: Quaternion) -> Vector3:
    """Return (roll, pitch, yaw) of a unit quaternion [rad]."""
    w, x, y, z = quat
    ops = exact.FLOATS
    roll = exact.atan2(ops, 2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = exact.asin(ops, 2.0 * (w * y - z * x))
    return roll, pitch, yaw_from_quat(quat)


def yaw_from_quat(quat: Quaternion) -> float:
    """Return the heading of a unit quaternion, clockwise from north, -pi..pi [rad]."""
    w, x, y, z = quat
    yaw: float = exact.atan2(exact.FLOATS, 2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
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
