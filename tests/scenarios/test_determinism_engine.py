"""Same seed, same bytes: over processes, hash seeds, CPU features and snapshots."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("engine_digest.py")
ROOT = PROGRAM.parents[2]


def digest(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=environment.pop("cwd", str(ROOT)),
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    return done.stdout


@pytest.fixture(scope="module")
def plain() -> dict[int, str]:
    """Digests of fleets on floats and on arrays."""
    return {count: digest(str(count)) for count in (5, 52)}


@pytest.mark.parametrize("hash_seed", ["0", "random"])
def test_hash_seeds_and_surroundings_do_not_matter(plain, hash_seed, tmp_path):
    again = digest(
        "52", PYTHONHASHSEED=hash_seed, TZ="Asia/Tokyo", LANG="C", LC_ALL="C", cwd=str(tmp_path)
    )
    assert again == plain[52]


X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="masks features of x86 processors")


@X86
@pytest.mark.parametrize("count", [5, 52])
def test_the_c_library_does_not_matter(plain, count):
    assert digest(str(count), GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA") == plain[count]


@X86
def test_the_vector_units_that_numpy_uses_do_not_matter(plain):
    masked = {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}
    try:
        told = digest("52", **masked)
    except subprocess.CalledProcessError as error:
        if "NPY_DISABLE_CPU_FEATURES" in error.stderr:
            pytest.skip("this NumPy was built for AVX2 alone")
        raise
    assert told == plain[52]


@pytest.mark.parametrize("count", [5, 52])
def test_a_snapshot_goes_on_in_a_new_process(plain, count, tmp_path):
    path = str(tmp_path / "snapshot")
    digest(str(count), "save", path)
    assert digest(str(count), "load", path) == plain[count].split()[1]
