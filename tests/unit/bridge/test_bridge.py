"""SitlBridge: membership, stepping, isolation of faults."""

import pytest

from pico_gz import (
    ActuatorCommands,
    AutopilotStatus,
    BridgeState,
    LightweightAdapter,
    Lockstep,
    SitlBridge,
    StallPolicy,
    StallRules,
    VehicleConfig,
)
from pico_gz.bridge import fleet_snapshot
from pico_gz.errors import (
    ConfigError,
    DuplicateVehicleError,
    LockstepError,
    LockstepTimeoutError,
    UnknownAdapterError,
    UnknownVehicleError,
)
from pico_gz.testing import ScriptedAdapter

STEP_US = 10_000


class FakeClock:
    """A wall clock that moves by a little with every look: waits pass without waiting."""

    def __init__(self, tick_s: float = 0.001) -> None:
        self.now_s = 0.0
        self.tick_s = tick_s

    def __call__(self) -> float:
        self.now_s += self.tick_s
        return self.now_s


class Driver:
    """An autopilot that commands a constant and remembers when it ran."""

    def __init__(self, pulse_us: int = 1600, period_us: int = 20_000) -> None:
        self.period_us = period_us
        self.pulse_us = pulse_us
        self.ticks_us: list[int] = []
        self.fail_next = 0

    def start(self, platform) -> None:
        self.left = platform.create_pwm(1)
        self.right = platform.create_pwm(3)

    def tick(self, now_us: int) -> None:
        self.ticks_us.append(now_us)
        if self.fail_next:
            self.fail_next -= 1
            raise RuntimeError("planted")
        self.left.set_pulse_us(self.pulse_us)
        self.right.set_pulse_us(self.pulse_us)

    def status(self) -> AutopilotStatus:
        return AutopilotStatus(mode="DRIVE", armed=True)

    def save_state(self):
        return {"ticks_us": list(self.ticks_us)}

    def load_state(self, state) -> None:
        self.ticks_us = list(state["ticks_us"])


def make_bridge(vehicles: int = 2, **kwargs) -> tuple[SitlBridge, ScriptedAdapter]:
    bridge = SitlBridge(Lockstep(STEP_US), **kwargs)
    adapter = ScriptedAdapter()
    bridge.register_adapter(adapter)
    for vehicle_id in range(1, vehicles + 1):
        bridge.spawn_vehicle(VehicleConfig(id=vehicle_id))
    return bridge, adapter


def test_a_step_moves_time_by_exactly_one_step():
    bridge, adapter = make_bridge()
    view = bridge.step()
    assert view.time_us == adapter.sim_time_us() == STEP_US
    assert list(view.sensors) == [1, 2]
    assert view.step == 1


def test_uncommanded_vehicles_are_sent_neutral():
    bridge, adapter = make_bridge(1)
    bridge.step(3)
    assert [sent[1].motors for sent in adapter.sent] == [(0.0, 0.0)] * 3


def test_an_autopilot_ticks_at_its_own_rate_and_its_command_reaches_the_adapter():
    bridge, adapter = make_bridge(0)
    driver = Driver(pulse_us=1600)
    bridge.spawn_vehicle(VehicleConfig(id=7), driver)
    bridge.step(6)
    assert driver.ticks_us == [10_000, 20_000, 40_000]
    assert adapter.sent[-1][7].motors == (0.2, 0.2)


def test_duplicate_and_unknown_ids_are_refused_and_ids_are_reusable():
    bridge, _ = make_bridge(1)
    with pytest.raises(DuplicateVehicleError):
        bridge.spawn_vehicle(VehicleConfig(id=1))
    with pytest.raises(UnknownVehicleError, match="no vehicle 9"):
        bridge.get_vehicle(9)
    bridge.despawn_vehicle(1)
    assert bridge.list_vehicles() == []
    bridge.spawn_vehicle(VehicleConfig(id=1))
    bridge.step()
    assert list(bridge.view.sensors) == [1]


def test_an_unknown_adapter_answers_with_the_nearest_name():
    bridge, _ = make_bridge(0)
    with pytest.raises(UnknownAdapterError) as caught:
        bridge.spawn_vehicle(VehicleConfig(id=1, adapter="scriptd"))
    assert "scripted" in caught.value.hint
    assert bridge.list_vehicles() == []


