"""The Lightweight simulator alone: physics and all sensors."""

from __future__ import annotations

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bench.figure import Figure, best_us
from pico_gz.messages import ActuatorCommands, Pose, VehicleConfig

STEP_US = 10_000


def figures() -> list[Figure]:
    """One vehicle and 255."""
    alone = _step_us(1, 2000)
    fleet = _step_us(255, 60) / 255
    return [
        Figure(
            name="lightweight_1",
            what="Lightweight physics + all sensors, 1 vehicle",
            value=alone,
            unit="us/step",
            goal=20.0,
        ),
        Figure(
            name="lightweight_255",
            what="Lightweight physics + all sensors + messages, 255 vehicles",
            value=fleet,
            unit="us/vehicle-step",
            goal=1.0,
        ),
    ]


def _step_us(vehicles: int, steps: int) -> float:
    adapter = LightweightAdapter(seed=1)
    for vehicle_id in range(1, vehicles + 1):
        adapter.add_vehicle(VehicleConfig(id=vehicle_id, pose=Pose(east_m=3.0 * vehicle_id)))
    with adapter:
        adapter.send_actuators(
            {i: ActuatorCommands(0, i, (0.5, 0.4)) for i in adapter.vehicle_ids()}
        )

        def work() -> None:
            for _ in range(steps):
                adapter.step(STEP_US)
                adapter.receive_sensors()

        work()
        return best_us(work, steps)
