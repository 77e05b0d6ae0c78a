"""A run that cannot keep its pace says so, and what costs the time."""

import importlib
import threading
import time
from functools import partial

import pytest

from pico_gz import ActuatorCommands, SitlBridge, VehicleConfig
from pico_gz.bridge.at_work import Role
from pico_gz.bridge.clock import Lockstep, Scaled
from pico_gz.bridge.observers import TraceDigest
from pico_gz.run.overload import PaceMonitor, part_of
from pico_gz.testing import ScriptedAdapter


class Wall:
    now_s = 1000.0

    def __call__(self):
        return self.now_s


def make(mode):
    wall = Wall()
    bridge = SitlBridge(mode)
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    return bridge, PaceMonitor(bridge, wall), wall


def run_at(bridge, monitor, wall, factor, seconds):
    for _ in range(round(seconds * 2)):
        wall.now_s += 0.5
        bridge.stats.wall_s += 0.5
        bridge.stats.sim_us += round(0.5e6 * factor)
        monitor.look()


def warnings(bridge):
    return [event.text for event in bridge.events.recent if event.kind == "overload"]


def test_five_slow_seconds_are_one_warning_and_a_minute_later_another():
    bridge, monitor, wall = make(Scaled(2.0))
    run_at(bridge, monitor, wall, 2.0, 20)
    assert monitor.pace is None
    run_at(bridge, monitor, wall, 0.5, 4.5)
    assert monitor.pace is not None
    run_at(bridge, monitor, wall, 0.5, 50)
    (said,) = warnings(bridge)
    assert "instead of 2x" in said
    run_at(bridge, monitor, wall, 0.5, 30)
    assert len(warnings(bridge)) == 2
    assert monitor.pace.overloaded
    run_at(bridge, monitor, wall, 2.0, 6)
    assert monitor.pace is None


def test_a_run_that_is_a_little_slow_is_not_overloaded():
    bridge, monitor, wall = make(Scaled(1.0))
    run_at(bridge, monitor, wall, 0.85, 60)
    assert monitor.pace.reached == 0.85
    assert not monitor.pace.overloaded
    assert warnings(bridge) == []


def test_as_fast_as_possible_and_paused_are_never_slow():
    bridge, monitor, wall = make(Lockstep())
    run_at(bridge, monitor, wall, 0.01, 30)
    assert monitor.pace is None
    bridge, monitor, wall = make(Scaled(1.0))
    bridge.pause()
    run_at(bridge, monitor, wall, 0.0, 30)
    assert monitor.pace is None
    assert warnings(bridge) == []


def test_a_change_of_speed_begins_anew():
    bridge, monitor, wall = make(Scaled(1.0))
    run_at(bridge, monitor, wall, 1.0, 20)
    bridge.time_mode = Scaled(20.0)
    run_at(bridge, monitor, wall, 20.0, 20)
    assert monitor.pace is None


def test_the_most_expensive_part_is_named():
    bridge = SitlBridge(Scaled(1.0))
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    bridge.after_step.add(lambda view: time.sleep(0.05))
    with PaceMonitor(bridge) as monitor:
        bridge.run(1_600_000)
    (said,) = warnings(bridge)
    assert "custom observers" in said
    assert monitor.pace.costs[0][0] == "custom observers"


class Wire:
    def __init__(self, look):
        self.look = look

    def vehicle_ids(self):
        return (3,)

    def hand_over(self, records, truth, now_us):
        self.look()

    def collect(self, timeout_s, late):
        self.look()
        return {3: ActuatorCommands(0, 3, (0.0, 0.0))}

    def unanswered(self):
        return ()


class OwnAutopilot:
    period_us = 10_000

    def __init__(self, look):
        self.look = look

    def start(self, platform):
        """Needs nothing."""

    def tick(self, now_us):
        self.look()


class LookingAdapter(ScriptedAdapter):
    look = None

    def _send_actuators(self, commands):
        self.look()
        super()._send_actuators(commands)

    def _step(self, dt_us):
        self.look()
        return super()._step(dt_us)


def test_each_part_is_named_by_its_room():
    bridge = SitlBridge()
    found = []

    def look(*_):
        found.append(part_of(*bridge.at_work()))

    adapter = LookingAdapter()
    adapter.look = look
    bridge.register_adapter(adapter)
    bridge.spawn_vehicle(VehicleConfig(id=1), OwnAutopilot(look))
    bridge.spawn_vehicle(VehicleConfig(id=3), external=True)
    bridge.add_autopilots(Wire(look))
    bridge.before_step.add(look)
    bridge.after_step.add(partial(look))
    bridge.step()
    bridge.step()
    look()
    each = [
        "custom observers", "external autopilots", "custom autopilots", "external autopilots",
        "custom simulators", "custom simulators", "custom observers",
    ]  # fmt: skip
    # There is no record to fly by in the first step.
    assert found == [*(part for part in each if part != "custom autopilots"), *each, "the bridge"]


@pytest.mark.parametrize(
    ("module", "name", "part"),
    [
        ("pico_gz.mavlink.fleet_mavlink", "FleetMavlink", "MAVLink"),
        ("pico_gz.vehicle.autopilot.rover_autopilot", "RoverAutopilot", "autopilots"),
        ("pico_gz.vehicle.platform.platform", "SitlPlatform", "autopilots"),
        ("pico_gz.vehicle.external.fdm_server", "FdmServer", "external autopilots"),
        ("pico_gz.gazebo.adapter", "GazeboAdapter", "Gazebo"),
        ("pico_gz.adapters.lightweight", "LightweightAdapter", "the simulator"),
        ("pico_gz.run.recording.recorder", "RunRecorder", "the recording"),
        ("pico_gz.view.source", "FleetSampler", "the browser view"),
        ("pico_gz.run.health", "FleetHealth", "observers of the run"),
        ("pico_gz.bridge.observers", "TraceDigest", "the bridge"),
    ],
)
def test_a_worker_of_this_package_is_named_by_its_room(module, name, part):
    kind = getattr(importlib.import_module(module), name)
    assert part_of(Role.OBSERVER, kind) == part


def test_a_bound_method_belongs_to_its_object():
    assert part_of(Role.OBSERVER, TraceDigest()) == "the bridge"
    assert part_of(Role.OBSERVER, TraceDigest().mark) == "the bridge"
    assert part_of(Role.OBSERVER, partial(TraceDigest().mark, "x")) == "the bridge"


def test_time_that_passes_until_a_step_is_due_costs_nothing():
    bridge = SitlBridge(Scaled(1.0))
    bridge.register_adapter(ScriptedAdapter())
    found = set()
    done = threading.Event()

    def watch():
        while not done.wait(0.002):
            found.add(bridge.at_work()[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    bridge.run(300_000)
    done.set()
    watcher.join()
    assert Role.NONE in found


class SlowSimulator(ScriptedAdapter):
    """Waits for another program, on a thread of its own."""

    bounded_step = False

    def _step(self, dt_us):
        time.sleep(0.05)
        return super()._step(dt_us)


def test_a_simulator_that_waits_is_not_taken_for_other_programs():
    bridge = SitlBridge(Scaled(1.0))
    bridge.register_adapter(SlowSimulator())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    with PaceMonitor(bridge) as monitor:
        bridge.run(1_600_000)
    assert monitor.pace.costs[0][0] == "custom simulators"
