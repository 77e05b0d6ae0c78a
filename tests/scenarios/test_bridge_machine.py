"""A stateful machine on the bridge: whatever is done to it, its promises hold."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pico_gz import AutopilotStatus, Lockstep, SitlBridge, StallRules, VehicleConfig
from pico_gz.testing import ScriptedAdapter

IDS = st.integers(1, 255)
STEP_US = 10_000


class TickingClock:
    """Wall time passes only when somebody looks at it: stalls end without waiting."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.05
        return self.now_s


class Counter:
    """An autopilot that counts its ticks and checks that time only grows."""

    period_us = STEP_US

    def __init__(self) -> None:
        self.count = 0
        self.last_us = -1

    def start(self, platform) -> None:
        self.platform = platform

    def tick(self, now_us) -> None:
        assert now_us > self.last_us
        self.last_us = now_us
        self.count += 1

    def status(self):
        return AutopilotStatus()

    def save_state(self):
        return {"count": self.count, "last_us": self.last_us}

    def load_state(self, state) -> None:
        self.count, self.last_us = state["count"], state["last_us"]


class BridgeMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.bridge = SitlBridge(
            Lockstep(STEP_US), stall=StallRules(warn_ms=200, timeout_ms=400), clock=TickingClock()
        )
        self.adapters = {name: ScriptedAdapter() for name in ("a", "b")}
        for name, adapter in self.adapters.items():
            self.bridge.register_adapter(adapter, name)
        self.expected: dict[int, str] = {}
        self.saved: tuple[bytes, dict[int, str], int] | None = None

    @rule(vehicle_id=IDS, name=st.sampled_from("ab"))
    def spawn(self, vehicle_id, name) -> None:
        if vehicle_id not in self.expected:
            self.bridge.spawn_vehicle(VehicleConfig(id=vehicle_id, adapter=name), Counter())
            self.expected[vehicle_id] = name

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def despawn(self, data) -> None:
        vehicle_id = data.draw(st.sampled_from(sorted(self.expected)))
        self.bridge.despawn_vehicle(vehicle_id)
        del self.expected[vehicle_id]

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), name=st.sampled_from("ab"))
    def assign(self, data, name) -> None:
        vehicle_id = data.draw(st.sampled_from(sorted(self.expected)))
        self.bridge.assign_vehicle_to_adapter(vehicle_id, name)
        self.expected[vehicle_id] = name

    @rule(count=st.integers(1, 5))
    def step(self, count) -> None:
        before_us = self.bridge.sim_time_us()
        self.bridge.step(count)
        assert self.bridge.sim_time_us() == before_us + count * STEP_US

    @rule(name=st.sampled_from("ab"))
    def stall_for_a_while(self, name) -> None:
        self.adapters[name].stall_next = 3
        self.bridge.step()

    @rule(name=st.sampled_from("ab"), times=st.integers(1, 2))
    def fail_once_or_twice(self, name, times) -> None:
        self.adapters[name].fail_next = times
        self.bridge.step(times + 1)

    @rule()
    def snapshot(self) -> None:
        self.saved = (self.bridge.snapshot(), dict(self.expected), self.bridge.sim_time_us())

    @precondition(lambda self: self.saved is not None and self.saved[1] == self.expected)
    @rule()
    def restore(self) -> None:
        data, _, time_us = self.saved
        self.bridge.restore(data)
        assert self.bridge.sim_time_us() == time_us

    @invariant()
    def the_fleet_is_what_was_asked_for(self) -> None:
        if not hasattr(self, "bridge"):
            return
        assert self.bridge.list_vehicles() == sorted(self.expected)
        for vehicle_id, name in self.expected.items():
            assert self.bridge.get_vehicle(vehicle_id).adapter == name
            assert vehicle_id in self.adapters[name].vehicle_ids()

    @invariant()
    def everything_is_in_id_order(self) -> None:
        if hasattr(self, "bridge"):
            view = self.bridge.view
            assert list(view.sensors) == sorted(view.sensors)
            assert list(view.commands) == sorted(view.commands)

    def teardown(self) -> None:
        if hasattr(self, "bridge"):
            self.bridge.close()


BridgeMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
TestBridgeMachine = BridgeMachine.TestCase
