"""Simulator, autopilot and start-up, each alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.cli.tools.bench.figures import Figure, best_us, explained
from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.world import World

STEP_US = 10_000


def simulator_figures() -> list[Figure]:
    """One vehicle and 255, with and without the messages, and the engine alone."""
    return [
        explained(
            Figure(
                name="lightweight_1",
                what="Lightweight physics + all sensors, 1 vehicle",
                value=_step_us(1, 2000, read=False),
                unit="us/step",
                goal=2.0,
            ),
            lambda: _step_us(1, 1000, read=False),
        ),
        explained(
            Figure(
                name="lightweight_255",
                what="Lightweight physics + all sensors, 255 vehicles",
                value=_step_us(255, 60, read=False) / 255,
                unit="us/vehicle-step",
                goal=0.2,
            ),
            lambda: _step_us(255, 20, read=False),
        ),
        explained(
            Figure(
                name="lightweight_255_read",
                what="Lightweight physics + all sensors + messages, 255 vehicles",
                value=_step_us(255, 60, read=True) / 255,
                unit="us/vehicle-step",
                goal=1.0,
            ),
            lambda: _step_us(255, 20, read=True),
        ),
        explained(
            Figure(
                name="fleet_engine",
                what="Fleet engine alone, 255 rovers, all sensors computed",
                value=255.0 / _engine_us(255, 60),
                unit="M vehicle-steps/s",
                goal=5.0,
                higher_is_better=True,
            ),
            lambda: _engine_us(255, 20),
        ),
    ]


def _step_us(vehicles: int, steps: int, *, read: bool) -> float:
    adapter = LightweightAdapter(seed=1)
    for vehicle_id in range(1, vehicles + 1):
        adapter.add_vehicle(VehicleConfig(id=vehicle_id, pose=Pose(east_m=3.0 * vehicle_id)))
    with adapter:
        adapter.send_actuators(
            {i: ActuatorCommands(0, i, (0.5, 0.4)) for i in adapter.vehicle_ids()}
        )

        def work() -> None:
            for _ in range(steps):
                if read:
                    dict(adapter.advance(STEP_US))
                else:  # nothing may keep the records: they would be built
                    adapter.advance(STEP_US)

        work()
        return best_us(work, steps)


def _engine_us(vehicles: int, steps: int) -> float:
    engine, spec = FleetEngine(World(), seed=1), rover_spec()
    for vehicle_id in range(1, vehicles + 1):
        engine.add(spec, fit_sensors(spec, vehicle_id), Pose(east_m=3.0 * vehicle_id))
        engine.command(vehicle_id, 0.5, 0.4)

    def work() -> None:
        for _ in range(steps):
            engine.advance(STEP_US)

    work()
    return best_us(work, steps)


def autopilot_figures() -> list[Figure]:
    """Mean processor time of a tick, measured inside a running mission."""
    figure = Figure(
        name="autopilot_tick",
        what="Autopilot tick in AUTO, mean",
        value=_tick_us(),
        unit="us",
        goal=12.0,
    )
    return [explained(figure, _tick_us)]


def _tick_us() -> float:
    overrides = FleetOverrides(rovers=1, adapter="lightweight", speed="max")
    options = RunOptions(
        duration_s=40.0, demo=True, mavlink=False, control=False, check_ports=False
    )
    with FleetRun(default_fleet(overrides=overrides), options) as session:
        autopilot = session.bridge.get_vehicle(1).autopilot
        assert autopilot is not None
        tick, spent = autopilot.tick, [0.0, 0]

        def timed(now_us: int) -> None:
            started_s = time.process_time()
            tick(now_us)
            spent[0] += time.process_time() - started_s
            spent[1] += 1

        autopilot.tick = timed  # type: ignore[method-assign]
        session.run()
    return spent[0] / spent[1] * 1e6


def start_figures() -> list[Figure]:
    """Import time and a run of one simulated second."""
    run = ["run", "--duration", "1", "--speed", "max", "--json", "--adapter", "lightweight"]
    return [
        Figure(
            name="import",
            what="import pico_gz (without starting Python)",
            value=max(0.0, _fastest_s(["-c", "import pico_gz"]) - _fastest_s(["-c", "pass"])),
            unit="s",
            goal=0.2,
        ),
        Figure(
            name="cold_run",
            what="pico-gz run --duration 1 --speed max, from cold",
            value=_fastest_s(["-m", "pico_gz", *run, "--port-offset", "auto"]),
            unit="s",
            goal=0.5,
        ),
    ]


def _fastest_s(arguments: list[str], rounds: int = 4) -> float:
    times_s = []
    with tempfile.TemporaryDirectory() as compiled:
        for _ in range(rounds):
            started_s = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments],
                check=True,
                capture_output=True,
                timeout=60.0,
                env=_keeping_bytecode(compiled),
            )
            times_s.append(time.perf_counter() - started_s)
    return min(times_s)


def _keeping_bytecode(folder: str) -> dict[str, str]:
    """The environment in which modules are compiled once, as those of an installation are."""
    environ = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environ, "PYTHONPYCACHEPREFIX": folder}
