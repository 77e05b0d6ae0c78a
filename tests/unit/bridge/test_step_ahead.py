"""Guessed steps: kept, taken back, and left out after too many wrong ones."""

from collections.abc import Mapping

import pytest

from pico_gz import (
    ActuatorCommands,
    Lockstep,
    SitlBridge,
    StallPolicy,
    StallRules,
    VehicleConfig,
)
from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.errors import LockstepTimeoutError
from pico_gz.testing import ScriptedAdapter

STEP_US = 10_000


class TwoWayAdapter(ScriptedAdapter):
    """A simulator that can take a step back; counts what was asked of it."""

    bounded_step = True

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def step_ahead(self, dt_us: int) -> Mapping[int, SensorData] | None:
        self.asked.append("ahead")
        return self.records_at(self.sim_time_us() + dt_us)

    def undo_step(self, dt_us: int) -> None:
        self.asked.append("undo")

    def records_at(self, time_us: int) -> dict[int, SensorData]:
        return {i: SensorData(time_us, i) for i in self.vehicle_ids()}

    def receive_truth(self) -> dict[int, VehicleTruth]:
        level = (1.0, 0.0, 0.0, 0.0)
        return {i: VehicleTruth(0, i, 0.0, 0.0, 0.0, level) for i in self.vehicle_ids()}


class Wire:
    """One autopilot that wants what its script says, then is silent."""

    def __init__(self, wanted: list[float], *, can_prepare: bool = True) -> None:
        self._wanted = wanted
        self._can_prepare = can_prepare
        self._waits = False
        self.prepared: list[int] = []

    def vehicle_ids(self) -> tuple[int, ...]:
        return (1,)

    def prepare(self, commands: object, records: object, truth: object, now_us: int) -> bool:
        self.prepared.append(now_us)
        return self._can_prepare

    def hand_over(self, records: object, truth: object, now_us: int) -> None:
        self._waits = True

    def unanswered(self) -> tuple[int, ...]:
        return (1,) if self._waits else ()

    def collect(self, timeout_s: float, waiting_for: object = None) -> dict[int, ActuatorCommands]:
        if not self._wanted:
            return {}
        self._waits = False
        value = self._wanted.pop(0)
        return {1: ActuatorCommands(0, 1, (value, value))}

    def service(self) -> None:
        pass

    def close(self) -> None:
        pass


def run(wanted: list[float], steps: int, **options: bool) -> tuple[TwoWayAdapter, Wire]:
    adapter, wire = TwoWayAdapter(), Wire(wanted, **options)
    rules = StallRules(warn_ms=1, timeout_ms=2, policy=StallPolicy.ABORT)
    bridge = SitlBridge(Lockstep(STEP_US), stall=rules)
    bridge.register_adapter(adapter)
    bridge.spawn_vehicle(VehicleConfig(id=1), external=True)
    bridge.add_autopilots(wire)
    bridge.step(steps)
    return adapter, wire


def test_a_right_guess_is_kept() -> None:
    adapter, wire = run([0.5] * 6, 6)
    # Not the first step, which has no commands before it, and not the last, which none follows.
    assert adapter.asked == ["ahead"] * 4
    assert wire.prepared == [STEP_US * n for n in (2, 3, 4, 5)]


def test_a_wrong_guess_is_taken_back() -> None:
    adapter, _ = run([0.5, 0.5, 0.7, 0.7, 0.7], 5)
    assert adapter.asked == ["ahead", "ahead", "undo", "ahead"]


def test_a_wire_that_is_not_ready_has_the_step_taken_back() -> None:
    adapter, _ = run([0.5] * 4, 4, can_prepare=False)
    assert adapter.asked == ["ahead", "undo"] * 2


def test_after_too_many_wrong_guesses_there_are_none_for_a_while() -> None:
    adapter, _ = run([0.01 * n for n in range(60)], 60)
    assert adapter.asked == ["ahead", "undo"] * 5


def test_a_run_that_is_given_up_takes_its_guess_back() -> None:
    adapter = TwoWayAdapter()
    rules = StallRules(warn_ms=1, timeout_ms=2, policy=StallPolicy.ABORT)
    bridge = SitlBridge(Lockstep(STEP_US), stall=rules)
    bridge.register_adapter(adapter)
    bridge.spawn_vehicle(VehicleConfig(id=1), external=True)
    bridge.add_autopilots(Wire([0.5, 0.5]))
    with pytest.raises(LockstepTimeoutError):
        bridge.step(10)
    assert adapter.asked == ["ahead", "ahead", "undo"]
