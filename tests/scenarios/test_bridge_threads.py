"""A running bridge, commanded from other threads."""

import itertools
import threading
import time

import pytest

from pico_gz import (
    BridgeState,
    FreeRunning,
    Lockstep,
    Scaled,
    SitlBridge,
    StallPolicy,
    StallRules,
    VehicleConfig,
)
from pico_gz.bridge.clock import with_speed
from pico_gz.errors import ConfigError, LockstepError, SimulatorConnectionError
from pico_gz.testing import FakeAutopilot, ScriptedAdapter

WAIT_S = 20.0


class Running:
    """A bridge that runs on a thread until the block ends."""

    def __init__(self, mode, *, adapter=None, stall=None) -> None:
        self.adapter = adapter or ScriptedAdapter()
        self.bridge = SitlBridge(mode, stall=stall)
        self.bridge.register_adapter(self.adapter)
        self.bridge.spawn_vehicle(VehicleConfig(id=1))
        self._changed = threading.Condition()
        self.bridge.after_step.add(self._notify)
        self.bridge.while_idle.add(self._notify)
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self.bridge.run()
        except LockstepError as exc:
            self.error = exc
            self._notify(None)

    def _notify(self, _) -> None:
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, condition) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, WAIT_S)

    def __enter__(self):
        self._thread.start()
        self.wait_for(lambda: self.bridge.stats.steps > 2)
        return self

    def __exit__(self, *_):
        self.bridge.close()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()


@pytest.mark.parametrize("mode", [Lockstep(), Scaled(5.0), FreeRunning()])
def test_pause_resume_and_single_steps_in_every_mode(mode):
    with Running(mode) as run:
        bridge = run.bridge
        with pytest.raises(ConfigError, match="not paused"):
            bridge.step()
        bridge.pause()
        run.wait_for(lambda: bridge.view.state is BridgeState.PAUSED)
        before = bridge.stats.steps
        bridge.step(3)
        run.wait_for(lambda: bridge.stats.steps == before + 3)
        assert bridge.view.state is BridgeState.PAUSED
        bridge.resume()
        run.wait_for(lambda: bridge.stats.steps > before + 5)
        assert bridge.view.state is BridgeState.RUNNING


def test_vehicles_and_adapters_come_and_go_while_running():
    with Running(Lockstep()) as run:
        bridge = run.bridge
        bridge.spawn_vehicle(VehicleConfig(id=2))
        run.wait_for(lambda: 2 in bridge.view.sensors)
        bridge.register_adapter(ScriptedAdapter(), "second")
        bridge.assign_vehicle_to_adapter(2, "second")
        bridge.despawn_vehicle(2)
        assert bridge.unregister_adapter("second").vehicle_ids() == ()
        run.wait_for(lambda: list(bridge.view.sensors) == [1])


def test_the_speed_changes_while_running():
    with Running(Scaled(1.0)) as run:
        run.bridge.time_mode = with_speed(run.bridge.time_mode, None)
        assert run.bridge.time_mode == Lockstep()
        before = run.bridge.stats.steps
        run.wait_for(lambda: run.bridge.stats.steps > before + 500)


def test_an_adapter_without_lockstep_makes_the_run_free_running_and_says_so():
    with Running(Lockstep(), adapter=ScriptedAdapter(lockstep=False)) as run:
        assert isinstance(run.bridge.time_mode, FreeRunning)
        assert run.bridge.events.counts["fallback"] == 1
        run.wait_for(lambda: run.adapter.sim_time_us() > 50_000)


def test_an_adapter_that_hangs_holds_nobody_else():
    hanging = ScriptedAdapter(name="hanging", bounded=False)
    with Running(Lockstep()) as run:
        bridge = run.bridge
        bridge.register_adapter(hanging)
        bridge.spawn_vehicle(VehicleConfig(id=2, adapter="hanging"))
        run.wait_for(lambda: 2 in bridge.view.sensors)
        hanging.hang.set()
        run.wait_for(lambda: bridge.events.counts["stall"] == 1)
        before = bridge.stats.steps
        run.wait_for(lambda: bridge.stats.steps > before + 50)
        hanging.hang.clear()
        run.wait_for(lambda: bridge.events.counts["rejoin"] == 1)


