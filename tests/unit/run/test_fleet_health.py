"""Troubles of vehicles: what is found, since when and why."""

import time

import pytest
from msgspec.structs import replace

from pico_gz import SitlBridge, VehicleConfig
from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.run.commands import status_of
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.health import FleetHealth, trouble_lines, with_health
from pico_gz.run.options import RunOptions
from pico_gz.testing import ScriptedAdapter


def open_run(rovers=2, fleet=None, **overrides):
    fleet = fleet or default_fleet(
        overrides=FleetOverrides(rovers=rovers, adapter="lightweight", speed="max", **overrides)
    )
    return FleetRun(fleet, RunOptions(demo=True, mavlink=False, control=False, check_ports=False))


def kinds(run, vehicle_id=1):
    return [trouble.kind for trouble in run.health.troubles.get(vehicle_id, ())]


def test_a_fleet_that_drives_is_well():
    with open_run() as run:
        run.bridge.step(3000)
        assert run.health.troubles == {}


def test_a_fleet_that_waits_for_its_first_step_is_well():
    with open_run() as run:
        run.health.while_idle(0)
        assert run.health.troubles == {}


def test_a_failure_is_a_trouble_from_the_step_it_began_until_it_is_mended():
    with open_run() as run:
        run.bridge.step(500)
        run.fail(1, "motor_left", "off")
        run.fail(1, "baro", "stuck")
        run.bridge.step(1)
        found = run.health.troubles[1]
        assert [(t.kind, t.why) for t in found if t.kind == "failure"] == [
            ("failure", "motor left fails: off"),
            ("failure", "baro fails: stuck"),
        ]
        assert {t.since_us for t in found} == {run.bridge.view.time_us}
        began_us = run.bridge.view.time_us
        run.bridge.step(200)
        assert run.health.troubles[1][0].since_us == began_us
        assert 2 not in run.health.troubles
        for unit in ("motor_left", "baro"):
            run.fail(1, unit, "ok")
        run.bridge.step(1)
        assert "failure" not in kinds(run)


def test_a_lost_gps_is_no_fix_and_then_a_failsafe():
    with open_run() as run:
        run.bridge.step(1500)
        run.fail(1, "gps", "garbage")
        run.bridge.step(500)
        assert {"failure", "no_fix"} <= set(kinds(run))
        run.bridge.step(4000)
        failsafes = [t for t in run.health.troubles[1] if t.kind == "failsafe"]
        assert [t.why for t in failsafes] == ["EKF failsafe: position lost"]
        assert kinds(run)[0] == "failsafe"  # the gravest comes first
        run.fail(1, "gps", "ok")
        run.bridge.step(3000)
        assert run.health.troubles == {}


def test_a_rover_at_a_box_touches_it_and_is_stuck(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(
        '[fleet]\ncount = 1\n[[obstacle]]\nkind = "box"\nnorth_m = 3\neast_m = 0\n'
        "size_n_m = 1\nsize_e_m = 4\nheight_m = 1\n"
    )
    fleet = load_fleet(path, FleetOverrides(adapter="lightweight", speed="max"))
    with open_run(fleet=fleet) as run:
        run.bridge.step(3000)
        found = {t.kind: t for t in run.health.troubles[1]}
        assert found["contact"].why == "touches box_1"
        assert "does not move" in found["stuck"].why
        assert found["stuck"].since_us >= found["contact"].since_us - 250_000
        began_us = found["stuck"].since_us
        for _ in range(40):  # it rocks, and is stuck all the time
            run.bridge.step(25)
            stuck = [t.since_us for t in run.health.troubles[1] if t.kind == "stuck"]
            assert stuck == [began_us]
        run.bridge.set_pose(1, -5.0, -5.0, 180.0)
        run.bridge.step(300)
        assert not {"contact", "stuck"} & set(kinds(run))


def test_a_battery_below_its_limit_is_low():
    with open_run() as run:
        run.bridge.step(100)
        pilot = run.bridge.get_vehicle(1).autopilot
        pilot.params.set("BATT_MONITOR", 4)
        pilot.params.set("BATT_LOW_VOLT", 100)
        run.bridge.step(100)
        (low,) = run.health.troubles[1]
        assert low.kind == "low_battery"
        assert low.why == "Battery low"
        since_us = low.since_us
        pilot.params.set("BATT_CRT_VOLT", 90)
        run.bridge.step(500)  # it gets worse, and it is the same trouble
        assert run.health.troubles[1][0].why == "Battery critical"
        assert run.health.troubles[1][0].since_us == since_us


class Raising:
    period_us = 10_000

    def start(self, platform):
        pass

    def tick(self, now_us):
        if now_us >= 1_000_000:
            raise ZeroDivisionError("by zero")

    def status(self):
        from pico_gz.core.autopilot import AutopilotStatus

        return AutopilotStatus()

    def save_state(self):
        return {}

    def load_state(self, state):
        pass


def watched(bridge, **options):
    health = FleetHealth(bridge, {}, options.pop("failures", dict), **options)
    health.watch()
    return health


def test_an_autopilot_that_raises_stays_in_trouble():
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(seed=1))
    bridge.spawn_vehicle(VehicleConfig(id=1), Raising())
    health = watched(bridge)
    bridge.step(300)
    (raised,) = health.troubles[1]
    assert (raised.kind, raised.since_us) == ("raised", 1_000_000)
    assert "ZeroDivisionError" in raised.why