def test_two_adapters_of_one_type_need_two_names():
    bridge, _ = make_bridge(0)
    with pytest.raises(ConfigError, match="registered already"):
        bridge.register_adapter(ScriptedAdapter())
    assert bridge.register_adapter(ScriptedAdapter(), "second") == "second"
    assert bridge.list_adapters() == ["scripted", "second"]


def test_an_unassigned_vehicle_is_named():
    bridge, _ = make_bridge(0)
    bridge.register_adapter(ScriptedAdapter(), "second")
    bridge.spawn_vehicle(VehicleConfig(id=4))
    with pytest.raises(ConfigError, match="No adapter simulates vehicle 4"):
        bridge.step()
    bridge.assign_vehicle_to_adapter(4, "second")
    bridge.step()


def test_vehicles_on_two_adapters_step_together_in_id_order():
    bridge, first = make_bridge(0)
    second = ScriptedAdapter()
    bridge.register_adapter(second, "second")
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="scripted"))
    bridge.spawn_vehicle(VehicleConfig(id=1, adapter="second"))
    bridge.spawn_vehicle(VehicleConfig(id=3, adapter="second"))
    bridge.step(5)
    assert list(bridge.view.sensors) == [1, 2, 3]
    assert first.sim_time_us() == second.sim_time_us() == bridge.view.time_us == 50_000


def test_an_adapter_with_vehicles_cannot_leave():
    bridge, adapter = make_bridge(1)
    with pytest.raises(ConfigError, match="still simulates vehicle 1"):
        bridge.unregister_adapter("scripted")
    bridge.despawn_vehicle(1)
    assert bridge.unregister_adapter("scripted") is adapter
    assert not adapter.is_connected()


def test_an_adapter_that_joins_late_speaks_fleet_time():
    bridge, _ = make_bridge(1)
    bridge.step(10)
    late = ScriptedAdapter()
    bridge.register_adapter(late, "late")
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="late"))
    bridge.step()
    assert bridge.view.sensors[2].timestamp_us == bridge.view.sensors[1].timestamp_us == 110_000


def test_a_raising_autopilot_fails_alone_after_three_in_a_row():
    bridge, adapter = make_bridge(0)
    bad, good = Driver(period_us=STEP_US), Driver(period_us=STEP_US)
    bridge.spawn_vehicle(VehicleConfig(id=1), bad)
    bridge.spawn_vehicle(VehicleConfig(id=2), good)
    bridge.step(2)
    bad.fail_next = 2
    bridge.step(4)
    assert not bridge.get_vehicle(1).failed  # two in a row are forgiven
    bad.fail_next = 3
    bridge.step(5)
    assert bridge.get_vehicle(1).failed
    assert bridge.get_vehicle(1).status().mode == "FAILED"
    assert adapter.sent[-1][1].motors == (0.0, 0.0)
    assert adapter.sent[-1][2].motors == (0.2, 0.2)
    assert len(good.ticks_us) == 10
    assert bridge.events.counts["failed"] == 1


@pytest.mark.parametrize("misbehave", ["fail_next", "give_nothing_next"])
def test_a_raising_adapter_is_isolated_and_given_up_after_three(misbehave):
    bridge, bad = make_bridge(1)
    good = ScriptedAdapter()
    bridge.register_adapter(good, "good")
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="good"))
    setattr(bad, misbehave, 3)
    bridge.step(5)
    assert good.sim_time_us() == 50_000
    assert [r.timestamp_us for r in [bridge.view.sensors[2]]] == [50_000]
    assert bridge.events.counts["failed"] == 1
    assert bridge.stats.lost_steps == 5


def test_the_last_adapter_to_fail_ends_the_run():
    bridge, adapter = make_bridge(1)
    adapter.fail_next = 3
    with pytest.raises(LockstepError, match="No adapter is left"):
        bridge.step(3)


def test_time_is_not_invented_while_the_only_adapter_fails():
    bridge, adapter = make_bridge(1)
    adapter.fail_next = 2
    bridge.step(2)
    assert bridge.view.time_us == 0
    bridge.step()
    assert bridge.view.time_us == STEP_US


def test_a_stalled_adapter_is_named_then_waited_for_when_it_is_the_only_one():
    bridge, adapter = make_bridge(1, clock=FakeClock(0.05))
    adapter.stall_next = 60
    bridge.step()
    assert bridge.view.time_us == STEP_US
    assert bridge.events.counts["waiting"] == 1
    assert "adapter scripted (vehicles 1)" in bridge.events.recent[0].text


