"""Fault F9 on real sockets: what 10 000 garbage datagrams a second cost."""

import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_wire_loads import STRIDE, base_port, drive_one_step, percentile_ms

from pico_gz.core.vehicle_config import NoiseProfile, VehicleConfig
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.testing.port_lease import PortLeases

pytestmark = pytest.mark.alone

log = logging.getLogger(__name__)

# As many as of load L3: between two steps 200 datagrams gather, which for a single rover would
# be more work than its own exchange.
VEHICLES = 50
RATE_HZ = 50
STEP_US = 1_000_000 // RATE_HZ
GARBAGE_PER_S = 10_000
# Both fleets take turns; the least disturbed of so many parts counts: the machine may be busy.
PARTS, STEPS = 6, 75
SIMULATOR = str(Path(__file__).parent / "flooding_simulator.py")


class Fleet:
    """Fifty rovers on a simulator of their own, and what their steps cost."""

    def __init__(self, port: int, garbage_per_s: int) -> None:
        numbers = (port, STRIDE, VEHICLES, garbage_per_s, STEP_US / 1e6)
        command = [sys.executable, SIMULATOR, *map(str, numbers)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self.adapter = GazeboAdapter(
            GazeboConfig(
                sensor_port=port, actuator_port=port + 1, fdm_stride=STRIDE,
                physics_step_us=STEP_US, timeout_ms=5000,
            )
        )  # fmt: skip
        for i in range(1, VEHICLES + 1):
            self.adapter.add_vehicle(VehicleConfig(id=i, noise=NoiseProfile.OFF))
        self.adapter.connect()
        self.latency_s: list[float] = []
        self.cpu_s = 0.0

    def step(self) -> None:
        before_s = time.thread_time()
        self.latency_s.append(drive_one_step(self.adapter, STEP_US))
        self.cpu_s += time.thread_time() - before_s

    def p99_ms(self) -> list[float]:
        """The 99th percentile of every part."""
        starts = range(0, len(self.latency_s), STEPS)
        return [percentile_ms(self.latency_s[i : i + STEPS], 0.98) for i in starts]

    def close(self) -> None:
        self.adapter.disconnect()
        self._process.kill()
        self._process.wait(5.0)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.mark.slow
def test_f09_what_a_flood_costs(caplog: pytest.LogCaptureFixture) -> None:
    with PortLeases() as leases:
        compare(base_port(leases), caplog)


def compare(port: int, caplog: pytest.LogCaptureFixture) -> None:
    calm, flooded = Fleet(port, 0), Fleet(port + 200, GARBAGE_PER_S)
    try:
        with caplog.at_level(logging.WARNING):
            start_s = time.monotonic()
            for step in range(1, PARTS * STEPS + 1):
                time.sleep(max(0.0, start_s + step / RATE_HZ - time.monotonic()))
                for fleet in (calm, flooded):
                    fleet.step()
            wall_s = time.monotonic() - start_s
        stats = flooded.adapter.wire_stats()
        cpu_share = (flooded.cpu_s - calm.cpu_s) / wall_s
        ratios = [a / b for a, b in zip(flooded.p99_ms(), calm.p99_ms(), strict=True)]
        log.info("flood: %.0f/s, CPU %.1f %%, p99 %s ms, ratios %s", stats[1].broken / wall_s,
                 100 * cpu_share, flooded.p99_ms(), ratios)  # fmt: skip
        assert stats[1].broken > 0.3 * GARBAGE_PER_S * wall_s
        assert all(stats[i].broken == 0 for i in range(2, VEHICLES + 1))
        assert flooded.adapter.sim_time_us() == PARTS * STEPS * STEP_US
        assert len([r for r in caplog.records if "vehicle 1:" in r.message]) <= 2 + wall_s
        assert cpu_share <= 0.30
        assert min(ratios) <= 2.0
    finally:
        for fleet in (calm, flooded):
            fleet.close()
