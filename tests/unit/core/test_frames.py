"""Frames against independent libraries and by hand."""

from __future__ import annotations

import math

import numpy as np
import pymap3d
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pico_gz.core import frames
from pico_gz.core.frames import LocalFrame
from pico_gz.errors import ConfigError

PLACES = [
    (35.681236, 139.767125, 40.0),
    (-35.363261, 149.165230, 584.0),
    (47.3977, 8.5456, 488.0),
    (0.0, -180.0, 0.0),
    (89.9, 10.0, 100.0),
    (-77.85, 166.67, 20.0),
]
METRES = st.floats(-10_000.0, 10_000.0)
ANGLE = st.floats(-3.1, 3.1)


def scipy_rotation(quat) -> np.ndarray:
    w, x, y, z = quat
    return Rotation.from_quat([x, y, z, w]).as_matrix()


@pytest.mark.parametrize("place", PLACES)
def test_local_frame_agrees_with_pymap3d(place) -> None:
    rng = np.random.default_rng(1)
    n, e, d = (rng.uniform(-s, s, 500) for s in (1e4, 1e4, 1e3))
    frame, points = LocalFrame(*place), zip(n.tolist(), e.tolist(), d.tolist(), strict=True)
    lat, lon, alt = np.array([frame.geodetic_from_ned(*point) for point in points]).T
    true_lat, true_lon, true_alt = pymap3d.ned2geodetic(n, e, d, *place)
    assert np.max(np.abs(lat - true_lat)) < 1e-13
    assert np.max(np.abs((lon - true_lon + 180.0) % 360.0 - 180.0)) < 1e-10
    assert np.max(np.abs(alt - true_alt)) < 1e-7


@pytest.mark.parametrize("place", PLACES)
@given(north=METRES, east=METRES, down=st.floats(-1000.0, 1000.0))
def test_round_trip_within_a_hundredth_of_a_micrometre(place, north, east, down) -> None:
    frame = LocalFrame(*place)
    there = frame.geodetic_from_ned(north, east, down)
    back = frame.ned_from_geodetic(*there)
    assert math.dist(back, (north, east, down)) < 1e-8  # promised: 1 mm


def test_gps_resolution_costs_at_most_six_millimetres_more() -> None:
    frame = LocalFrame(*PLACES[0])
    lat, lon, alt = frame.geodetic_from_ned(8000.0, -6000.0, 1.0)
    back = frame.ned_from_geodetic(round(lat, 7), round(lon, 7), alt)
    assert math.dist(back, (8000.0, -6000.0, 1.0)) < 0.0075


def test_origin_is_the_origin() -> None:
    frame = LocalFrame(*PLACES[1])
    assert frame.geodetic_from_ned(0.0, 0.0, 0.0) == pytest.approx(PLACES[1], abs=1e-8)
    assert frame.ned_from_geodetic(*PLACES[1]) == pytest.approx((0, 0, 0), abs=1e-8)


@pytest.mark.parametrize("wrong", [(135.0, 0.0, 0.0), (0.0, 181.0, 0.0), (0.0, 0.0, math.nan)])
def test_local_frame_refuses_what_is_not_on_earth(wrong) -> None:
    with pytest.raises(ConfigError):
        LocalFrame(*wrong)


def test_world_and_body_axes() -> None:
    assert frames.ned_from_enu(1.0, 2.0, 3.0) == (2.0, 1.0, -3.0)
    assert frames.enu_from_ned(2.0, 1.0, -3.0) == (1.0, 2.0, 3.0)
    assert frames.frd_from_flu(1.0, 2.0, 3.0) == (1.0, -2.0, -3.0)
    assert frames.flu_from_frd(1.0, -2.0, -3.0) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("yaw_ned_deg", "yaw_enu_deg"), [(0.0, 90.0), (90.0, 0.0), (-90.0, -180.0), (45.0, 45.0)]
)
def test_yaw_between_worlds(yaw_ned_deg: float, yaw_enu_deg: float) -> None:
    ned, enu = math.radians(yaw_ned_deg), math.radians(yaw_enu_deg)
    assert frames.yaw_enu_from_ned(ned) == pytest.approx(enu)
    assert math.cos(frames.yaw_ned_from_enu(enu) - ned) == pytest.approx(1.0)


