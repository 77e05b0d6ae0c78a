"""Whether a run starts Gazebo, uses one, or cannot have one."""

import dataclasses

import pytest

from pico_gz.run import gazebo_rules
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.gazebo_rules import gazebo_problem, has_own_world
from pico_gz.run.gazebo_setup import fleet_to_view
from pico_gz.run.simulators import choose_adapters


def fleet(adapter="gazebo", **gazebo):
    fleet = default_fleet(overrides=FleetOverrides(rovers=2, adapter=adapter), environ={})
    return dataclasses.replace(fleet, gazebo=dataclasses.replace(fleet.gazebo, **gazebo))


@pytest.fixture
def no_gazebo(monkeypatch):
    from pico_gz.gazebo.install import GazeboInstall

    monkeypatch.setattr(gazebo_rules, "find_gazebo", lambda: GazeboInstall(None, None))


def test_without_gazebo_there_is_a_reason(no_gazebo):
    assert gazebo_problem(fleet()) == "there is no gz program on the PATH"


@pytest.mark.parametrize(
    "gazebo",
    [
        {"attach": True},
        {"server_addr": "192.168.1.5"},
        {"server_addr": "gazebo:9002"},
        {"ardupilot_compat": False},
    ],
)
def test_a_gazebo_of_others_need_not_be_installed(no_gazebo, gazebo):
    assert gazebo_problem(fleet(**gazebo)) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "127.0.0.1:9002"])
def test_this_machine_is_not_another_host(no_gazebo, address):
    assert gazebo_problem(fleet(server_addr=address))


def test_auto_says_what_it_chose_and_why(no_gazebo):
    chosen, (reason,) = choose_adapters(fleet("auto"), {})
    assert {plan.config.adapter for plan in chosen.vehicles} == {"lightweight"}
    assert reason == "adapter auto: lightweight, because there is no gz program on the PATH"


def test_auto_takes_a_gazebo_of_others(no_gazebo):
    chosen, (reason,) = choose_adapters(fleet("auto", attach=True), {})
    assert {plan.config.adapter for plan in chosen.vehicles} == {"gazebo"}
    assert reason.startswith("adapter auto: gazebo, because")


def test_a_generated_world_is_our_own():
    assert has_own_world(fleet())


def test_a_view_leaves_the_simulating_to_lightweight():
    viewed = fleet_to_view(fleet("auto"))
    assert {plan.config.adapter for plan in viewed.vehicles} == {"lightweight"}


def test_a_gazebo_that_simulates_shows_itself():
    viewed = fleet_to_view(fleet("gazebo"))
    assert {plan.config.adapter for plan in viewed.vehicles} == {"gazebo"}
    assert viewed.gazebo.gui
