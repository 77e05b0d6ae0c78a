"""The built-in simulator alone, flat out: a minute of simulation in processor time.

Machines differ and are noisy, so the goals are those of a machine on which one turn of the bare
loop of ``pico-gz bench`` takes 0.1 us, and the least disturbed tenth of the minute counts.
"""

from __future__ import annotations

import time

import pytest

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bench.reference import bare_loop_us
from pico_gz.messages import ActuatorCommands, Pose, VehicleConfig

STEP_US = 10_000
SECONDS = 60
PARTS = 10
REFERENCE_US = 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("count", "least"), [(1, 200.0), (50, 10.0), (255, 3.0)])
def test_faster_than_real_time(count, least):
    adapter = LightweightAdapter(seed=42)
    adapter.connect()
    for vehicle_id in range(1, count + 1):
        pose = Pose(north_m=5.0 * (vehicle_id % 16), east_m=5.0 * (vehicle_id // 16))
        adapter.add_vehicle(VehicleConfig(id=vehicle_id, pose=pose))
    commands = {
        vehicle_id: ActuatorCommands(0, vehicle_id, (0.8, 0.6))
        for vehicle_id in adapter.vehicle_ids()
    }
    best = 0.0
    for _ in range(PARTS):
        slowness = bare_loop_us() / REFERENCE_US
        begin = time.process_time()
        for _ in range(SECONDS * 1_000_000 // STEP_US // PARTS):
            adapter.send_actuators(commands)
            adapter.step(STEP_US)
            assert len(adapter.receive_sensors()) == count
        used = time.process_time() - begin
        best = max(best, SECONDS / PARTS / used * slowness)
    assert adapter.sim_time_us() == SECONDS * 1_000_000
    assert best >= least, f"{best:.0f} times real time"
