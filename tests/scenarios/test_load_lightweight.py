"""The built-in simulator alone, flat out: a minute of simulation in processor time.

Processor time itself stretches while others use the machine's caches and its other threads, so
the least disturbed second of the minute counts. A machine that is slow by itself, on which one
turn of the bare loop of ``pico-gz bench`` takes more than 0.1 us, is forgiven that much.
"""

from __future__ import annotations

import time

import pytest

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.vehicle_config import Pose, VehicleConfig

pytestmark = pytest.mark.alone

STEP_US = 10_000
SECONDS = 60
SOAK_S = 3600
REFERENCE_US = 0.1
TURNS = 10_000


def fleet(count: int) -> LightweightAdapter:
    adapter = LightweightAdapter(seed=42)
    adapter.connect()
    for vehicle_id in range(1, count + 1):
        pose = Pose(north_m=5.0 * (vehicle_id % 16), east_m=5.0 * (vehicle_id // 16))
        adapter.add_vehicle(VehicleConfig(id=vehicle_id, pose=pose))
    return adapter


def bare_turn_us() -> float:
    """The loop of ``bare_loop_us``, once and in processor time."""
    x, v = 0.0, 1.0
    begin_s = time.process_time()
    for _ in range(TURNS):
        x += v * 0.01
        v = v * 0.999 + 0.001
    return (time.process_time() - begin_s) / TURNS * 1e6


def part_s(adapter: LightweightAdapter, commands: dict[int, ActuatorCommands]) -> float:
    """Processor time of one second of simulation."""
    begin_s = time.process_time()
    for _ in range(1_000_000 // STEP_US):
        adapter.send_actuators(commands)
        adapter.step(STEP_US)
        assert len(adapter.receive_sensors()) == len(commands)
    return time.process_time() - begin_s


@pytest.mark.slow
@pytest.mark.parametrize(("count", "least"), [(1, 200.0), (50, 10.0), (255, 3.0)])
def test_faster_than_real_time(count, least, endurance):
    seconds = round(endurance(SECONDS, SOAK_S))
    adapter = fleet(count)
    commands = {i: ActuatorCommands(0, i, (0.8, 0.6)) for i in adapter.vehicle_ids()}
    used_s, bare_us = [], []
    for _ in range(seconds):
        bare_us.append(bare_turn_us())
        used_s.append(part_s(adapter, commands))
    assert adapter.sim_time_us() == seconds * 1_000_000
    slowness = max(1.0, min(bare_us) / REFERENCE_US)
    speed = 1.0 / min(used_s) * slowness
    assert speed >= least, f"{speed:.0f} times real time, at a slowness of {slowness:.2f}"
