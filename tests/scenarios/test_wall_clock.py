"""The wall clock: set, jumping or starved, it changes nothing of a run (F30, F37)."""

import gc
import itertools
import time

import pytest

from pico_gz import Lockstep, Scaled, SitlBridge, VehicleConfig
from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.observers import TraceDigest
from pico_gz.core.vehicle_config import Pose
from pico_gz.vehicle.scripted import make_script

pytestmark = pytest.mark.alone  # a machine that stands still for long is rightly told of

HOUR_S = 3600.0


def run_digest(mode, *observers, duration_us=1_000_000):
    bridge, trace = SitlBridge(mode), TraceDigest()
    bridge.register_adapter(LightweightAdapter(seed=9))
    for vehicle_id in (1, 2):
        config = VehicleConfig(id=vehicle_id, pose=Pose(east_m=5.0 * vehicle_id))
        bridge.spawn_vehicle(config, make_script("circle:3"))
    bridge.after_step.add(trace)
    for observer in observers:
        bridge.after_step.add(observer)
    bridge.run(duration_us)
    bridge.close()
    return trace.hexdigest(), [(event.kind, event.text) for event in bridge.events.recent]


@pytest.fixture
def jumping_clock(monkeypatch):
    """The time of day is put on or back by an hour with every look, as by hand or for summer."""
    real_s, jumps_s = time.time(), itertools.cycle((HOUR_S, -HOUR_S, 0.0))
    monkeypatch.setattr(time, "time", lambda: real_s + next(jumps_s))
    monkeypatch.setattr(time, "time_ns", lambda: int((real_s + next(jumps_s)) * 1e9))


@pytest.mark.parametrize("mode", [Lockstep(), Scaled(20.0)])
def test_a_clock_that_is_set_changes_nothing(mode, request):
    """F30: the same bytes, the same events, and nobody waits for an hour."""
    calm = run_digest(mode)
    request.getfixturevalue("jumping_clock")
    began_s = time.monotonic()
    assert run_digest(mode) == calm
    assert time.monotonic() - began_s < 60.0


def test_a_starved_lockstep_run_is_slower_and_never_wrong():
    """F37: held up by others and by the collector, it gives the same bytes and tells of nothing."""

    def hold_up(view) -> None:
        if view.step % 10 == 0:
            gc.collect()
            time.sleep(0.02)  # as if the processor were taken away

    assert run_digest(Lockstep(), hold_up) == run_digest(Lockstep())
