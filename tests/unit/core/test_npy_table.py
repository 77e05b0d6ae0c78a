"""The package's tables, read without NumPy."""

import subprocess
import sys
from importlib import resources

import numpy as np
import pytest

from pico_gz.core.npy_table import read_table


@pytest.mark.parametrize("name", ["data/normal_quantiles.npy", "data/magnetic_field.npy"])
def test_they_are_what_numpy_reads(name):
    with resources.files("pico_gz.simulator").joinpath(name).open("rb") as file:
        expected = np.load(file, allow_pickle=False)
    shape, numbers = read_table("pico_gz.simulator", name)
    assert shape == expected.shape
    assert numbers.tolist() == expected.ravel().tolist()


def test_a_run_on_level_ground_starts_without_numpy():
    code = (
        "import sys, pico_gz.run.fleet_run, pico_gz.run.mavlink_setup, pico_gz.simulator.world;"
        "sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == 0
