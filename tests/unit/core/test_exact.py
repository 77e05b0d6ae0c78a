"""Accuracy, and equal bits on every CPU."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from decimal import Decimal, getcontext
from pathlib import Path

import numpy as np
import pytest

from pico_gz.core import portable_math

RNG = np.random.default_rng(20250101)
ANGLES = np.concatenate(
    (
        RNG.uniform(-1.0e5, 1.0e5, 4000),
        RNG.uniform(-7.0, 7.0, 4000),
        np.arange(-400, 401) * (math.pi / 4.0),
        [0.0, 1e-300, -1e-300, 1e-9, 5e-324],
    )
)


def test_sincos_is_accurate() -> None:
    sine, cosine = np.array([portable_math.sincos(angle) for angle in ANGLES.tolist()]).T
    assert np.max(np.abs(sine - np.sin(ANGLES))) < 2.0e-16
    assert np.max(np.abs(cosine - np.cos(ANGLES))) < 2.0e-16


def test_sincos_small_is_accurate_to_its_border() -> None:
    angles = np.linspace(-math.pi / 4, math.pi / 4, 20001)
    sine, cosine = np.array([portable_math.sincos_small(angle) for angle in angles.tolist()]).T
    away = np.abs(angles) > 0.0
    assert np.max(np.abs(sine - np.sin(angles))[away] / np.abs(np.sin(angles))[away]) < 3.0e-16
    assert np.max(np.abs(cosine - np.cos(angles))) < 2.0e-16


def test_sincos_against_decimal_digits() -> None:
    # sin 1 and cos 1 by their series in 50 digits: an oracle that shares no code.
    getcontext().prec = 50
    terms = [Decimal(1) / math.factorial(k) for k in range(40)]
    sine = sum(terms[k] * (-1) ** (k // 2) for k in range(1, 40, 2))
    cosine = sum(terms[k] * (-1) ** (k // 2) for k in range(0, 40, 2))
    told = portable_math.sincos(1.0)
    assert told == (pytest.approx(float(sine), rel=3e-16), pytest.approx(float(cosine), rel=3e-16))


def test_atan2_is_accurate_in_every_quadrant() -> None:
    y, x = RNG.normal(size=20000), RNG.normal(size=20000) * 10.0 ** RNG.integers(-9, 9, 20000)
    told = np.array(list(map(portable_math.atan2, y.tolist(), x.tolist())))
    true = np.arctan2(y, x)
    assert np.max(np.abs(told - true) / np.abs(true)) < 1.0e-15


@pytest.mark.parametrize(
    ("y", "x", "angle"),
    [
        (0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
        (1.0, 0.0, math.pi / 2),
        (-1.0, 0.0, -math.pi / 2),
        (0.0, -1.0, math.pi),
        (-0.0, -1.0, math.pi),
        (1.0, 1.0, math.pi / 4),
        (-2.0, -2.0, -3.0 * math.pi / 4),
    ],
)
def test_atan2_on_the_axes(y: float, x: float, angle: float) -> None:
    assert portable_math.atan2(y, x) == angle


def test_asin_is_accurate_and_clamped() -> None:
    values = np.linspace(-1.0, 1.0, 10001)
    read = np.array(list(map(portable_math.asin, values.tolist())))
    assert np.max(np.abs(read - np.arcsin(values))) < 5.0e-16
    assert portable_math.asin(1.0000001) == math.pi / 2


def test_exp_is_accurate() -> None:
    x = np.concatenate((RNG.uniform(-700.0, 700.0, 10000), RNG.uniform(-1.0, 1.0, 10000)))
    read = np.array(list(map(portable_math.exp, x.tolist())))
    assert np.max(np.abs(read / np.exp(x) - 1.0)) < 5.0e-16
    assert portable_math.exp(0.0) == 1.0
    assert portable_math.exp(-1.0e9) == 0.0
    assert math.isfinite(portable_math.exp(1.0e9))


def test_decimal_power_is_correctly_rounded() -> None:
    assert portable_math.decimal_power(2.0, 0.5) == math.sqrt(2.0)
    assert portable_math.decimal_power(0.5, 3.0) == 0.125


_PROGRAM = """
import hashlib, math, sys
import numpy as np
from pico_gz.core import frames, portable_math as exact
x = (np.arange(200_000) * 0.6180339887498949) % 40.0 - 20.0
frame = frames.LocalFrame(35.7, 139.8, 40.0)
mine = hashlib.sha256()
for a, b in zip(x.tolist(), x[::-1].tolist(), strict=True):
    row = (*exact.sincos(a), exact.atan2(a, b), exact.exp(a), *frame.geodetic_from_ned(a, -a, b))
    mine.update(np.array(row).tobytes())
theirs = hashlib.sha256(np.array([math.exp(v) * math.sin(v) for v in x.tolist()]).tobytes())
print(mine.hexdigest(), theirs.hexdigest())
"""


def test_bits_do_not_depend_on_cpu_features() -> None:
    hashes = [_hashes({}), _hashes({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"})]
    assert hashes[0][0] == hashes[1][0]


def _hashes(environment: dict[str, str]) -> list[str]:
    root = str(Path(__file__).parents[2])
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return result.stdout.split()
