"""Commands to single rovers, as the browser view gives them."""

import contextlib

import pytest

from pico_gz.core.ground_control import MissionType
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.vehicle_setup import MissionStarter
from pico_gz.run.view_access import VehicleCommands


class NoView:
    line = "nowhere"

    def close(self):
        pass


@contextlib.contextmanager
def opened_run(**overrides):
    """A run that is stepped by hand, and what a view of it would be given."""
    fleet = default_fleet(
        overrides=FleetOverrides(rovers=2, adapter="lightweight", speed="max", **overrides)
    )
    given = []
    options = RunOptions(
        demo=True,
        mavlink=False,
        control=False,
        check_ports=False,
        dashboard=lambda run: given.append(run) or NoView(),
    )
    with FleetRun(fleet, options) as session:
        yield session, given[0]


@pytest.fixture
def running():
    with opened_run() as (session, run):
        session.bridge.step(400)
        yield session.bridge, run.commands


def mode_of(bridge, vehicle_id):
    return bridge.get_vehicle(vehicle_id).status().mode


def test_goto_arms_and_drives_there(running):
    bridge, commands = running
    commands["disarm"]({"id": 1})
    commands["goto"]({"id": 1, "north_m": 3.0, "east_m": -2.0})
    assert bridge.get_vehicle(1).status().armed
    assert mode_of(bridge, 1) == "GUIDED"
    bridge.step(1500)
    truth = bridge.view.truth[1]
    assert abs(truth.north_m - 3.0) < 1.5
    assert abs(truth.east_m + 2.0) < 1.5


def test_everybody_is_id_zero(running):
    bridge, commands = running
    commands["mode"]({"id": 0, "mode": "hold"})
    assert [mode_of(bridge, i) for i in (1, 2)] == ["HOLD", "HOLD"]
    commands["disarm"]({"id": 0})
    assert not any(vehicle.status().armed for vehicle in bridge.vehicles)


def test_who_was_taken_out_of_the_run_is_not_asked(running):
    bridge, commands = running
    bridge.despawn_vehicle(1)
    commands["mode"]({"id": 0, "mode": "HOLD"})
    assert mode_of(bridge, 2) == "HOLD"


def test_reset_puts_everybody_back_and_starts_again(running):
    bridge, commands = running
    bridge.step(600)
    commands["fail"]({"id": 2, "unit": "gps", "type": "off"})
    time_us = bridge.view.time_us
    assert bridge.view.truth[2].north_m > 2.0
    commands["reset"]({})
    bridge.step()
    assert bridge.view.truth[2].north_m == pytest.approx(0.0, abs=0.05)
    assert bridge.view.truth[2].east_m == pytest.approx(3.0, abs=0.05)
    assert bridge.view.time_us > time_us
    bridge.step(900)
    assert mode_of(bridge, 2) == "AUTO"
    assert bridge.view.truth[2].north_m > 0.5


@pytest.mark.parametrize(
    ("name", "request_", "message"),
    [
        ("mode", {"id": 1, "mode": "AUTOO"}, "Unknown mode"),
        ("mode", {"id": 9, "mode": "AUTO"}, "no vehicle 9"),
        ("arm", {"id": "1"}, "whole number"),
        ("goto", {"id": 1, "north_m": "x", "east_m": 0}, "is a number"),
        ("goto", {"id": 0, "north_m": 1, "east_m": 0}, "whole number"),
    ],
)
def test_bad_requests_are_refused_with_the_reason(running, name, request_, message):
    _, commands = running
    with pytest.raises(ConfigError, match=message):
        commands[name](request_)


def test_a_refusal_of_the_autopilot_is_told():
    with opened_run() as (session, run):
        session.bridge.step()
        with pytest.raises(ConfigError, match=r"rover_1 does not arm: .*initialising"):
            run.commands["arm"]({"id": 1})


def test_one_refusal_keeps_nobody_else_from_obeying():
    with opened_run() as (session, run):
        session.bridge.step()
        run.commands["fail"]({"id": 1, "unit": "gps", "type": "off"})
        session.bridge.step(600)
        run.commands["disarm"]({"id": 0})
        with pytest.raises(ConfigError, match=r"^rover_1 does not arm: "):
            run.commands["arm"]({"id": 0})
        armed = [session.bridge.get_vehicle(i).status().armed for i in (1, 2)]
        assert armed == [False, True]
        with pytest.raises(ConfigError, match=r"^rover_1 refuses AUTO: "):
            run.commands["mode"]({"id": 0, "mode": "AUTO"})
        assert mode_of(session.bridge, 2) == "AUTO"


