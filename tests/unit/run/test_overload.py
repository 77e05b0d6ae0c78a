"""A run that cannot keep its pace says so, and what costs the time."""

import sys
import time

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.bridge.clock import Lockstep, Scaled
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


def test_a_frame_is_named_by_its_room():
    assert part_of(None) == "this program"
    found = []
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    bridge.before_step.add(lambda now_us: found.append(part_of(sys._getframe())))
    bridge.step()
    assert found == ["custom observers"]
