"""Loads L2-L4 on real sockets: short in the default run, at full length when asked for."""

import logging
import os
import time

import pytest

from pico_gz.adapters.gazebo import GazeboAdapter, GazeboConfig
from pico_gz.fdm.server import FdmServer
from pico_gz.fdm.vehicle import ExternalVehicle
from pico_gz.messages import ActuatorCommands, NoiseProfile, VehicleConfig
from pico_gz.testing.autopilot_twin import AutopilotFleet, AutopilotTwin
from pico_gz.testing.fdm_rig import FdmRig
from pico_gz.testing.twin_process import TwinProcess

log = logging.getLogger(__name__)

# Two runs on one machine must not meet: each process takes a range of its own.
STRIDE = 2
BASE_PORT = 20_000 + os.getpid() % 20 * 600
LONG = [pytest.mark.slow, pytest.mark.timeout(600)]


class LoadResult:
    """What a paced run against a twin in another process gave."""

    def __init__(self) -> None:
        self.latency_s: list[float] = []
        self.lost = 0

    def tell(self, vehicles: int) -> None:
        """Figures for people; the machine may be busy, so they are no condition."""
        shares = {f"p{100 * share:g}": self.percentile_ms(share) for share in (0.5, 0.99, 0.999)}
        log.info("%d vehicles, latency [ms]: %s", vehicles, shares)

    def percentile_ms(self, share: float) -> float:
        return (
            1e3
            * sorted(self.latency_s)[min(len(self.latency_s) - 1, int(share * len(self.latency_s)))]
        )


def run_fleet(vehicles: int, rate_hz: int, duration_s: float) -> tuple[LoadResult, GazeboAdapter]:
    step_us = 1_000_000 // rate_hz
    result = LoadResult()
    config = GazeboConfig(
        sensor_port=BASE_PORT,
        actuator_port=BASE_PORT + 1,
        fdm_stride=STRIDE,
        physics_step_us=step_us,
        timeout_ms=10_000,
    )
    with TwinProcess(BASE_PORT, vehicles=vehicles, stride=STRIDE, step_us=step_us):
        adapter = GazeboAdapter(config)
        for i in range(1, vehicles + 1):
            adapter.add_vehicle(VehicleConfig(id=i, noise=NoiseProfile.OFF))
        adapter.connect()
        start_s = time.monotonic()
        for step in range(1, int(duration_s * rate_hz) + 1):
            due_s = start_s + step / rate_hz
            time.sleep(max(0.0, due_s - time.monotonic()))
            began_s = time.monotonic()
            adapter.send_actuators(
                {i: ActuatorCommands(0, i, (0.1, 0.1)) for i in adapter.vehicle_ids()}
            )
            adapter.step(step_us)
            records = adapter.receive_sensors()
            result.latency_s.append(time.monotonic() - began_s)
            fresh = [r for r in records.values() if r.timestamp_us == step * step_us]
            result.lost += len(fresh) != vehicles
        adapter.stats_at_end = adapter.wire_stats()  # type: ignore[attr-defined]
        adapter.disconnect()
    return result, adapter


@pytest.mark.parametrize(
    ("vehicles", "duration_s"),
    [pytest.param(60, 1.0, id="60_short"), pytest.param(255, 60.0, id="255", marks=LONG)],
)
def test_l02_a_large_fleet_at_50_hz(vehicles: int, duration_s: float) -> None:
    result, adapter = run_fleet(vehicles, 50, duration_s)
    result.tell(vehicles)
    assert result.lost == 0
    stats = adapter.stats_at_end.values()  # type: ignore[attr-defined]
    assert sum(s.old + s.gaps + s.restarts + s.broken for s in stats) == 0
    assert result.percentile_ms(0.5) < 20.0


@pytest.mark.parametrize(
    ("vehicles", "rate_hz", "duration_s"),
    [
        pytest.param(10, 400, 0.5, id="10x400_short"),
        pytest.param(1, 1000, 0.5, id="1x1000_short"),
        pytest.param(50, 100, 20.0, id="50x100", marks=LONG),
        pytest.param(10, 400, 20.0, id="10x400", marks=LONG),
        pytest.param(1, 1000, 20.0, id="1x1000", marks=LONG),
    ],
)
def test_l03_fewer_vehicles_at_higher_rates(vehicles: int, rate_hz: int, duration_s: float) -> None:
    result, _ = run_fleet(vehicles, rate_hz, duration_s)
    result.tell(vehicles)
    assert result.lost == 0
    assert len(result.latency_s) == int(duration_s * rate_hz)


@pytest.mark.parametrize(
    "duration_s", [pytest.param(1.0, id="short"), pytest.param(60.0, id="60s", marks=LONG)]
)
def test_l04_four_autopilots_as_fast_as_they_can(duration_s: float) -> None:
    server = FdmServer([ExternalVehicle(vehicle_id=i, fdm_port=0) for i in (1, 2, 3, 4)])
    rig = FdmRig(server, step_us=833)
    twins = [AutopilotTwin(("127.0.0.1", server.port(i))) for i in (1, 2, 3, 4)]
    with AutopilotFleet(twins):
        deadline_s = time.monotonic() + 10.0
        while not all(map(server.is_connected, (1, 2, 3, 4))) and time.monotonic() < deadline_s:
            rig.collect(0.01)
        complete = 0
        end_s = time.monotonic() + duration_s
        while time.monotonic() < end_s:
            complete += rig.step(timeout_s=5.0)
        assert complete == rig.steps
        assert rig.steps > 50 * duration_s
    assert all(s.missed == 0 and s.restarts == 0 for s in server.stats().values())
    server.close()
