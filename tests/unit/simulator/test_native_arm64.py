"""The core compiled for arm64, under an emulator: the same bytes as here."""

from __future__ import annotations

import os

import pytest
from external_programs import need_arm64

from tests.emulated_core import FUSED, BitsDifferError, emulated_core
from tests.unit.simulator import test_followed_fleet as followed
from tests.unit.simulator.test_native import compare, needs_core

pytestmark = needs_core


@pytest.fixture(autouse=True)
def _programs():
    need_arm64()


def compare_followed(vehicle_steps: int) -> None:
    twins = followed.Twins(1)
    while vehicle_steps > 0:
        vehicle_steps -= twins.step()


def test_arm64_gives_the_same_bytes():
    with emulated_core() as core:
        compare(20_000, 0)
        compare_followed(2_000)
    assert core.vehicle_steps >= 20_000


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_hundred_thousand_vehicle_steps_on_arm64_and_a_million_by_the_soak():
    steps = 1_000_000 if "PICO_GZ_SOAK_S" in os.environ else 100_000
    with emulated_core() as core:
        compare(steps, 2_000_000)
        compare_followed(steps // 10)
    assert core.vehicle_steps >= steps


@pytest.mark.parametrize("run", [lambda: compare(20_000, 0), lambda: compare_followed(2_000)])
def test_contraction_on_arm64_is_noticed(run):
    with emulated_core(FUSED), pytest.raises(BitsDifferError, match="numbers differ"):
        run()
