"""Attitudes, rates and quaternions against an independent library."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pico_gz.simulator.kinematics import Attitude, body_rates, quaternion, surface_attitude


def rotations(count: int = 200) -> Rotation:
    special = Rotation.from_euler(
        "ZYX", [(0, 0, 0), (180, 0, 0), (0, 180, 0), (0, 0, 180), (90, 0, 0), (-135, 0, 0)], True
    )
    return Rotation.concatenate([special, Rotation.random(count, random_state=1)])


def attitude(matrix: np.ndarray) -> Attitude:
    return Attitude(*(float(value) for value in matrix.reshape(9)))


def test_quaternions_of_any_attitude():
    for rotation in rotations():
        w, x, y, z = quaternion(attitude(rotation.as_matrix()))
        assert w >= 0.0
        expected = rotation.as_quat()
        agreement = abs(np.dot((x, y, z, w), expected))
        assert agreement == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("angle", [0.001, 0.1, 0.4])
def test_rates_lead_from_one_attitude_to_the_next(angle):
    before = Rotation.from_euler("ZYX", (1.0, 0.2, -0.1))
    vector = angle * np.array([0.6, -0.48, 0.64])
    after = before * Rotation.from_rotvec(vector)
    found = body_rates(attitude(before.as_matrix()), attitude(after.as_matrix()), 0.01)
    assert np.array(found) * 0.01 == pytest.approx(vector, abs=1e-6 if angle > 0.3 else 1e-11)


@pytest.mark.parametrize("yaw", [0.0, 1.0, -2.5])
def test_the_body_stands_on_the_ground(yaw):
    r = surface_attitude(float(np.cos(yaw)), float(np.sin(yaw)), 0.3, -0.2)
    matrix = np.array(r).reshape(3, 3)
    assert matrix.T @ matrix == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1.0, abs=1e-12)
    # Both horizontal axes of the body lie in the ground: a step along them stays on it.
    for axis in (matrix[:, 0], matrix[:, 1]):
        assert -axis[2] == pytest.approx(0.3 * axis[0] - 0.2 * axis[1], abs=1e-12)
    assert np.arctan2(matrix[1, 0], matrix[0, 0]) == pytest.approx(yaw, abs=1e-12)