def test_a_vehicle_without_states_is_silent_and_one_that_gave_up_is_stalled():
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    for vehicle_id in (1, 2):
        bridge.spawn_vehicle(VehicleConfig(id=vehicle_id))
    health = watched(bridge)
    health.look(replace(bridge.view, time_us=1_000_001))
    assert [(t.kind, t.why) for t in health.troubles[2]] == [
        ("silent", "No states from its simulator")
    ]
    bridge.step(300)
    assert health.troubles == {}
    bridge.get_vehicle(2).stalled = True
    bridge.step(30)
    assert [t.kind for t in health.troubles[2]] == ["stalled"]


def test_a_failure_switched_while_time_is_held_shows_at_once():
    active = {}
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1))
    health = watched(bridge, failures=lambda: active)
    bridge.step(10)
    active = {1: {"gps": "off"}}
    health.while_idle(0)
    assert [t.why for t in health.troubles[1]] == ["gps fails: off"]


def test_a_restored_run_has_its_own_troubles():
    with open_run() as run:
        run.bridge.step(1500)
        run.fail(1, "gps", "garbage")
        run.bridge.step(500)
        saved, then = run.bridge.snapshot(), run.health.troubles
        run.fail(1, "gps", "ok")
        run.fail(2, "baro", "off")
        run.bridge.step(1000)
        assert run.health.troubles != then
        run.bridge.restore(saved)
        run.health.while_idle(0)
        assert run.health.troubles == then


def test_what_began_later_is_gone_after_a_restore():
    with open_run() as run:
        run.bridge.step(500)
        saved = run.bridge.snapshot()
        run.bridge.step(500)
        run.fail(1, "baro", "off")
        run.bridge.step(10)
        assert run.health.troubles[1][0].since_us > 9_000_000
        run.bridge.restore(saved)
        run.bridge.step(1)
        assert all(
            t.since_us <= run.bridge.view.time_us
            for found in run.health.troubles.values()
            for t in found
        )


def test_a_status_reply_names_each_trouble_with_its_time():
    with open_run() as run:
        run.bridge.step(500)
        run.fail(2, "gps", "off")
        run.bridge.step(1)
        command = with_health(lambda _: status_of(run.bridge), run.health, lambda: None)
        status = command({})
        assert status["vehicles"]["1"]["troubles"] == []
        assert status["vehicles"]["2"]["troubles"] == [
            {"kind": "failure", "since_s": 5.01, "why": "gps fails: off"}
        ]
        assert trouble_lines(status) == ["rover_2: failure since 5.0 s: gps fails: off"]


@pytest.mark.alone
def test_a_look_at_255_rovers_is_cheap():
    with open_run(255, allow_gcs_sysid=True) as run:
        run.bridge.step(300)
        spent_s = min(_look_s(run) for _ in range(10))
        assert spent_s < 0.004  # four times a simulated second: below 2 % of real time


def _look_s(run):
    started_s = time.perf_counter()
    run.health.look(run.bridge.view)
    return time.perf_counter() - started_s
