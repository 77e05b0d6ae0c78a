"""The whole path with MAVLink."""

from __future__ import annotations

import resource
import time

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.cli.tools.bench.figures import Figure, best_us, explained
from pico_gz.cli.tools.bench.heartbeats import HeartbeatListener
from pico_gz.core.port_owner import free_offset
from pico_gz.run.config import default_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.result import RunResult
from pico_gz.testing.scripted_adapter import ScriptedAdapter


def stack_figures() -> list[Figure]:
    """The bridge alone, one rover, ten rovers."""
    return [_bridge_figure(), _one_rover_figure(), _ten_rovers_figure()]


def _bridge_figure() -> Figure:
    """Bridge and platform without a simulator and without autopilots."""
    vehicles, steps = 100, 100
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    for vehicle_id in range(1, vehicles + 1):
        bridge.spawn_vehicle(VehicleConfig(id=vehicle_id))
    bridge.step(10)
    value = best_us(lambda: bridge.step(steps), steps * vehicles)
    bridge.close()
    return Figure(
        name="bridge",
        what="Bridge + platform",
        value=value,
        unit="us/vehicle-step",
        goal=8.0,
    )


def _one_rover_figure() -> Figure:
    """One rover with its autopilot, as fast as possible."""
    session, used_s = _run(1, 60.0)
    return explained(
        Figure(
            name="one_rover",
            what="One rover, full stack, 10 ms steps, autopilot at 50 Hz",
            value=session.sim_time_s / used_s,
            unit="x real time",
            goal=700.0,
            higher_is_better=True,
        ),
        lambda: _run(1, 20.0),
    )


def _ten_rovers_figure() -> Figure:
    """Latency of ten rovers in lockstep."""
    session, _ = _run(10, 30.0)
    latency = session.latency_ms
    return Figure(
        name="latency_10",
        what="Sensor to actuator in lockstep, 10 vehicles, p99 (p50 < 1, p99.9 < 20)",
        value=latency.p99,
        unit="ms",
        goal=5.0,
        detail={"p50": latency.p50, "p999": latency.p999, "max": latency.max},
    )


def fleet_figures() -> list[Figure]:
    """255 rovers with one ground station: speed, lost steps, memory, heartbeats."""
    fleet = _fleet(255)
    with HeartbeatListener(fleet.port_plan().vehicles[0].mavlink) as listener:
        result, used_s = _run_fleet(fleet, 10.0)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return [
        explained(
            Figure(
                name="fleet_255",
                what="255 rovers, full stack, default streams to one ground station",
                value=result.sim_time_s / used_s,
                unit="x real time",
                goal=3.0,
                higher_is_better=True,
                detail={"lost_steps": float(result.lost_steps)},
            ),
            lambda: _run(255, 0.5),
        ),
        Figure(
            name="heartbeat_gap_255",
            what="Longest time between two heartbeats of a rover, of 255",
            value=listener.worst_gap_s,
            unit="s",
            goal=1.5,
            detail={"systems": float(listener.systems)},
        ),
        Figure(
            name="memory_255",
            what="Memory, 255 rovers, full stack",
            value=memory_mb,
            unit="MB",
            goal=120.0,
        ),
    ]


def _run(rovers: int, duration_s: float) -> tuple[RunResult, float]:
    return _run_fleet(_fleet(rovers), duration_s)


def _fleet(rovers: int) -> FleetConfig:
    fleet = default_fleet(
        overrides=FleetOverrides(
            rovers=rovers,
            adapter="lightweight",
            speed="max",
            allow_gcs_sysid=True,
            layout="grid",
            gcs="shared",
        )
    )
    # Beside another run, too.
    offset = free_offset(lambda number: fleet.with_port_offset(number).port_plan())
    return fleet.with_port_offset(offset) if offset else fleet


def _run_fleet(fleet: FleetConfig, duration_s: float) -> tuple[RunResult, float]:
    """Run flat out; returns the result and the processor time [s], all that such a run needs."""
    options = RunOptions(duration_s=duration_s, demo=True, mavlink=True, control=False)
    with FleetRun(fleet, options) as session:
        started_s = time.process_time()
        result = session.run()
        return result, time.process_time() - started_s