def test_the_others_go_on_when_one_adapter_stalls_and_it_rejoins():
    bridge, slow = make_bridge(1, clock=FakeClock(0.05))
    quick = ScriptedAdapter()
    bridge.register_adapter(quick, "quick")
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="quick"))
    slow.stall_next = 10_000
    bridge.step(4)
    assert quick.sim_time_us() == 40_000
    assert bridge.events.counts["stall"] == 1
    slow.stall_next = 0
    while not bridge.events.counts["rejoin"]:
        bridge.step()
    assert bridge.view.sensors[1].timestamp_us > 0
    bridge.close()


def test_the_policy_abort_names_the_vehicle():
    rules = StallRules(policy=StallPolicy.ABORT)
    bridge, adapter = make_bridge(1, stall=rules, clock=FakeClock(0.05))
    adapter.stall_next = 10_000
    with pytest.raises(LockstepTimeoutError) as caught:
        bridge.step()
    assert caught.value.vehicle_ids == (1,)


def test_the_policy_drop_removes_the_vehicle():
    rules = StallRules(policy=StallPolicy.DROP)
    bridge, slow = make_bridge(1, stall=rules, clock=FakeClock(0.05))
    bridge.register_adapter(ScriptedAdapter(), "quick")
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="quick"))
    slow.stall_next = 10_000
    bridge.step(2)
    assert bridge.list_vehicles() == [2]
    bridge.close()


def test_a_snapshot_continues_where_it_was_taken():
    bridge, _ = make_bridge(0)
    driver = Driver()
    bridge.spawn_vehicle(VehicleConfig(id=1), driver)
    bridge.step(5)
    saved = bridge.snapshot()
    bridge.step(3)
    expected = (bridge.view, list(driver.ticks_us))
    bridge.restore(saved)
    assert bridge.view.time_us == 50_000
    bridge.step(3)
    assert (bridge.view, driver.ticks_us) == expected


def test_a_snapshot_of_another_fleet_is_refused():
    bridge, _ = make_bridge(2)
    other, _ = make_bridge(3)
    with pytest.raises(ConfigError, match="vehicles 1, 2, 3"):
        bridge.restore(other.snapshot())
    with pytest.raises(ConfigError, match="no snapshot"):
        bridge.restore(b"\xff\xff")


def test_an_observer_that_raises_is_let_go_and_disturbs_nobody():
    bridge, _ = make_bridge(1)

    def broken(view) -> None:
        raise ValueError("planted")

    bridge.after_step.add(broken)
    bridge.step(10)
    assert bridge.stats.steps == 10
    assert bridge.events.counts["error"] == 3


@pytest.mark.parametrize("part", ["observer", "adapter", "autopilot"])
def test_without_memory_the_run_ends_whoever_asked_for_it(part):
    bridge, adapter = make_bridge(1)

    def without_memory(*_):
        raise MemoryError

    if part == "observer":
        bridge.after_step.add(without_memory)
    elif part == "adapter":
        adapter._step = without_memory
    else:
        bridge.get_vehicle(1).platform.inject_sensors = without_memory
    with pytest.raises(MemoryError):
        bridge.step(2)


def test_a_listener_that_raises_does_not_end_the_run():
    bridge, adapter = make_bridge(1)
    heard = []

    def broken(event) -> None:
        raise ValueError("planted")

    bridge.events.listen(broken)
    bridge.events.listen(heard.append)
    adapter.fail_next = 1
    bridge.step(2)
    assert [event.kind for event in heard] == ["error"]
    assert bridge.view.time_us == STEP_US


def test_an_observer_counts_its_failures_in_a_row():
    bridge, _ = make_bridge(1)
    calls = []

    def fails_every_other_time(view) -> None:
        calls.append(view.step)
        if view.step % 2:
            raise ValueError("planted")

    bridge.after_step.add(fails_every_other_time)
    bridge.step(20)
    assert len(calls) == 20


def test_the_published_view_cannot_be_changed():
    bridge, _ = make_bridge(1)
    view = bridge.step()
    with pytest.raises(AttributeError):
        view.time_us = 5
    with pytest.raises(AttributeError):
        view.sensors[1].vehicle_id = 2
    for mapping in (view.sensors, view.truth, view.commands):
        with pytest.raises(TypeError):
            del mapping[1]


