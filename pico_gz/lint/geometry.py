"""Just enough about rotations to compare two of them."""

from __future__ import annotations

import math

from pico_gz.lint.document import Node

Matrix = tuple[tuple[float, float, float], ...]
Angles = tuple[float, float, float]

ROLLED: Angles = (math.pi, 0.0, 0.0)


def pose_angles(node: Node | None) -> Angles | None:
    """Roll, pitch and yaw of a pose [rad]; None: not given, or not to be understood."""
    if node is None:
        return None
    words = node.text.split()
    if len(words) != 6:
        return None
    try:
        roll, pitch, yaw = (float(word) for word in words[3:])
    except ValueError:
        return None
    if _in_degrees(node):
        return math.radians(roll), math.radians(pitch), math.radians(yaw)
    return roll, pitch, yaw


def looks_like_degrees(node: Node | None) -> bool:
    """Whether a pose has angles beyond a full turn in radians: 180 was hardly meant so."""
    angles = pose_angles(node)
    if node is None or angles is None or _in_degrees(node):
        return False
    return any(abs(angle) > 2.0 * math.pi for angle in angles)


def angle_between(first: Angles, second: Angles) -> float:
    """The angle of the turn that leads from one attitude to the other [rad]."""
    a, b = _matrix(first), _matrix(second)
    trace = sum(a[i][j] * b[i][j] for i in range(3) for j in range(3))
    return math.acos(min(1.0, max(-1.0, 0.5 * (trace - 1.0))))


def _in_degrees(node: Node) -> bool:
    return node.attributes.get("degrees", "").lower() in ("true", "1")


def _matrix(angles: Angles) -> Matrix:
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(angle), math.sin(angle)) for angle in angles)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
