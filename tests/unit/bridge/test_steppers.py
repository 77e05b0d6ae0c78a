"""How an adapter is made to step: exactly once per step of the fleet, whoever is slow."""

from pico_gz import Lockstep, SitlBridge, StallRules, VehicleConfig
from pico_gz.bridge.registered_adapter import StepThread
from pico_gz.testing import ScriptedAdapter

STEP_US = 10_000
LIMIT_S = 20.0


class TickingClock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.05
        return self.now_s


def test_a_step_that_ends_between_two_looks_is_not_done_twice():
    adapter = ScriptedAdapter()
    adapter.connect()
    stepper = StepThread(adapter)
    stepper.begin(STEP_US)
    with stepper._work:
        assert stepper._work.wait_for(lambda: not stepper._busy, LIMIT_S)
    stepper.begin(STEP_US)
    stepper.finish(LIMIT_S)
    assert adapter.sim_time_us() == STEP_US
    stepper.begin(STEP_US)
    stepper.finish(LIMIT_S)
    assert adapter.sim_time_us() == 2 * STEP_US
    stepper.close()


def test_one_that_raised_is_tried_again_while_the_other_is_stalled():
    bridge = SitlBridge(Lockstep(STEP_US), stall=StallRules(), clock=TickingClock())
    well, stalled = ScriptedAdapter(name="well"), ScriptedAdapter(name="stalled")
    bridge.register_adapter(well)
    bridge.register_adapter(stalled)
    bridge.spawn_vehicle(VehicleConfig(id=1, adapter="well"))
    stalled.stall_next = 1_000_000_000
    bridge.step()
    assert bridge.events.counts["stall"] == 1
    well.fail_next = 1
    bridge.step(2)  # would wait for the stalled one for ever
    assert bridge.view.sensors[1].timestamp_us == bridge.view.time_us == 2 * STEP_US
    bridge.close()


def test_a_snapshot_of_a_stalled_adapter_keeps_the_fleets_time():
    bridge = SitlBridge(Lockstep(STEP_US), stall=StallRules(), clock=TickingClock())
    slow = ScriptedAdapter(name="slow")
    bridge.register_adapter(slow)
    bridge.register_adapter(ScriptedAdapter(name="quick"))
    bridge.spawn_vehicle(VehicleConfig(id=1, adapter="slow"))
    bridge.spawn_vehicle(VehicleConfig(id=2, adapter="quick"))
    slow.stall_next = 1_000_000_000
    bridge.step(5)
    saved = bridge.snapshot()
    with slow._lock:  # it steps, and so counts, on another thread
        slow.stall_next = 0
    while not bridge.events.counts["rejoin"]:
        bridge.step()
    bridge.restore(saved)
    bridge.step()
    assert bridge.view.time_us == 6 * STEP_US
    assert bridge.view.sensors[1].timestamp_us == bridge.view.sensors[2].timestamp_us
    bridge.close()


def test_an_adapter_that_stalls_again_is_waited_for_once_again():
    bridge = SitlBridge(Lockstep(STEP_US), stall=StallRules(), clock=TickingClock())
    slow = ScriptedAdapter(name="slow")
    bridge.register_adapter(slow)
    bridge.register_adapter(ScriptedAdapter(name="quick"))
    for stalls in (1, 2):
        slow.stall_next = 1_000_000_000
        bridge.step(5)
        counts = bridge.events.counts
        assert (counts["stall"], counts["rejoin"]) == (stalls, stalls - 1)
        with slow._lock:  # it steps, and so counts, on another thread
            slow.stall_next = 0
        while counts["rejoin"] < stalls:
            bridge.step()
    bridge.close()