def test_run_ends_by_duration_by_condition_and_by_stop():
    bridge, _ = make_bridge(1)
    bridge.run(50_000)
    assert bridge.view.time_us == 50_000
    bridge.run(until=lambda view: view.time_us >= 80_000)
    assert bridge.view.time_us == 80_000
    bridge.after_step.add(lambda view: bridge.stop())
    bridge.run(1_000_000)
    assert bridge.view.time_us == 90_000
    assert bridge.state is bridge.view.state is BridgeState.STOPPED


def test_single_steps_count_for_the_real_time_factor():
    bridge, _ = make_bridge(1, clock=FakeClock(0.001))
    bridge.step(10)
    assert bridge.stats.wall_s > 0.0
    assert 0.0 < bridge.stats.real_time_factor < 10.0


class TimesOutTwice(ScriptedAdapter):
    """Its own time-out ends the first two tries of every step."""

    tries = 0

    def _step(self, dt_us):
        self.tries += 1
        if self.tries % 3:
            self.stall_next = 1
        return super()._step(dt_us)


@pytest.mark.parametrize("bounded", [True, False])
def test_no_step_is_lost_when_an_adapter_times_out_by_itself(bounded):
    bridge, adapter = SitlBridge(Lockstep(STEP_US)), TimesOutTwice(bounded=bounded)
    bridge.register_adapter(adapter)
    bridge.spawn_vehicle(VehicleConfig(id=1))
    bridge.step(5)
    assert adapter.sim_time_us() == bridge.view.time_us == 5 * STEP_US
    assert adapter.tries == 15
    bridge.close()


def test_an_adapter_that_failed_a_step_keeps_the_fleets_time():
    bridge, bad = make_bridge(1)
    bridge.register_adapter(ScriptedAdapter(), "good")
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="good"))
    bad.fail_next = 2
    bridge.step(4)
    assert bad.sim_time_us() == 2 * STEP_US
    assert bridge.view.sensors[1].timestamp_us == bridge.view.time_us


def test_external_vehicles_have_no_platform():
    bridge, _ = make_bridge(0)
    vehicle = bridge.spawn_vehicle(VehicleConfig(id=1), external=True)
    assert vehicle.platform is None
    with pytest.raises(ConfigError):
        bridge.spawn_vehicle(VehicleConfig(id=2), Driver(), external=True)


def test_nobody_at_the_wheel_is_done():
    bridge, _ = make_bridge(1)
    bridge.spawn_vehicle(VehicleConfig(id=2), external=True)
    broken = Driver()
    broken.fail_next = 3
    bridge.spawn_vehicle(VehicleConfig(id=3), broken)
    assert [bridge.get_vehicle(i).status().done for i in (1, 2, 3)] == [True, False, False]
    bridge.step(8)
    assert bridge.get_vehicle(3).status().done


def test_despawning_during_a_run_keeps_the_others_streams(monkeypatch):
    bridge, adapter = make_bridge(3)
    seen: list[list[int]] = []

    def observe(view) -> None:
        seen.append(list(view.sensors))
        if view.step == 3:
            bridge.despawn_vehicle(2)

    bridge.after_step.add(observe)
    bridge.run(60_000)
    assert seen == [[1, 2, 3]] * 3 + [[1, 3]] * 3
    assert isinstance(adapter.sent[-1][3], ActuatorCommands)


def test_the_state_is_paused_from_pause_to_resume():
    bridge, _ = make_bridge(1)
    assert bridge.state is BridgeState.IDLE
    bridge.pause()
    assert bridge.state is BridgeState.PAUSED
    bridge.resume()
    assert bridge.state is BridgeState.IDLE


def test_a_run_that_failed_while_paused_has_failed():
    bridge, _ = make_bridge(1)

    def fail(view):
        bridge.pause()
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError):
        bridge.run(50_000, until=fail)
    assert bridge.state is BridgeState.FAILED


def test_states_of_an_unknown_adapter_are_refused():
    bridge, _ = make_bridge(1)
    with pytest.raises(ConfigError, match="damaged"):
        bridge.restore(fleet_snapshot.of_adapters(0, {"elsewhere": {}}))


@pytest.mark.parametrize(
    "place", [(1e300, 0.0, 0.0), (0.0, float("nan"), 0.0), (0.0, 0.0, float("inf"))]
)
def test_a_place_that_is_none_is_refused_and_the_run_goes_on(place):
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    with pytest.raises(ConfigError, match="cannot be put at"):
        bridge.set_pose(1, *place)
    bridge.step(3)
    assert bridge.view.truth[1].north_m == pytest.approx(0.0, abs=0.01)
