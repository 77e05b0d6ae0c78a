"""Ground: heights, slopes, attitude, gravity and energy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pico_gz.core.rover_spec import rover_spec
from pico_gz.errors import ConfigError
from pico_gz.simulator.terrain import HeightmapTerrain, RampTerrain
from tests.unit.simulator.lane_rig import (
    ackermann,
    ideal,
    lone_lane,
    run,
    specific_force,
    yaw_rad,
)

G = 9.80665


def hills() -> HeightmapTerrain:
    rows = [
        [0.4 * math.sin(0.5 * n) + 0.3 * math.cos(0.7 * e) for e in range(40)] for n in range(40)
    ]
    return HeightmapTerrain(rows, 1.0)


def free_roller(**changes):
    """Nothing but gravity acts on it."""
    return ideal(lag_s=0.1, coast_lag_s=math.inf, hold_mps2=0.0, **changes)


def test_the_heightmap_is_bilinear():
    ground = HeightmapTerrain([[0.0, 1.0], [2.0, 5.0]], 2.0, 10.0, 20.0)
    assert ground.height_m(10.0, 20.0) == 0.0
    assert ground.height_m(12.0, 22.0) == 5.0
    assert ground.height_m(11.0, 21.0) == 2.0
    assert ground.slope(11.0, 21.0) == (1.5, 1.0)


def test_beyond_the_map_the_ground_goes_on_level():
    ground = HeightmapTerrain([[0.0, 1.0], [2.0, 5.0]], 2.0, 10.0, 20.0)
    assert ground.height_m(50.0, 50.0) == 5.0
    assert ground.slope(50.0, 50.0) == (0.0, 0.0)


def test_the_map_lies_around_the_origin_by_default():
    ground = HeightmapTerrain([[0.0] * 5] * 3, 2.0)
    assert (ground.north_m, ground.east_m) == (-2.0, -4.0)


def test_a_ramp_of_finite_length():
    ground = RampTerrain(45.0, 90.0, 2.0, 3.0)
    heights = [ground.height_m(7.0, east) for east in (0.0, 2.0, 3.0, 5.0, 9.0)]
    assert heights == pytest.approx([0.0, 0.0, 1.0, 3.0, 3.0], abs=1e-12)
    assert ground.slope(0.0, 3.0) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert ground.slope(0.0, 9.0) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("yaw_deg", "expected"),
    [
        (0.0, (G * math.sin(math.radians(10)), 0.0)),  # nose up
        (180.0, (-G * math.sin(math.radians(10)), 0.0)),  # nose down
        (-90.0, (0.0, G * math.sin(math.radians(10)))),  # right side up
        (90.0, (0.0, -G * math.sin(math.radians(10)))),  # right side down
    ],
)
def test_parked_on_a_slope(yaw_deg, expected):
    lane = lone_lane(rover_spec("pico_trail_freenove"), (0, 0, yaw_deg), terrain=RampTerrain(10.0))
    run(lane, (0.0, 0.0), steps=20)
    force = specific_force(lane)
    assert force == pytest.approx((*expected, -G * math.cos(math.radians(10))), abs=1e-12)
    rates = (lane.motion.rate_x_radps, lane.motion.rate_y_radps, lane.motion.rate_z_radps)
    assert rates == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_ten_degrees_as_in_the_book():
    lane = lone_lane(rover_spec("pico_trail_freenove"), terrain=RampTerrain(10.0))
    run(lane, (0.0, 0.0), steps=1)
    assert specific_force(lane) == pytest.approx((1.703, 0.0, -9.658), abs=5e-4)


@pytest.mark.parametrize("yaw_deg", range(0, 360, 40))
def test_at_rest_the_force_is_g_on_any_slope(yaw_deg):
    lane = lone_lane(ideal(), (3.3, -4.7, yaw_deg), terrain=hills())
    run(lane, (0.0, 0.0), steps=1)
    assert math.hypot(*specific_force(lane)) == pytest.approx(G, abs=1e-12)


def test_height_follows_the_ground():
    lane = run(lone_lane(ideal(), (-3.0, 2.0, 50.0), terrain=hills()), (0.9, 0.8), steps=300)
    height = hills().height_m(lane.pose.north_m, lane.pose.east_m)
    assert lane.motion.down_m == -height
    assert lane.motion.vel_d_mps != 0.0


def test_distance_is_counted_along_the_slope():
    lane = run(lone_lane(ideal(), terrain=RampTerrain(30.0)), (1.0, 1.0), steps=200)
    assert lane.pose.north_m == pytest.approx(2.0 * math.cos(math.radians(30.0)), abs=1e-12)
    assert lane.motion.down_m == pytest.approx(-1.0, abs=1e-12)


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (-6.0, 3.0, 140.0), (4.4, 4.4, 250.0)])
def test_free_rolling_keeps_its_energy(start):
    lane = lone_lane(free_roller(max_speed=20.0), start, terrain=hills(), speed_mps=2.0)

    def energy() -> float:
        return 0.5 * lane.pose.speed_mps**2 - G * lane.motion.down_m

    before = energy()
    scale = 0.5 * 2.0**2 + 0.7 * G
    for _ in range(300):
        run(lane, (0.0, 0.0), steps=1)
        assert energy() == pytest.approx(before, abs=1e-6 * scale)


def test_rolling_up_and_down_a_ramp_keeps_its_energy():
    lane = lone_lane(free_roller(max_speed=20.0), terrain=RampTerrain(15.0), speed_mps=3.0)
    run(lane, (0.0, 0.0), steps=600)
    assert lane.pose.speed_mps < 0.0
    energy = 0.5 * lane.pose.speed_mps**2 - G * lane.motion.down_m
    assert energy == pytest.approx(4.5, rel=1e-6)


def test_a_slope_steeper_than_the_motors_stalls_the_rover():
    spec = rover_spec("pico_trail_freenove", {"accel_limit_mps2": 1.0, "brake_limit_mps2": 1.0})
    up = run(lone_lane(spec, terrain=RampTerrain(15.0)), (1.0, 1.0), steps=300)
    assert up.pose.north_m == pytest.approx(0.0, abs=1e-9)
    gentle = run(lone_lane(spec, terrain=RampTerrain(3.0)), (1.0, 1.0), steps=300)
    assert gentle.pose.north_m > 1.0


def test_turning_on_a_slope_turns_about_the_ground_normal():
    lane = lone_lane(ideal(), terrain=RampTerrain(20.0))
    for _ in range(100):
        run(lane, (0.1, -0.1), steps=1)
        rates = (lane.motion.rate_x_radps, lane.motion.rate_y_radps)
        assert rates == pytest.approx((0.0, 0.0), abs=1e-9)
        assert lane.motion.rate_z_radps == pytest.approx(0.2 / 0.15, rel=5e-3)


def test_the_gyro_integrates_to_the_attitude_on_hills():
    lane = lone_lane(ackermann(), (1.0, 1.0, 10.0), terrain=hills())
    m = lane.motion
    r = np.array([[m.r00, m.r01, m.r02], [m.r10, m.r11, m.r12], [m.r20, m.r21, m.r22]])
    for _ in range(500):
        run(lane, (0.8, 0.3), steps=1)
        x, y, z = np.array([m.rate_x_radps, m.rate_y_radps, m.rate_z_radps]) * 0.01
        angle = math.sqrt(x * x + y * y + z * z)
        k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) / angle
        r = r @ (np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k)
    now = np.array([[m.r00, m.r01, m.r02], [m.r10, m.r11, m.r12], [m.r20, m.r21, m.r22]])
    assert np.abs(now - r).max() < 1e-9
    assert np.abs(now.T @ now - np.eye(3)).max() < 1e-12
    assert math.atan2(m.r10, m.r00) == pytest.approx(yaw_rad(lane), abs=1e-12)


def test_heights_are_read_from_files(tmp_path):
    csv, npy = tmp_path / "map.csv", tmp_path / "map.npy"
    csv.write_text("0,1\n2,3\n")
    np.save(npy, np.array([[0.0, 1.0], [2.0, 3.0]]))
    for path in (csv, npy):
        assert HeightmapTerrain.read(path).tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize("text", ["0,1\n2\n", "a,b\nc,d\n"])
def test_a_broken_file_is_named(tmp_path, text):
    path = tmp_path / "map.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"map\.csv"):
        HeightmapTerrain.read(path)
    with pytest.raises(ConfigError, match="nowhere"):
        HeightmapTerrain.read(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("0,1\n# south\n\n2,x\n", 4, "'x'"),
        ("0,1,2\n0,1\n", 2, "2 heights, but 3 before"),
        ("0,1,\n0,1\n", 1, "''"),
    ],
)
def test_a_bad_line_of_a_heightmap_is_named_in_our_words(tmp_path, text, line, words):
    path = tmp_path / "heights.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"heights.csv, line {line}: ") as caught:
        HeightmapTerrain.read(path)
    assert words in caught.value.message
    assert "usecols" not in caught.value.message


@pytest.mark.parametrize(
    ("heights", "cell"),
    [([[1.0]], 1.0), ([[0, 1], [2]], 1.0), ([[0, math.nan]] * 2, 1.0), ([[0, 1]] * 2, 0.0)],
)
def test_impossible_maps_are_refused(heights, cell):
    with pytest.raises(ConfigError):
        HeightmapTerrain(heights, cell)


@pytest.mark.parametrize("arguments", [(70.0,), (10.0, math.nan), (10.0, 0.0, 0.0, -1.0)])
def test_impossible_ramps_are_refused(arguments):
    with pytest.raises(ConfigError):
        RampTerrain(*arguments)
