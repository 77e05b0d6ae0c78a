"""Signs, lever arm, noise laws, saturation and resolution of the IMU."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensor_rig import lone_suite, motion_of, run, with_attitude

from pico_gz.core.messages import ImuData
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.simulator import sensor_parts
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_parts import ImuPart
from pico_gz.simulator.sensor_setup import SensorSetup

G = 9.80665
QUIET = SensorSetup(vehicle_id=1, noise=NoiseProfile.OFF, gps="", compass="", barometer="")
TOLERANCE = 1e-12


def read(motion: Motion, setup: SensorSetup = QUIET) -> ImuData:
    (sample,) = run(lone_suite(setup), 1, motion)
    return sample.imu


def record(part: ImuPart, steps: int, monkeypatch, dt_us: int = 10_000, **setup) -> np.ndarray:
    """Return samples (accel x y z, gyro x y z) of a made-up part at rest."""
    monkeypatch.setitem(sensor_parts.IMU_PARTS, "made_up", part)
    suite = lone_suite(
        SensorSetup(vehicle_id=1, imu="made_up", imu_rate_hz=0.0, gps="", compass="",
                    barometer="", encoder_ticks=0, battery=None, **setup)
    )  # fmt: skip
    samples = run(suite, steps, Motion(), dt_us=dt_us)
    return np.array([(*s.imu.accel_mss, *s.imu.gyro_rads) for s in samples])


@pytest.mark.parametrize(
    ("motion", "gyro", "force"),
    [
        ({}, (0, 0, 0), (0, 0, -G)),
        ({"vel_n_mps": 1.0, "speed_mps": 1.0}, (0, 0, 0), (0, 0, -G)),
        ({"accel_n_mps2": 0.7}, (0, 0, 0), (0.7, 0, -G)),
        # A right turn: the acceleration points east while heading north.
        ({"accel_e_mps2": 1.5 * 0.4, "rate_z_radps": 0.4}, (0, 0, 0.4), (0, 0.6, -G)),
        ({"accel_e_mps2": -1.5 * 0.4, "rate_z_radps": 0.4}, (0, 0, 0.4), (0, -0.6, -G)),
    ],
)
def test_signs_on_the_level(motion, gyro, force) -> None:
    sample = read(motion_of(**motion))
    assert sample.gyro_rads == pytest.approx(gyro, abs=TOLERANCE)
    assert sample.accel_mss == pytest.approx(force, abs=TOLERANCE)


@pytest.mark.parametrize("angle", [math.radians(10.0), -0.3])
def test_signs_on_a_slope(angle: float) -> None:
    nose_up = read(with_attitude(Motion(), 0.0, angle, 0.7))
    along, across = G * math.sin(angle), -G * math.cos(angle)
    assert nose_up.accel_mss == pytest.approx((along, 0.0, across), abs=TOLERANCE)
    right_down = read(with_attitude(Motion(), angle, 0.0, -2.0))
    assert right_down.accel_mss == pytest.approx((0.0, -along, across), abs=TOLERANCE)


def test_ten_degrees_nose_up_in_numbers() -> None:
    force = read(with_attitude(Motion(), 0.0, math.radians(10.0), 0.0)).accel_mss
    assert force == pytest.approx((1.703, 0.0, -9.658), abs=5e-4)


@given(st.floats(-3.0, 3.0), st.floats(-1.5, 1.5), st.floats(-3.0, 3.0))
def test_force_at_rest_is_gravity_in_any_attitude(roll: float, pitch: float, yaw: float) -> None:
    force = read(with_attitude(Motion(), roll, pitch, yaw)).accel_mss
    assert math.hypot(*force) == pytest.approx(G, abs=TOLERANCE)


def test_lever_arm() -> None:
    arm = np.array([0.2, -0.1, 0.05])
    rate, turn = np.array([0.3, -0.2, 1.1]), np.array([0.5, 0.7, -0.9])
    motion = motion_of(
        rate_x_radps=0.3, rate_y_radps=-0.2, rate_z_radps=1.1,
        ang_accel_x_radps2=0.5, ang_accel_y_radps2=0.7, ang_accel_z_radps2=-0.9,
    )  # fmt: skip
    setup = SensorSetup(
        vehicle_id=1, noise=NoiseProfile.OFF, imu_position_frd_m=tuple(arm.tolist())
    )
    expected = np.array([0, 0, -G]) + np.cross(turn, arm) + np.cross(rate, np.cross(rate, arm))
    assert read(motion, setup).accel_mss == pytest.approx(expected.tolist(), abs=TOLERANCE)


def test_gyro_integral_is_the_heading_change() -> None:
    rates = [math.sin(0.01 * k) for k in range(6000)]
    suite = lone_suite(QUIET)
    samples = run(suite, 6000, lambda step: motion_of(rate_z_radps=rates[step - 1]))
    heading = math.fsum(sample.imu.gyro_rads[2] * 0.01 for sample in samples)
    assert heading == pytest.approx(math.fsum(rates) * 0.01, abs=1e-9)


@pytest.mark.parametrize("axis", range(6))
def test_white_noise_has_its_sigma_and_is_white(axis: int, monkeypatch) -> None:
    n = 100_000
    density = 2.0e-3
    part = ImuPart(accel_density=density, gyro_density=density)
    x = _white(part, n, monkeypatch)[:, axis]
    sigma = density / math.sqrt(0.01)
    assert abs(x.mean()) < 4.0 * sigma / math.sqrt(n)
    assert x.std() == pytest.approx(sigma, rel=4.0 / math.sqrt(2 * n))
    y = x / sigma
    for lag in range(1, 11):
        assert abs(np.mean(y[lag:] * y[:-lag])) < 4.0 / math.sqrt(n)


_cache: dict[int, np.ndarray] = {}


def _white(part: ImuPart, n: int, monkeypatch) -> np.ndarray:
    """Record once for all axes: it is the same run."""
    if n not in _cache:
        _cache[n] = record(part, n, monkeypatch) - [0, 0, -G, 0, 0, 0]
    return _cache[n]


def allan(x: np.ndarray, cluster: int) -> float:
    """Return the Allan deviation over clusters of samples."""
    means = x[: len(x) // cluster * cluster].reshape(-1, cluster).mean(axis=1)
    return math.sqrt(0.5 * np.mean(np.diff(means) ** 2))


def test_allan_deviation_of_white_noise(monkeypatch) -> None:
    density, n = 2.0e-3, 100_000
    x = _white(ImuPart(accel_density=density, gyro_density=density), n, monkeypatch)[:, 3]
    for cluster in (10, 100, 200):  # up to T / 500
        tau = 0.01 * cluster
        assert allan(x, cluster) == pytest.approx(density / math.sqrt(tau), rel=0.05)


def test_allan_deviation_of_a_bias_walk(monkeypatch) -> None:
    walk, dt = 0.01, 0.1
    x = record(ImuPart(gyro_walk=walk), 60_000, monkeypatch, dt_us=100_000)
    for axis in (3, 4, 5):
        for cluster in (20, 50, 100):
            tau = dt * cluster
            expected = walk * math.sqrt(tau / 3.0)
            assert allan(x[:, axis], cluster) == pytest.approx(expected, rel=0.15)
    together = np.sqrt(np.mean([allan(x[:, axis], 20) ** 2 for axis in (3, 4, 5)]))
    assert together == pytest.approx(walk * math.sqrt(2.0 / 3.0), rel=0.05)


def test_turn_on_bias_is_drawn_per_vehicle(monkeypatch) -> None:
    monkeypatch.setitem(
        sensor_parts.IMU_PARTS, "biased", ImuPart(gyro_turn_on=0.02, accel_turn_on=0.15)
    )
    told = np.array(
        [
            [*s.accel_mss, *s.gyro_rads]
            for s in (
                read(Motion(), SensorSetup(vehicle_id=i, imu="biased")) for i in range(1, 256)
            )
        ]
    ) - [0, 0, -G, 0, 0, 0]
    assert told[:, :3].std() == pytest.approx(0.15, rel=0.1)
    assert told[:, 3:].std() == pytest.approx(0.02, rel=0.1)


def test_noise_profiles_multiply(monkeypatch) -> None:
    part = ImuPart(accel_density=2.0e-3, accel_turn_on=0.1)
    quiet, low, typical, bad = (
        record(part, 50, monkeypatch, noise=profile)[:, 0] for profile in NoiseProfile
    )
    assert (quiet == 0.0).all()
    assert low == pytest.approx(0.3 * typical, abs=1e-12)
    assert bad == pytest.approx(3.0 * typical, abs=1e-12)


def test_explicit_noise_replaces_the_parts() -> None:
    setup = SensorSetup(
        vehicle_id=1, imu="simple", accel_noise_mss=0.5, gyro_noise_rads=0.2, gps="", compass=""
    )
    x = np.array([(s.imu.accel_mss[0], s.imu.gyro_rads[0]) for s in _at_rest(setup, 5000)])
    assert x[:, 0].std() == pytest.approx(0.5, rel=0.05)
    assert x[:, 1].std() == pytest.approx(0.2, rel=0.05)


def _at_rest(setup: SensorSetup, steps: int):
    return run(lone_suite(setup), steps, Motion())


def test_saturation_and_resolution_are_exact() -> None:
    setup = SensorSetup(vehicle_id=1, gps="", compass="", barometer="")
    lsb = sensor_parts.IMU_PARTS["icm20948"].gyro_lsb
    limit = 32767 * lsb
    spinning = [s.imu for s in run(lone_suite(setup), 20, motion_of(rate_z_radps=100.0))]
    assert {s.gyro_rads[2] for s in spinning} == {limit}
    for sample in spinning:
        for value in sample.gyro_rads[:2]:
            assert round(value / lsb) * lsb == value
        for value in sample.accel_mss:
            step = G / 2048.0
            assert round(value / step) * step == value


def test_vibration_follows_wheels_and_throttle() -> None:
    setup = SensorSetup(vehicle_id=1, gps="", compass="", barometer="")

    def shake(**motion: float) -> float:
        def at(step: int) -> Motion:
            turning = motion.get("turn", 0.0)
            return motion_of(
                throttle_abs=motion.get("throttle", 0.0),
                wheel_left_rad=turning * step,
                wheel_right_rad=turning * step,
            )

        samples = list(run(lone_suite(setup), 400, at))
        return float(np.std([s.imu.accel_mss[2] for s in samples[1:]]))

    parked = shake()
    assert parked < 0.05
    assert shake(throttle=1.0) < 0.05, "a blocked drive does not shake, nor look like a bias"
    assert 0.15 < shake(turn=0.13, throttle=0.1) < 0.5
    assert 0.7 < shake(turn=0.13, throttle=1.0) < 1.5


def test_it_warms_up_and_drifts() -> None:
    setup = SensorSetup(vehicle_id=1, gps="", compass="", barometer="")
    suite = lone_suite(setup)
    samples = list(run(suite, 9000, Motion(), dt_us=100_000))
    celsius = [s.imu.temperature_c for s in samples]
    assert celsius[0] == pytest.approx(25.0, abs=0.1)
    assert celsius[2999] == pytest.approx(45.0 - 20.0 * math.exp(-1.0), abs=0.05)
    assert celsius[-1] == pytest.approx(45.0 - 20.0 * math.exp(-3.0), abs=0.05)
    start = np.mean([s.imu.gyro_rads for s in samples[:50]], axis=0)
    end = np.mean([s.imu.gyro_rads for s in samples[-50:]], axis=0)
    assert np.abs(end - start).max() > 1e-3
