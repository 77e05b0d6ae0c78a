"""Counter-based draws: one reference, one bulk version, equal bits; and good statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pico_gz.simulator import random
from pico_gz.simulator.random import NormalStream, normal_arrays, stream_key

N = 1_000_000


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    return random.normal_array(stream_key(42, 1, "imu"), 0, N)


def test_a_million_draws_are_equal_one_by_one_and_in_bulk(draws) -> None:
    key = stream_key(42, 1, "imu")
    normal = random.normal
    assert draws.tolist() == [normal(key, index) for index in range(N)]


def test_bits_are_equal_one_by_one_and_in_bulk() -> None:
    key, first = stream_key(7, 255, "x"), (1 << 40) + 3
    words = [random.bits(key, first + k) for k in range(2000)]
    assert random.bits_array(key, first, 2000).tolist() == words


def test_known_values_never_change() -> None:
    # SplitMix64 from state 0: its published first outputs.
    assert random.bits(0, 0) == 0xE220A8397B1DCDAF
    assert random.bits(0, 1) == 0x6E789E6AA1B965F4
    assert random.bits(0, 2) == 0x06C45D188009454F


def test_keys_differ_in_every_part() -> None:
    seen = {
        stream_key(seed, vehicle, stream)
        for seed in (0, 1, -1, 2**63)
        for vehicle in range(1, 256)
        for stream in ("imu", "gps", "imu.walk")
    }
    assert len(seen) == 4 * 255 * 3


def test_moments_of_the_bell_curve(draws) -> None:
    root = math.sqrt(N)
    assert abs(draws.mean()) < 4.0 / root
    assert abs(draws.std() - 1.0) < 4.0 / math.sqrt(2 * N)
    assert abs((draws**3).mean()) < 4.0 * math.sqrt(15.0) / root
    assert (draws**4).mean() == pytest.approx(3.0, abs=0.05)
    assert np.abs(draws).max() < 4.3
    for sigma, share in ((1, 0.3173), (2, 0.0455), (3, 0.0027)):
        assert (np.abs(draws) > sigma).mean() == pytest.approx(share, rel=0.05)


def test_table_is_symmetric_and_rises() -> None:
    starts, widths = normal_arrays()
    assert len(starts) == len(widths) == 8192
    assert (widths > 0.0).all()
    ends = np.append(starts, starts[-1] + widths[-1])
    assert np.array_equal(ends, -ends[::-1])


def test_white_and_independent(draws) -> None:
    x = draws[:100_000]
    bound = 4.0 / math.sqrt(len(x))
    for lag in range(1, 11):
        assert abs(np.mean(x[lag:] * x[:-lag])) < bound
    for other in ((42, 2, "imu"), (42, 1, "gps"), (43, 1, "imu")):
        y = random.normal_array(stream_key(*other), 0, len(x))
        assert abs(np.mean(x * y)) < bound


def test_a_stream_gives_the_reference_draws() -> None:
    stream, key = NormalStream(42, 9, "s", 5), stream_key(42, 9, "s")
    for sample in range(3000):
        assert stream.take() == [random.normal(key, 5 * sample + k) for k in range(5)]
    assert stream.count == 3000


def test_a_stream_continues_where_another_stopped() -> None:
    first, second = NormalStream(1, 4, "s", 2), NormalStream(1, 4, "s", 2)
    for _ in range(700):
        first.take()
    second.take()
    second.count = first.count
    for _ in range(300):
        assert second.take() == first.take()
