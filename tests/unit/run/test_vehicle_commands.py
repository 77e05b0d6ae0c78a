"""Commands to single rovers, as the browser view gives them."""

import contextlib

import pytest

from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions


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