def test_all_who_refuse_are_named():
    with opened_run() as (session, run):
        session.bridge.step()
        with pytest.raises(ConfigError, match=r"^2 refuse: rover_1 .*; rover_2 does not arm: "):
            run.commands["arm"]({"id": 0})


def test_vehicles_without_our_autopilot_are_not_commanded():
    with opened_run(autopilot="none") as (session, run):
        session.bridge.step()
        with pytest.raises(ConfigError, match="no built-in autopilot"):
            run.commands["arm"]({"id": 1})


@pytest.mark.parametrize("mode", ["AUTO", "RTL"])
def test_a_mode_can_arm_as_well(running, mode):
    bridge, commands = running
    commands["mode"]({"id": 1, "mode": "HOLD"})
    commands["disarm"]({"id": 1})
    commands["mode"]({"id": 1, "mode": mode, "arm": True})
    assert bridge.get_vehicle(1).status().armed
    assert mode_of(bridge, 1) == mode


def test_a_mode_that_is_refused_leaves_the_rover_disarmed():
    with opened_run() as (session, run):
        session.bridge.step(10)  # no position yet
        with pytest.raises(ConfigError, match="refuses RTL"):
            run.commands["mode"]({"id": 1, "mode": "RTL", "arm": True})
        assert not session.bridge.get_vehicle(1).status().armed


@pytest.mark.parametrize("value", [1e300, -2e9, 1e9, -100_001.0])
def test_a_place_out_of_range_is_refused_with_the_range(running, value):
    _, commands = running
    with pytest.raises(ConfigError, match="is outside -"):
        commands["goto"]({"id": 1, "north_m": value, "east_m": 0.0})


_HEAD = "QGC WPL 110\n0 1 0 16 0 0 0 0 35.681236 139.767125 40 1\n"


@pytest.fixture
def mission(tmp_path):
    """Give a mission to rover 1 of a run, as ``pico-gz ctl mission`` does."""

    def give(session, *lines):
        path = tmp_path / "its.waypoints"
        path.write_text(_HEAD + "".join(f"{line}\n" for line in lines))
        bridge = session.bridge
        pilots = {1: bridge.get_vehicle(1).autopilot}
        orders = VehicleCommands(bridge, lambda: session.fleet, session.frame, pilots)
        return orders.table(session.fail, MissionStarter([]))["mission"](
            {"id": 1, "path": str(path)}
        )

    return give


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (None, "its.waypoints holds nothing to drive to"),
        ("1 0 3 81 0 0 0 0 35.68129 139.767125 5 1", "its.waypoints: item 1, NAV_PATHPLANNING"),
        ("1 0 3 16 0 0 0 0 47.3769 8.5417 0 1", "its.waypoints lies .* km from"),
    ],
)
def test_a_mission_that_would_be_refused_at_the_start_is_refused_later(mission, line, words):
    with opened_run() as (session, _):
        session.bridge.step(400)
        before = session.bridge.get_vehicle(1).autopilot.missions.items(MissionType.MISSION)
        with pytest.raises(ConfigError, match=words) as caught:
            mission(session, *([line] if line else []))
        after = session.bridge.get_vehicle(1).autopilot.missions.items(MissionType.MISSION)
        assert after == before
        if line and " 22 " in line:
            assert caught.value.hint.startswith("Allowed: NAV_WAYPOINT (16), ")


def test_a_mission_that_cannot_start_yet_says_why(mission):
    square = "1 0 3 16 0 0 0 0 35.681290 139.767125 0 1"
    with opened_run() as (session, run):
        session.bridge.step(400)
        assert mission(session, square) == {}
        run.commands["disarm"]({"id": 1})
        run.commands["fail"]({"id": 1, "unit": "gps", "type": "off"})
        session.bridge.step(600)
        message = mission(session, square)["message"]
    assert message.startswith("rover_1 starts when it can arm: Arm: ")
    assert "GPS" in message
