"""A suite of sensors: draws, snapshots, sampling times, and what it refuses."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from sensor_rig import (
    STEP_US,
    lone_suite,
    motion_of,
    run,
    run_program,
    wild_motion,
)

from pico_gz.core.messages import SensorData
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.errors import ConfigError
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.sensor_setup import BatterySetup, RangefinderSetup, SensorSetup
from pico_gz.simulator.sensor_suite import SensorSuite


class Walls:
    """Something to look at: the distance follows from the ray alone."""

    def cast(self, north_m, east_m, dir_n, dir_e, max_m, skip_vehicle):
        return abs(north_m * dir_n) * 0.01 + 0.1 * skip_vehicle


def mixed_setup(vehicle_id: int) -> SensorSetup:
    """Every vehicle differs in what may differ within a group."""
    profiles = list(NoiseProfile)
    return SensorSetup(
        vehicle_id=vehicle_id,
        noise=profiles[vehicle_id % 4],
        imu=("icm20948", "mpu6050", "simple")[vehicle_id % 3],
        gps=("standard", "m8", "m10", "rtk", "simple")[vehicle_id % 5],
        compass=("qmc5883l", "hmc5883l", "ak09916", "simple")[vehicle_id % 4],
        barometer=("bmp280", "bmp390", "simple")[vehicle_id % 3],
        imu_position_frd_m=(0.1, -0.05, 0.02) if vehicle_id % 2 else (0.0, 0.0, 0.0),
        compass_calibrated=vehicle_id % 3 != 0,
        encoder_ticks=20 * vehicle_id,
        encoder_miss=0.1 if vehicle_id % 5 == 0 else 0.0,
        battery=BatterySetup(ideal=vehicle_id % 7 == 0, capacity_ah=0.01 * vehicle_id),
        rangefinders=(RangefinderSetup(bearing_deg=10.0 * vehicle_id), RangefinderSetup()),
        gps_noise_m=0.3 if vehicle_id % 6 == 0 else None,
    )


def encode(samples: list[SensorData]) -> list[bytes]:
    return [msgspec.msgpack.encode(sample) for sample in samples]


def test_seed_and_id_change_the_noise() -> None:
    def first_imu(vehicle_id: int, seed: int) -> bytes:
        suite = lone_suite(SensorSetup(vehicle_id=vehicle_id), seed)
        return encode([suite.sample(STEP_US, STEP_US, wild_motion(1, 1))])[0][20:]

    assert first_imu(1, 42) == first_imu(1, 42)
    assert len({first_imu(1, 42), first_imu(1, 43), first_imu(2, 42)}) == 3


@pytest.mark.parametrize("cut", [1, 9, 37, 120])
def test_snapshot_moves_between_suites(cut: int) -> None:
    setup = replace(mixed_setup(5), noise=NoiseProfile.TYPICAL)
    whole, first, second = (lone_suite(setup, scene=Walls()) for _ in range(3))

    def samples(suite: SensorSuite, start: int, end: int) -> list[bytes]:
        steps = range(start, end)
        return encode(
            [suite.sample(step * STEP_US, STEP_US, wild_motion(5, step)) for step in steps]
        )

    expected = samples(whole, 1, 161)
    found = samples(first, 1, cut + 1)
    second.load(msgspec.msgpack.decode(msgspec.msgpack.encode(first.save())))
    assert found + samples(second, cut + 1, 161) == expected
    assert second.save() == whole.save()


@pytest.mark.parametrize("noise", list(NoiseProfile))
def test_snapshot_of_a_crawling_rover(noise: NoiseProfile) -> None:
    # Slow enough for the held course and the fading vibration to matter.
    def crawl(step: int) -> Motion:
        fast = step < 60
        return motion_of(
            vel_e_mps=0.5 if fast else 0.02,
            wheel_left_rad=0.2 * step if fast else 12.0 + 0.003 * step,
            throttle_abs=0.4,
        )

    setup = SensorSetup(vehicle_id=1, noise=noise, encoder_miss=0.3)
    whole, first, second = lone_suite(setup), lone_suite(setup), lone_suite(setup)
    expected = encode(list(run(whole, 200, crawl)))
    told = encode(list(run(first, 105, crawl)))
    second.load(first.save())
    rest = run(second, 95, lambda step: crawl(105 + step), start_us=105 * STEP_US)
    assert told + encode(list(rest)) == expected


@pytest.mark.parametrize("dt_us", [1_000, 4_000, 7_000, 33_333, 250_000])
def test_sample_times_follow_the_clock_alone(dt_us: int) -> None:
    suite = lone_suite(SensorSetup(vehicle_id=1))
    seen = {"imu": [], "gps": [], "compass": [], "barometer": [], "battery": []}
    for step in range(1, 2_000_000 // dt_us + 1):
        now_us = step * dt_us
        sample = suite.sample(now_us, dt_us, wild_motion(1, step))
        for name, times in seen.items():
            if getattr(sample, name) is not None:
                times.append(now_us)
    periods = {"imu": 10_000, "gps": 200_000, "compass": 20_000, "barometer": 40_000,
               "battery": 100_000}  # fmt: skip
    for name, times in seen.items():
        period = periods[name]
        steps = range(dt_us, 2_000_000 // dt_us * dt_us + 1, dt_us)
        expected = [t for t in steps if t // period != (t - dt_us) // period]
        if name == "gps":
            # The fix of 0.1 s ago; a step longer than that delays it further.
            expected = [t for t in expected if t > 100_000]
            if dt_us > 100_000:
                continue
        assert times == expected, name


def test_not_fitted_means_no_sample() -> None:
    setup = SensorSetup(
        vehicle_id=1, imu="", gps="", compass="", barometer="", encoder_ticks=0, battery=None
    )
    suite = lone_suite(setup)
    for step in range(1, 100):
        sample = suite.sample(step * STEP_US, STEP_US, wild_motion(1, step))
        assert sample == SensorData(timestamp_us=step * STEP_US, vehicle_id=1)
    assert suite.battery_ratio == 1.0


def test_a_snapshot_of_other_sensors_is_refused() -> None:
    one = SensorSetup(vehicle_id=1)
    with pytest.raises(ConfigError, match="other sensors"):
        lone_suite(one).load(lone_suite(replace(one, gps="")).save())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"imu": "icm20947"}, "icm20948"),
        ({"gps": "m9"}, "m8"),
        ({"compass": "qmc"}, "qmc5883l"),
        ({"barometer": "bmp28"}, "bmp280"),
        ({"imu_rate_hz": -1.0}, "imu_rate_hz"),
        ({"gps_rate_hz": float("nan")}, "gps_rate_hz"),
        ({"gps_noise_m": -0.5}, "gps_noise_m"),
        ({"gps_noise_m": 1e9}, "gps_noise_m"),
        ({"accel_noise_mss": 1e9}, "accel_noise_mss"),
        ({"vibration": 1e9}, "vibration"),
        ({"gps_latency_ms": 1e9}, "gps_latency_ms"),
        ({"gps_first_fix_s": 1e9}, "gps_first_fix_s"),
        ({"encoder_ticks": 10**9}, "encoder_ticks"),
        ({"encoder_miss": 1.5}, "encoder_miss"),
        ({"vehicle_id": 0}, "0"),
    ],
)
def test_setup_refuses(wrong, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        SensorSetup(**{"vehicle_id": 1, **wrong})
    assert message in f"{caught.value} {getattr(caught.value, 'hint', '')}"


_DIGEST_PROGRAM = """
import sys, hashlib
from test_suite import Walls, encode, lone_suite, mixed_setup, wild_motion
digest = hashlib.sha256()
for vehicle_id in (1, 2, 5):
    suite = lone_suite(mixed_setup(vehicle_id), scene=Walls())
    for step in range(1, 101):
        digest.update(encode([suite.sample(step * 10_000, 10_000, wild_motion(1, step))])[0])
print(digest.hexdigest())
"""


def test_same_bytes_in_every_process_and_on_every_cpu() -> None:
    # With FMA and AVX2 hidden the C library takes other code paths for sin, exp and the like.
    digests = {
        run_program(_DIGEST_PROGRAM, environment)
        for environment in (
            {"PYTHONHASHSEED": "0"},
            {"PYTHONHASHSEED": "1", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"},
        )
    }
    assert len(digests) == 1