@given(st.floats(-1e4, 1e4))
def test_wrapping(angle: float) -> None:
    wrapped = frames.wrap_pi(angle)
    assert -math.pi - 1e-9 <= wrapped <= math.pi + 1e-9
    assert math.cos(wrapped - angle) == pytest.approx(1.0)
    degrees = frames.wrap_deg_360(angle)
    assert 0.0 <= degrees < 360.0
    assert math.cos(math.radians(degrees - angle)) == pytest.approx(1.0)


def test_wrap_never_gives_360() -> None:
    assert frames.wrap_deg_360(-1e-15) == 0.0
    assert frames.wrap_deg_360(-5e-324) == 0.0
    assert frames.wrap_deg_360(720.0) == 0.0


@given(ANGLE, st.floats(-1.5, 1.5), ANGLE)
def test_euler_angles_agree_with_scipy(roll: float, pitch: float, yaw: float) -> None:
    quat = frames.quat_from_euler(roll, pitch, yaw)
    expected = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    assert np.allclose(frames.rotation_from_quat(quat), expected, atol=1e-14)
    assert np.allclose(scipy_rotation(quat), expected, atol=1e-14)
    assert frames.euler_from_quat(quat) == pytest.approx((roll, pitch, yaw), abs=1e-9)
    assert frames.yaw_from_quat(quat) == pytest.approx(yaw, abs=1e-9)


@given(ANGLE, st.floats(-1.5, 1.5), ANGLE)
def test_quaternion_of_a_rotation_is_its_inverse(roll: float, pitch: float, yaw: float) -> None:
    rotation = frames.rotation_from_quat(frames.quat_from_euler(roll, pitch, yaw))
    quat = frames.quat_from_rotation(rotation)
    assert quat[0] >= 0.0
    assert np.allclose(frames.rotation_from_quat(quat), rotation, atol=1e-14)


@given(ANGLE, ANGLE, st.tuples(ANGLE, ANGLE, ANGLE))
def test_products_and_turning(one: float, other: float, vector) -> None:
    a = frames.quat_from_euler(one, 0.3, other)
    b = frames.quat_from_euler(other, -0.2, one)
    both = frames.quat_rotate(frames.quat_multiply(a, b), vector)
    assert both == pytest.approx(frames.quat_rotate(a, frames.quat_rotate(b, vector)), abs=1e-12)
    undone = frames.quat_rotate(frames.quat_conjugate(a), frames.quat_rotate(a, vector))
    assert undone == pytest.approx(vector, abs=1e-12)


@given(ANGLE, st.floats(-1.5, 1.5), ANGLE)
def test_gazebo_attitude_is_the_same_attitude(roll: float, pitch: float, yaw: float) -> None:
    enu_flu = frames.quat_from_euler(roll, pitch, yaw)
    ned_frd = frames.quat_ned_frd_from_enu_flu(enu_flu)
    # A body vector seen in either world is the same arrow.
    in_enu = frames.quat_rotate(enu_flu, frames.flu_from_frd(0.3, -0.5, 0.8))
    in_ned = frames.quat_rotate(ned_frd, (0.3, -0.5, 0.8))
    assert frames.ned_from_enu(*in_enu) == pytest.approx(in_ned, abs=1e-12)
    back = frames.quat_enu_flu_from_ned_frd(ned_frd)
    assert np.allclose(scipy_rotation(back), scipy_rotation(enu_flu), atol=1e-12)


def test_normalize() -> None:
    assert frames.quat_normalize((0.0, 0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0, 0.0)
    assert frames.quat_normalize((0.0, 3.0, 0.0, 4.0)) == (0.0, 0.6, 0.0, 0.8)
