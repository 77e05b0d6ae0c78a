"""A stateful machine on the bridge: whatever is done to it, its promises hold."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

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
from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.bridge.run_loop import RunLoop
from pico_gz.errors import LockstepTimeoutError
from pico_gz.testing import FakeAutopilot, FakeClock, ScriptedAdapter

IDS = st.integers(1, 255)
NAMES = st.sampled_from("ab")
STEP_US = 10_000
FOR_EVER = 1_000_000_000
LONGER_THAN_THE_TIMEOUT = 100


class Counter(FakeAutopilot):
    """Notes when time does not grow.

    Noted, not raised: the bridge keeps what an autopilot raises to itself.
    """

    def __init__(self, violations: list[str]) -> None:
        super().__init__(period_us=STEP_US)
        self.violations = violations

    def tick(self, now_us) -> None:
        if self.ticks_us and now_us <= self.ticks_us[-1]:
            self.violations.append(f"a tick at {now_us} us after one at {self.ticks_us[-1]} us")
        super().tick(now_us)


class BridgeMachine(RuleBasedStateMachine):
    """The model: which vehicle is where, which adapter is stalled, what time it must be."""

    only_policy: StallPolicy | None = None

    @initialize(policy=st.sampled_from(StallPolicy))
    def start(self, policy) -> None:
        self.policy = self.only_policy or policy
        self.violations: list[str] = []
        self.expected: dict[int, str] = {}
        self.stalled: set[str] = set()
        self.saved: tuple[bytes, dict[int, str], int] | None = None
        self.make_bridge()

    def make_bridge(self) -> None:
        self.bridge = SitlBridge(
            Lockstep(STEP_US), stall=StallRules(policy=self.policy), clock=FakeClock(0.05)
        )
        self.adapters = {name: ScriptedAdapter() for name in "ab"}
        for name, adapter in self.adapters.items():
            self.bridge.register_adapter(adapter, name)
        self.bridge.events.listen(self.note_event)
        self.bridge.after_step.add(self.note_step)
        self.spawn(1, "a")
        self.spawn(2, "b")

    def start_over(self) -> None:
        self.bridge.close()
        self.expected.clear()
        self.stalled.clear()
        self.saved = None
        self.make_bridge()

    # --- what is seen; noted, because the bridge keeps what an observer raises to itself ----

    def note_event(self, event) -> None:
        if event.kind == "stall":
            self.stalled.add(event.adapter)
        elif event.kind == "rejoin":
            self.stalled.discard(event.adapter)
            if self.adapters[event.adapter].stall_next:
                self.violations.append(f"adapter {event.adapter} is told to be back and is not")

    def note_step(self, view) -> None:
        """Whoever is well has a record of this very step, and was asked for a command."""
        for vehicle in self.bridge.vehicles:
            if vehicle.adapter in self.stalled | self.failing:
                continue
            record = view.sensors.get(vehicle.id)
            stamp_us = None if record is None else record.timestamp_us
            if stamp_us != view.time_us:
                self.violations.append(f"vehicle {vehicle.id}: {stamp_us} at {view.time_us} us")
        if list(view.commands) != self.bridge.list_vehicles():
            self.violations.append(f"commands for {list(view.commands)}")

    failing: frozenset[str] = frozenset()

    # --- the fleet --------------------------------------------------------------------------

    @rule(vehicle_id=IDS, name=NAMES)
    def spawn(self, vehicle_id, name) -> None:
        if vehicle_id not in self.expected:
            config = VehicleConfig(id=vehicle_id, adapter=name)
            self.bridge.spawn_vehicle(config, Counter(self.violations))
            self.expected[vehicle_id] = name

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def despawn(self, data) -> None:
        vehicle_id = data.draw(st.sampled_from(sorted(self.expected)))
        self.bridge.despawn_vehicle(vehicle_id)
        del self.expected[vehicle_id]

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), name=NAMES)
    def assign(self, data, name) -> None:
        vehicle_id = data.draw(st.sampled_from(sorted(self.expected)))
        self.bridge.assign_vehicle_to_adapter(vehicle_id, name)
        self.expected[vehicle_id] = name

    # --- time -------------------------------------------------------------------------------

    @rule(count=st.integers(1, 5))
    def step(self, count) -> None:
        ticks = self.ticks()
        lost, before_us = self.bridge.stats.lost_steps, self.bridge.view.time_us
        was_well = not self.stalled
        self.bridge.step(count)
        assert self.bridge.view.time_us == before_us + count * STEP_US
        if was_well and not self.stalled:
            assert self.bridge.stats.lost_steps == lost
            # The first step of a vehicle gives it the sensors that its first tick needs.
            late = {i: self.ticks()[i] - ticks[i] for i in ticks}
            assert set(late.values()) <= {count, count - 1}
            assert all(done == count for i, done in late.items() if ticks[i])

    def ticks(self) -> dict[int, int]:
        return {v.id: len(v.autopilot.ticks_us) for v in self.bridge.vehicles}

    @rule(count=st.integers(1, 4), factor=st.sampled_from([None, 0.5, 1.0, 50.0]))
    def run_at_another_speed(self, count, factor) -> None:
        self.bridge.time_mode = with_speed(self.bridge.time_mode, factor)
        mode = Lockstep(STEP_US) if factor is None else Scaled(factor, STEP_US)
        assert self.bridge.time_mode == mode
        before_us = self.bridge.view.time_us
        self.bridge.run(count * STEP_US)
        assert self.bridge.view.time_us == before_us + count * STEP_US

    @rule(before=st.integers(1, 3), single=st.integers(0, 3), after=st.integers(1, 3))
    def pause_for_single_steps(self, before, single, after) -> None:
        bridge, first = self.bridge, self.bridge.stats.steps
        start_us, pauses_us = bridge.view.time_us, []

        def pause(view) -> None:
            if view.step == first + before and not pauses_us:
                bridge.pause()

        def while_paused(time_us) -> None:
            pauses_us.append(time_us)
            if len(pauses_us) == 1:
                bridge.step(single)
            else:
                bridge.resume()

        bridge.after_step.add(pause)
        bridge.while_idle.add(while_paused)
        try:
            bridge.run((before + single + after) * STEP_US)
        finally:
            bridge.after_step.remove(pause)
            bridge.while_idle.remove(while_paused)
        held_us = start_us + before * STEP_US
        assert pauses_us == [held_us, held_us + single * STEP_US]
        assert bridge.view.time_us == held_us + (single + after) * STEP_US
        assert bridge.state is not BridgeState.PAUSED

    # --- faults -----------------------------------------------------------------------------

    @precondition(lambda self: not self.stalled)
    @rule(name=NAMES)
    def stall_for_a_while(self, name) -> None:
        self.adapters[name].stall_next = 3
        before_us = self.bridge.view.time_us
        self.bridge.step()
        assert self.bridge.view.time_us == before_us + STEP_US
        assert not self.stalled

    @precondition(lambda self: not self.stalled)
    @rule(name=NAMES)
    def stall_past_the_timeout(self, name) -> None:
        before_us, there = self.bridge.view.time_us, self.on_adapter(name)
        waits = self.policy is StallPolicy.WAIT
        self.adapters[name].stall_next = LONGER_THAN_THE_TIMEOUT if waits else FOR_EVER
        if self.policy is StallPolicy.ABORT:
            with pytest.raises(LockstepTimeoutError) as caught:
                self.bridge.step()
            assert list(caught.value.vehicle_ids) == there
            assert self.bridge.view.time_us == before_us
            self.start_over()
            return
        self.bridge.step()
        assert self.bridge.view.time_us == before_us + STEP_US
        assert self.stalled == (set() if waits else {name})
        if self.policy is StallPolicy.DROP:
            for vehicle_id in there:
                del self.expected[vehicle_id]
        if self.policy is StallPolicy.FREE_RUN:
            assert isinstance(self.bridge.time_mode, FreeRunning)
            self.bridge.time_mode = Lockstep(STEP_US)

    @precondition(lambda self: self.stalled)
    @rule()
    def come_back(self) -> None:
        for name in self.stalled:
            with self.adapters[name]._lock:  # it steps, and so counts, on another thread
                self.adapters[name].stall_next = 0
        for _ in range(100_000):
            if not self.stalled:
                break
            self.bridge.step()
        assert not self.stalled
        self.bridge.step()

    @precondition(lambda self: not self.stalled)
    @rule(
        name=NAMES,
        times=st.integers(1, 2),
        how=st.sampled_from(["fail_next", "give_nothing_next"]),
    )
    def fail_once_or_twice(self, name, times, how) -> None:
        before_us = self.bridge.view.time_us
        setattr(self.adapters[name], how, times)
        self.failing = frozenset(name)
        self.bridge.step(times)
        self.failing = frozenset()
        self.bridge.step()
        assert self.bridge.view.time_us == before_us + (times + 1) * STEP_US

    @precondition(lambda self: not self.stalled)
    @rule(name=NAMES)
    def kill_and_replace(self, name) -> None:
        other = "b" if name == "a" else "a"
        self.adapters[name].fail_next = 3
        self.failing = frozenset(name)
        self.bridge.step(3)
        assert self.bridge.events.recent[-1].kind == "failed"
        for vehicle_id in self.on_adapter(name):
            self.bridge.assign_vehicle_to_adapter(vehicle_id, other)
            self.expected[vehicle_id] = other
        self.failing = frozenset()
        assert self.bridge.unregister_adapter(name) is self.adapters[name]
        self.adapters[name] = ScriptedAdapter()
        self.bridge.register_adapter(self.adapters[name], name)
        self.bridge.step()

    # --- going back -------------------------------------------------------------------------

    @rule()
    def snapshot(self) -> None:
        self.saved = (self.bridge.snapshot(), dict(self.expected), self.bridge.view.time_us)

    @precondition(lambda self: self.saved is not None and self.saved[1] == self.expected)
    @rule()
    def restore(self) -> None:
        data, _, time_us = self.saved
        self.bridge.restore(data)
        assert self.bridge.view.time_us == time_us
        self.bridge.step()

    # --- promises ---------------------------------------------------------------------------

    def on_adapter(self, name: str) -> list[int]:
        return sorted(i for i, where in self.expected.items() if where == name)

    @invariant()
    def nothing_was_noted(self) -> None:
        assert not getattr(self, "violations", None)

    @invariant()
    def the_fleet_is_what_was_asked_for(self) -> None:
        if not hasattr(self, "bridge"):
            return
        assert self.bridge.list_vehicles() == sorted(self.expected)
        for vehicle_id, name in self.expected.items():
            assert self.bridge.get_vehicle(vehicle_id).adapter == name
        for name, adapter in self.adapters.items():
            there = list(adapter.vehicle_ids())
            if name in self.stalled:  # whoever left goes when it can be spoken to
                assert set(there) >= set(self.on_adapter(name))
            else:
                assert there == self.on_adapter(name)

    @invariant()
    def everything_is_in_id_order(self) -> None:
        if hasattr(self, "bridge"):
            view = self.bridge.view
            assert list(view.sensors) == sorted(view.sensors)
            assert list(view.commands) == sorted(view.commands)

    def teardown(self) -> None:
        if hasattr(self, "bridge"):
            self.bridge.close()


def play(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        BridgeMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            # Threads take part, so a shorter story need not end the same way.
            phases=[Phase.generate],
        ),
    )


@pytest.mark.parametrize("examples", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_whatever_is_done_to_the_bridge_its_promises_hold(examples):
    play(examples, 50)


def tick_again(vehicle, now_us):
    autopilot = due_once(vehicle, now_us)
    if autopilot is not None:
        autopilot.tick(0)
    return autopilot


def forget_the_first(adapter, dt_us):
    records = step_all(adapter, dt_us)
    return dict(list(records.items())[1:])


due_once, step_all = VehicleInstance.due_autopilot, ScriptedAdapter.advance


@pytest.mark.parametrize(
    ("policy", "where", "name", "fault"),
    [
        ("hold", VehicleInstance, "due_autopilot", tick_again),
        ("hold", ScriptedAdapter, "advance", forget_the_first),
        ("hold", SitlBridge, "pause", lambda bridge: None),
        ("hold", RunLoop, "set_mode", lambda loop, mode: None),
        ("drop", SitlBridge, "_drop", lambda bridge, ids: None),
        ("free_run", RunLoop, "fall_back", lambda loop, why: None),
    ],
)
def test_the_machine_finds_a_planted_fault(monkeypatch, policy, where, name, fault):
    monkeypatch.setattr(where, name, fault)
    monkeypatch.setattr(BridgeMachine, "only_policy", StallPolicy(policy))
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            BridgeMachine,
            settings=settings(
                max_examples=200,
                stateful_step_count=50,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],  # a fault that is known need not be made smaller
                suppress_health_check=list(HealthCheck),
                report_multiple_bugs=False,
            ),
        )
