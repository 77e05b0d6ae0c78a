"""The environment of a service."""

import io
import os
import sys
from pathlib import Path

import pytest

from pico_gz.cli.tools.containers.inside.settings import (
    OutsideNames,
    ServiceSettings,
    outside_names,
    require_fleet,
    require_runs,
    run_service,
)
from pico_gz.errors import ConfigError


def test_empty_variables_are_not_chosen():
    empty = dict.fromkeys(("FLEET", "FLEET_DIR", "ROVERS", "AUTOPILOT", "SEED", "SPEED"), "")
    assert ServiceSettings.read(empty) == ServiceSettings.read({}) == ServiceSettings()


def test_run_arguments_hold_what_was_chosen_and_nothing_else():
    words = ServiceSettings.read({"DASHBOARD": "off"}).run_arguments("lightweight")
    assert words == [
        "/fleet/fleet.toml", "--duration", "0", "--gcs", "shared", "--adapter", "lightweight",
    ]  # fmt: skip
    environ = {"ROVERS": "5", "SPEED": "max", "GCS": "per_vehicle", "RECORD": "1", "SEED": "0"}
    words = ServiceSettings.read(environ).run_arguments("as_written")
    assert "--adapter" not in words
    assert "--dashboard" in words
    pairs = dict(zip(words[1:-1:2], words[2::2], strict=True))
    assert pairs == {
        "--duration": "0", "--gcs": "per_vehicle", "--rovers": "5", "--seed": "0",
        "--speed": "max", "--record": "/runs",
    }  # fmt: skip


def test_a_folder_makes_the_file_beside_others():
    environ = {"FLEET": "/home/me/fleets/one.toml", "FLEET_DIR": "/home/me/fleets"}
    assert ServiceSettings.read(environ).fleet_file == Path("/fleet_dir/one.toml")


def test_a_number_that_is_none():
    with pytest.raises(ConfigError, match="ROVERS=many"):
        ServiceSettings.read({"ROVERS": "many"})


def test_a_switch_that_is_none():
    with pytest.raises(ConfigError, match="RECORD=maybe is neither on nor off"):
        ServiceSettings.read({"RECORD": "maybe"})
    assert not ServiceSettings.read({"RECORD": "No"}).record


def test_a_folder_that_cannot_be_written_is_named_with_its_remedy(tmp_path):
    require_runs(tmp_path)
    with pytest.raises(ConfigError, match="may not write to") as refused:
        require_runs(tmp_path / "nothing")
    assert "PICO_GZ_USER" in refused.value.hint


def test_errors_have_the_names_of_the_compose_file(monkeypatch, capsys):
    monkeypatch.setenv("FLEET", "/home/me/yard.toml")

    def fail(_):
        sys.stderr.write("Error: /fleet/fleet.toml: --rovers = 300: expected 1..255.\n")
        raise ConfigError("Bad token.", hint="Leave PICO_GZ_DASHBOARD_TOKEN empty: [net] gcs_host")

    assert run_service(fail, []) == 2
    assert capsys.readouterr().err.splitlines() == [
        "Error: /home/me/yard.toml: ROVERS = 300: expected 1..255.",
        "Error: Bad token.",
        "Leave DASHBOARD_TOKEN empty: GCS_HOST",
    ]


@pytest.mark.parametrize(
    ("environ", "inside", "outside"),
    [
        ({}, "/fleet/fleet.toml", "worlds/default.toml"),
        ({"FLEET": "a.toml"}, "/fleet/fleet.toml", "a.toml"),
        ({"FLEET": "d/a.toml", "FLEET_DIR": "d"}, "/fleet_dir/a.toml", "d/a.toml"),
        ({"FLEET": "d/a.toml", "FLEET_DIR": "d"}, "/fleet_dir/m.plan", "d/m.plan"),
        ({"FLEET": "a.toml", "FLEET_DIR": "/fleet_dir"}, "/fleet_dir/m.plan", "m.plan"),
    ],
)
def test_files_have_the_names_outside(environ, inside, outside):
    stream = io.StringIO()
    OutsideNames(stream, outside_names(environ)).write(f"{inside}: line 2")
    assert stream.getvalue() == f"{outside}: line 2"


def test_a_closed_fleet_file_is_named_with_its_remedy(tmp_path, monkeypatch):
    settings = ServiceSettings(fleet_file=tmp_path / "fleet.toml")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ConfigError, match="closed to user") as refused:
        require_fleet(settings)
    assert "PICO_GZ_USER=$(id -u):$(id -g)" in refused.value.hint
