"""Calls that cannot be carried out are refused, and all of a run's time is accounted for."""

import math

import pytest

from pico_gz import Lockstep, SitlBridge, StallPolicy, StallRules, VehicleConfig
from pico_gz.errors import ConfigError
from pico_gz.testing import ScriptedAdapter

STEP_US = 10_000


class SetClock:
    """A wall clock that moves only when it is moved."""

    def __init__(self) -> None:
        self.now_s = 1.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def bridge():
    bridge = SitlBridge(Lockstep(STEP_US))
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    yield bridge
    bridge.close()


@pytest.mark.parametrize("count", [-1, 1.5, "3"])
def test_an_impossible_number_of_steps_is_refused(bridge, count):
    with pytest.raises(ConfigError, match="steps"):
        bridge.step(count)
    assert bridge.view.time_us == 0


@pytest.mark.parametrize("duration_us", [math.nan, math.inf, -1])
def test_a_run_without_an_end_must_be_asked_for(bridge, duration_us):
    bridge.after_step.add(lambda view: bridge.stop())  # or this test would not end
    with pytest.raises(ConfigError, match="Cannot run for"):
        bridge.run(duration_us)
    assert bridge.view.time_us == 0


def test_one_adapter_cannot_be_registered_twice(bridge):
    adapter = bridge.get_adapter("scripted")
    with pytest.raises(ConfigError, match="registered already, as 'scripted'"):
        bridge.register_adapter(adapter, "again")
    assert (bridge.list_adapters(), adapter.name) == (["scripted"], "scripted")
    bridge.step(3)
    assert adapter.sim_time_us() == bridge.view.time_us


def test_a_stall_policy_may_be_a_word_and_must_be_a_known_one():
    assert StallRules(policy="abort").policy is StallPolicy.ABORT
    with pytest.raises(ConfigError, match="abrot") as caught:
        StallRules(policy="abrot")
    assert "free_run" in caught.value.hint


@pytest.mark.parametrize(("warn_ms", "timeout_ms"), [(0, 5), (6, 5), (math.nan, 5), (1, math.nan)])
def test_stall_times_must_fit(warn_ms, timeout_ms):
    with pytest.raises(ConfigError, match="do not fit"):
        StallRules(warn_ms=warn_ms, timeout_ms=timeout_ms)


@pytest.mark.parametrize("how", ["run", "step"])
def test_what_is_done_between_two_steps_counts_for_the_real_time_factor(how):
    clock = SetClock()
    bridge = SitlBridge(Lockstep(STEP_US), clock=clock)
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))

    def takes_a_second() -> None:
        clock.now_s += 1.0

    # From another thread's point of view: carried out before the next step.
    bridge.after_step.add(lambda view: bridge._boundary.later(takes_a_second))
    if how == "run":
        bridge.run(3 * STEP_US)
        assert bridge.stats.wall_s == 3.0
    else:
        bridge.step(3)
        assert bridge.stats.wall_s == 2.0  # what comes after the last step is not between two
    bridge.close()


def test_a_pause_counts_for_nothing():
    clock = SetClock()
    bridge = SitlBridge(Lockstep(STEP_US), clock=clock)
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    paused = []

    def while_idle(_) -> None:
        paused.append(1)
        clock.now_s += 100.0
        if len(paused) == 2:
            bridge.resume()

    def after_step(view) -> None:
        clock.now_s += 1.0
        if view.step == 2:
            bridge.pause()

    bridge.while_idle.add(while_idle)
    bridge.after_step.add(after_step)
    bridge.run(4 * STEP_US)
    assert len(paused) == 2
    assert bridge.stats.wall_s == 4.0
    bridge.close()
