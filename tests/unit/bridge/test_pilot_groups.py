"""External pilot groups: who is handed what, when, and what happens to the silent."""

import pytest

from pico_gz import (
    ActuatorCommands,
    Lockstep,
    Scaled,
    SitlBridge,
    StallPolicy,
    StallRules,
    VehicleConfig,
)
from pico_gz.errors import LockstepTimeoutError
from pico_gz.testing import ScriptedAdapter


class FakeClock:
    """Wall time passes only when somebody looks at it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.02
        return self.now_s


class Group:
    """A wire with vehicles that answer at once, unless told to be silent."""

    needs_truth = True

    def __init__(self, *ids: int) -> None:
        self.ids = ids
        self.silent: set[int] = set()
        self.log: list[tuple[str, int]] = []
        self.answered: set[int] = set()
        self.handed_us = -1

    def vehicle_ids(self):
        return self.ids

    def hand_over(self, records, truth, now_us):
        assert not records or set(self.ids) <= set(truth)
        self.log.append(("hand over", now_us))
        self.answered = set()
        self.handed_us = now_us

    def unanswered(self):
        return tuple(i for i in self.ids if i not in self.answered)

    def collect(self, timeout_s, waiting_for=None):
        self.log.append(("collect", self.handed_us))
        new = [i for i in self.ids if i not in self.silent and i not in self.answered]
        self.answered |= set(new)
        return {i: ActuatorCommands(self.handed_us, i, (0.5, 0.5)) for i in new}

    def service(self):
        pass

    def close(self):
        self.log.append(("close", 0))


def make(mode, *ids: int, policy=StallPolicy.NEUTRAL) -> tuple[SitlBridge, Group, ScriptedAdapter]:
    bridge = SitlBridge(mode, stall=StallRules(policy=policy), clock=FakeClock())
    adapter, group = ScriptedAdapter(), Group(*ids)
    bridge.register_adapter(adapter)
    for vehicle_id in ids:
        bridge.spawn_vehicle(VehicleConfig(id=vehicle_id), external=True)
    bridge.add_autopilots(group)
    return bridge, group, adapter


@pytest.mark.parametrize("mode", [Lockstep(), Scaled(1000.0)])
def test_every_step_is_handed_over_once(mode):
    bridge, group, _ = make(mode, 1, 2)
    bridge.run(50_000)
    handed = [time_us for what, time_us in group.log if what == "hand over"]
    assert handed == sorted(set(handed))
    assert handed[:5] == [0, 10_000, 20_000, 30_000, 40_000]


def test_flat_out_an_autopilot_has_its_record_before_observers_are_told():
    bridge, group, _ = make(Lockstep(), 1)
    order = []
    bridge.after_step.add(lambda view: order.append((view.time_us, group.handed_us)))
    bridge.run(30_000)
    assert order == [(10_000, 10_000), (20_000, 20_000), (30_000, 30_000)]


def test_flat_out_an_autopilot_has_its_record_before_the_step_is_published():
    bridge, group, _ = make(Lockstep(), 1)
    seen = []
    hand_over = group.hand_over

    def look(records, truth, now_us):
        seen.append((now_us, truth[1].timestamp_us, bridge.view.time_us) if truth else None)
        hand_over(records, truth, now_us)

    group.hand_over = look
    bridge.step(3)
    assert seen == [None, (10_000, 10_000, 0), (20_000, 20_000, 10_000)]


def test_paced_an_autopilot_gets_its_record_when_the_step_is_due():
    bridge, group, _ = make(Scaled(1000.0), 1)
    order = []
    bridge.after_step.add(lambda view: order.append((view.time_us, group.handed_us)))
    bridge.run(30_000)
    assert order == [(10_000, 0), (20_000, 10_000), (30_000, 20_000)]


@pytest.mark.parametrize(
    ("policy", "motors"), [(StallPolicy.NEUTRAL, (0.0, 0.0)), (StallPolicy.HOLD, (0.5, 0.5))]
)
def test_a_silent_vehicle_is_waited_for_once_and_rejoins(policy, motors):
    bridge, group, adapter = make(Lockstep(), 1, 2, policy=policy)
    bridge.step(3)
    group.silent = {2}
    bridge.step(4)
    assert adapter.sent[-1][1].motors == (0.5, 0.5)
    assert adapter.sent[-1][2].motors == motors
    assert bridge.get_vehicle(2).stalled
    assert bridge.events.counts["stall"] == 1
    assert "rover_2 (id 2)" in bridge.events.recent[-1].text
    group.silent = set()
    bridge.step(1)
    assert not bridge.get_vehicle(2).stalled
    assert bridge.events.counts["rejoin"] == 1


def test_a_silent_vehicle_is_dropped():
    bridge, group, _ = make(Lockstep(), 1, 2, policy=StallPolicy.DROP)
    group.silent = {2}
    bridge.step(2)
    assert bridge.list_vehicles() == [1]


def test_a_silent_vehicle_aborts_the_run():
    bridge, group, _ = make(Lockstep(), 1, 2, policy=StallPolicy.ABORT)
    group.silent = {2}
    with pytest.raises(LockstepTimeoutError) as caught:
        bridge.step(2)
    assert caught.value.vehicle_ids == (2,)


def test_groups_are_closed_with_the_bridge():
    bridge, group, _ = make(Lockstep(), 1)
    bridge.close()
    assert ("close", 0) in group.log
