"""The environment of a service."""

from pathlib import Path

import pytest

from pico_gz.cli.tools.containers.inside.settings import ServiceSettings, require_runs
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