def test_a_second_run_of_a_running_bridge_is_refused():
    with Running(Scaled(1.0)) as run, pytest.raises(ConfigError, match="running already"):
        run.bridge.run(10_000)


def test_single_steps_that_were_not_done_are_forgotten_on_resume():
    with Running(Scaled(1.0)) as run:
        bridge = run.bridge
        bridge.pause()
        run.wait_for(lambda: bridge.view.state is BridgeState.PAUSED)
        bridge.step(1_000_000)
        bridge.resume()
        run.wait_for(lambda: bridge.view.state is BridgeState.RUNNING)
        bridge.pause()
        run.wait_for(lambda: bridge.view.state is BridgeState.PAUSED)
        before = bridge.stats.steps
        bridge.step(1)
        run.wait_for(lambda: bridge.stats.steps == before + 1)


def test_a_pause_and_resume_in_one_breath_leaves_free_running_time_going():
    with Running(FreeRunning(10.0)) as run:
        for _ in range(20):
            run.bridge.pause()
            run.bridge.resume()
        before_us = run.adapter.sim_time_us()
        run.wait_for(lambda: run.adapter.sim_time_us() > before_us + 200_000)


class FailsNowAndThen(ScriptedAdapter):
    """Raises in every tenth step."""

    calls = 0

    def _step(self, dt_us):
        self.calls += 1
        if self.calls % 10 == 0:
            raise RuntimeError("planted")
        return super()._step(dt_us)


def test_a_free_running_adapter_is_given_up_only_after_three_failures_in_a_row():
    with Running(FreeRunning(10.0), adapter=FailsNowAndThen()) as run:
        run.wait_for(lambda: run.bridge.events.counts["error"] > 4)
        assert not run.bridge.events.counts["failed"]


def test_a_free_running_run_ends_when_its_last_adapter_was_given_up():
    with Running(FreeRunning(10.0)) as run:
        run.adapter.fail_next = 1_000_000
        run.wait_for(lambda: run.error is not None)
        assert run.bridge.events.counts["failed"] == 1
        assert run.bridge.state is BridgeState.FAILED


QUICK_STALL = {"warn_ms": 50, "timeout_ms": 100}


class Hanging(Running):
    """A second adapter, ``hanging``, with vehicle 2 on it, that does not return from a step."""

    def __init__(self, mode, policy) -> None:
        super().__init__(mode, stall=StallRules(policy=policy, **QUICK_STALL))
        self.hanging = ScriptedAdapter(name="hanging", bounded=False)

    def __enter__(self):
        super().__enter__()
        self.bridge.register_adapter(self.hanging)
        self.bridge.spawn_vehicle(VehicleConfig(id=2, adapter="hanging"))
        self.wait_for(lambda: 2 in self.bridge.view.sensors)
        self.hanging.hang.set()
        self.wait_for(lambda: self.bridge.events.counts["waiting"])
        self.wait_for_steps(30)
        return self

    def wait_for_steps(self, count) -> None:
        before = self.bridge.stats.steps
        self.wait_for(lambda: self.bridge.stats.steps > before + count)

    def __exit__(self, *_):
        # Still hanging: closing must not wait for it for ever.
        self.hanging.hang.set()
        super().__exit__()
        self.hanging.hang.clear()


@pytest.mark.parametrize("policy", [StallPolicy.NEUTRAL, StallPolicy.HOLD, StallPolicy.FREE_RUN])
def test_an_adapter_that_hung_is_commanded_again_and_keeps_the_fleets_time(policy):
    with Hanging(Scaled(5.0), policy) as run:
        run.hanging.hang.clear()
        sent = len(run.hanging.sent)
        run.wait_for(lambda: len(run.hanging.sent) > sent + 5)
        run.wait_for(
            lambda: run.bridge.view.time_us - run.bridge.view.sensors[2].timestamp_us < 100_000
        )


def test_a_hanging_free_running_adapter_holds_nobody_and_is_named():
    with Hanging(FreeRunning(5.0), StallPolicy.NEUTRAL) as run:
        named = [event.text for event in run.bridge.events.recent if event.kind == "waiting"]
        assert "adapter hanging (vehicles 2)" in named[0]
        run.hanging.hang.clear()
        run.wait_for(lambda: run.bridge.events.counts["late"] == 1)


