"""``pico-gz init``."""

import json
import sys

import pytest

from pico_gz.cli.app import run_command
from pico_gz.run.config import load_fleet


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("rovers", [1, 3, 17, 254, 255])
def test_writes_a_file_that_loads(tmp_path, rovers):
    assert run_command(["init", "--rovers", str(rovers)]) == 0
    fleet = load_fleet(tmp_path / "fleet.toml", environ={})
    assert len(fleet.vehicles) == rovers
    assert fleet.name == {1: "one_rover", 3: "three_rovers"}.get(rovers, f"{rovers}_rovers")


def test_the_file_is_commented(tmp_path):
    run_command(["init", "-o", "mine.toml"])
    assert (tmp_path / "mine.toml").read_text().count("#") > 50


def test_never_overwrites_unless_told(tmp_path, capsys):
    path = tmp_path / "fleet.toml"
    path.write_text("precious")
    assert run_command(["init"]) == 2
    assert "--force" in capsys.readouterr().err
    assert path.read_text() == "precious"
    assert run_command(["init", "--force"]) == 0
    assert load_fleet(path, environ={}).vehicles


@pytest.mark.parametrize("rovers", ["0", "256", "-1"])
def test_impossible_numbers_write_nothing(tmp_path, rovers):
    assert run_command(["init", "--rovers", rovers]) == 2
    assert not (tmp_path / "fleet.toml").exists()


def test_a_folder_that_is_not_there(capsys):
    assert run_command(["init", "-o", "no/such/fleet.toml"]) == 2
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root can write")
def test_a_read_only_folder(capsys):
    assert run_command(["init", "-o", "/sys/fleet.toml"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: /sys/fleet.toml: ")


def test_json(capsys):
    assert run_command(["init", "--rovers", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": "fleet.toml", "rovers": 2}
