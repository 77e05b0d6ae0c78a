"""Which adapter a vehicle gets."""

import itertools

import pytest

from pico_gz.errors import MissingProgramError
from pico_gz.run.config.adapter_choice import resolve_adapter, wanted_adapter


def usable() -> str:
    return ""


def missing() -> str:
    return "gz is not on the PATH"


def never() -> str:
    raise AssertionError("Gazebo must not be looked for")


def test_option_beats_environment_beats_vehicle_beats_fleet():
    sources = ("option", "environment", "vehicle", "fleet")
    for given in itertools.product((True, False), repeat=3):
        option, environment, vehicle = (
            name if is_given else None for name, is_given in zip(sources, given, strict=False)
        )
        chosen = wanted_adapter(
            option=option,
            environ={"PICO_GZ_ADAPTER": environment} if environment else {},
            vehicle=vehicle,
            fleet="fleet",
        )
        assert chosen == next(
            (name for name, is_given in zip(sources, given, strict=False) if is_given), "fleet"
        )


def test_an_empty_variable_is_no_choice():
    chosen = wanted_adapter(
        option=None, environ={"PICO_GZ_ADAPTER": ""}, vehicle=None, fleet="auto"
    )
    assert chosen == "auto"


def test_auto_takes_gazebo_when_it_is_usable():
    choice = resolve_adapter("auto", {}, usable)
    assert choice.name == "gazebo"
    assert "\n" not in choice.reason


def test_auto_says_why_it_falls_back():
    choice = resolve_adapter("auto", {}, missing)
    assert choice.name == "lightweight"
    assert "gz is not on the PATH" in choice.reason


@pytest.mark.parametrize("value", ["true", "True"])
def test_ci_turns_auto_into_lightweight(value):
    assert resolve_adapter("auto", {"CI": value}, never).name == "lightweight"


def test_ci_changes_nothing_but_auto():
    assert resolve_adapter("gazebo", {"CI": "true"}, usable).name == "gazebo"
    assert resolve_adapter("auto", {"CI": "false"}, usable).name == "gazebo"


def test_gazebo_by_name_never_falls_back():
    with pytest.raises(MissingProgramError, match="not on the PATH"):
        resolve_adapter("gazebo", {"CI": "true"}, missing)


def test_other_names_pass_through():
    assert resolve_adapter("mine", {}, never).name == "mine"
    assert resolve_adapter("lightweight", {}, never).reason == ""