def test_the_vehicles_of_a_hanging_adapter_are_dropped_and_their_ids_are_free():
    with Hanging(Scaled(5.0), StallPolicy.DROP) as run:
        run.wait_for(lambda: run.bridge.list_vehicles() == [1])
        run.bridge.spawn_vehicle(VehicleConfig(id=2, adapter="scripted"))
        run.wait_for(lambda: 2 in run.bridge.view.sensors)
        assert run.bridge.view.sensors[2].timestamp_us == run.bridge.view.time_us
        run.hanging.hang.clear()
        run.wait_for(lambda: run.hanging.vehicle_ids() == ())


@pytest.mark.alone
def test_many_dropped_vehicles_hold_the_fleet_no_longer_than_one():
    with Running(Scaled(5.0), stall=StallRules(policy=StallPolicy.DROP, **QUICK_STALL)) as run:
        bridge, hanging = run.bridge, ScriptedAdapter(name="hanging", bounded=False)
        bridge.register_adapter(hanging)
        for vehicle_id in range(2, 7):
            bridge.spawn_vehicle(VehicleConfig(id=vehicle_id, adapter="hanging"))
        run.wait_for(lambda: len(bridge.view.sensors) == 6)
        steps_s: list[float] = []
        bridge.after_step.add(lambda view: steps_s.append(time.monotonic()))
        hanging.hang.set()
        run.wait_for(lambda: bridge.list_vehicles() == [1] and len(steps_s) > 20)
        gaps_s = [later - earlier for earlier, later in itertools.pairwise(steps_s[:])]
        # It was waited for once, 0.1 s; each vehicle would have cost another second.
        assert max(gaps_s) < 1.0
        hanging.hang.clear()
        run.wait_for(lambda: hanging.vehicle_ids() == ())


class Thinking(FakeAutopilot):
    """An autopilot whose tick takes until it is let go."""

    def __init__(self) -> None:
        super().__init__(period_us=10_000)
        self.go_on = threading.Event()

    def tick(self, now_us) -> None:
        self.go_on.wait(WAIT_S)


def test_an_autopilot_that_does_not_return_is_named_by_an_event():
    pilot, named = Thinking(), []
    with Running(Lockstep(), stall=StallRules(**QUICK_STALL)) as run:

        def note(event) -> None:
            named.append(event)
            pilot.go_on.set()

        run.bridge.events.listen(note)
        run.bridge.spawn_vehicle(VehicleConfig(id=7), pilot)
        run.wait_for(lambda: named)
        assert (named[0].kind, named[0].vehicle_id) == ("waiting", 7)
        assert "the autopilot of vehicle 7" in named[0].text
        assert run.bridge.events.counts["waiting"] == 1


class SlowOnce(ScriptedAdapter):
    """Promises to return, does so late once, and then with its own time-out."""

    slow = False

    def _step(self, dt_us):
        if self.slow:
            self.slow = False
            self.noticed.wait(WAIT_S)
            self.stall_next = 1
        return super()._step(dt_us)


def test_an_adapter_that_returns_late_is_named_once():
    adapter = SlowOnce()
    adapter.noticed = threading.Event()
    with Running(Lockstep(), adapter=adapter, stall=StallRules(**QUICK_STALL)) as run:
        run.bridge.events.listen(lambda event: adapter.noticed.set())
        adapter.slow = True
        run.wait_for(lambda: adapter.noticed.is_set() and not adapter.stall_next)
        before = run.bridge.stats.steps
        run.wait_for(lambda: run.bridge.stats.steps > before + 5)
        assert [event.adapter for event in run.bridge.events.recent] == ["scripted"]


class Unreachable(ScriptedAdapter):
    def _connect(self):
        raise SimulatorConnectionError("planted")


def test_an_adapter_that_cannot_be_reached_during_a_run_is_not_kept():
    with Running(Lockstep()) as run:
        with pytest.raises(SimulatorConnectionError):
            run.bridge.register_adapter(Unreachable(name="far"))
        assert run.bridge.list_adapters() == ["scripted"]
