"""How Gazebo is started."""

import os
from pathlib import Path

import pytest

from pico_gz.gazebo.server import GazeboLaunch, new_partition


@pytest.fixture
def launch(tmp_path):
    def make(**changes):
        given = {"program": Path("/usr/bin/gz"), "world_file": tmp_path / "w" / "world.sdf",
                 "folder": tmp_path, "partition": "here"}  # fmt: skip
        return GazeboLaunch(**{**given, **changes})

    return make


def test_the_command_line(launch, tmp_path):
    words = launch(seed=42).command()
    assert words[:-1] == ["/usr/bin/gz", "sim", "-s", "-r", "-v", "2", "--seed", "42"]
    assert words[-1] == str(tmp_path / "w" / "world.sdf")


@pytest.mark.parametrize(
    ("changes", "there", "not_there"),
    [
        ({"gui": True}, set(), {"-s", "--headless-rendering"}),
        ({"gui": True, "rendering": True}, set(), {"--headless-rendering"}),
        ({"rendering": True}, {"-s", "--headless-rendering"}, set()),
        ({"paused": True}, {"-s"}, {"-r"}),
    ],
)
def test_its_switches(launch, changes, there, not_there):
    words = set(launch(**changes).command())
    assert there <= words
    assert not (not_there & words)


def test_a_seed_of_the_kit_fits_gazebos_number(launch):
    words = launch(seed=2**63 - 1).command()
    assert 0 <= int(words[words.index("--seed") + 1]) < 2**31


def test_the_environment_keeps_runs_apart_and_paths_together(launch, tmp_path):
    environment = launch(
        plugin_folders=(Path("/plugins"),), resource_folders=(Path("/models"),)
    ).environment(
        {
            "GZ_PARTITION": "everybody",
            "GZ_SIM_SYSTEM_PLUGIN_PATH": f"/mine{os.pathsep}/plugins",
            "HOME": str(tmp_path),
            "OTHER": "kept",
        }
    )
    assert environment["GZ_PARTITION"] == "here"
    assert environment["GZ_IP"] == "127.0.0.1"
    assert environment["GZ_SIM_SYSTEM_PLUGIN_PATH"].split(os.pathsep) == ["/plugins", "/mine"]
    assert environment["GZ_SIM_RESOURCE_PATH"].split(os.pathsep) == [
        str(tmp_path / "w"), "/models"
    ]  # fmt: skip
    assert environment["HOME"] == str(tmp_path)
    assert environment["OTHER"] == "kept"


def test_a_home_that_cannot_be_written_is_replaced(launch, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".gz").mkdir(parents=True)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != ".gz")
    assert launch().environment({"HOME": str(home)})["HOME"] == str(tmp_path)


@pytest.mark.parametrize("home", ["", "/no/such/home"])
def test_no_home_gets_one(launch, tmp_path, home):
    assert launch().environment({"HOME": home})["HOME"] == str(tmp_path)


def test_partitions_differ():
    assert new_partition() != new_partition()
