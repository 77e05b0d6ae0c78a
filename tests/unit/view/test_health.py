from pico_gz import SitlBridge, VehicleConfig
from pico_gz.bridge.clock import Scaled
from pico_gz.testing import ScriptedAdapter
from pico_gz.view.metrics import Health


def make_bridge(mode=None):
    bridge = SitlBridge(mode)
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    return bridge


def test_a_run_that_has_not_begun_is_not_well():
    problems = Health(make_bridge()).problems(0.0)
    assert problems == ["The run has not begun.", "No states of vehicle 1."]


def test_a_run_that_steps_is_well_and_one_that_hangs_is_not():
    bridge = make_bridge()
    health = Health(bridge)
    bridge.step()
    assert health.problems(100.0) == []
    assert health.problems(104.0) == []
    assert health.problems(106.0) == ["No step for 6 s."]
    bridge.step()
    assert health.problems(107.0) == []


def test_a_paused_run_stays_well():
    bridge = make_bridge()
    bridge.step()
    bridge.pause()
    health = Health(bridge)
    assert health.problems(0.0) == []
    assert health.problems(1000.0) == []
    bridge.resume()
    assert health.problems(1001.0) == []
    assert health.problems(1020.0) == ["No step for 20 s."]


def test_slow_motion_is_given_time():
    bridge = make_bridge(Scaled(0.001))  # one step takes ten seconds
    health = Health(bridge)
    bridge.step()
    assert health.problems(0.0) == []
    assert health.problems(29.0) == []
    assert health.problems(31.0) == ["No step for 31 s."]
