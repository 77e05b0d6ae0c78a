"""Where Gazebo and the plugin are looked for."""

import os
import sys

import pytest

from pico_gz.gazebo import install
from pico_gz.gazebo.install import PLUGIN_LIBRARY, find_gazebo, is_gazebo_program


@pytest.fixture
def place(tmp_path):
    """Makes a folder with a plugin in it."""

    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        (folder / PLUGIN_LIBRARY).touch()
        return folder

    return make


@pytest.fixture
def gz(tmp_path):
    program = tmp_path / "gz"
    program.touch(mode=0o755)
    return {"PATH": str(tmp_path), "HOME": str(tmp_path)}


def test_the_kits_own_variable_comes_first(gz, place):
    mine, other = place("mine"), place("other")
    install = find_gazebo(
        {**gz, "PICO_GZ_PLUGIN_PATH": f"/nowhere{os.pathsep}{mine}",
         "GZ_SIM_SYSTEM_PLUGIN_PATH": str(other)}
    )  # fmt: skip
    assert install.plugin == mine / PLUGIN_LIBRARY
    assert install.problem is None


@pytest.mark.parametrize("empty", ["", os.pathsep])
def test_gazebos_variable_is_looked_at_too(gz, place, empty):
    other = place("other")
    install = find_gazebo(
        {**gz, "PICO_GZ_PLUGIN_PATH": empty, "GZ_SIM_SYSTEM_PLUGIN_PATH": str(other)}
    )
    assert install.plugin == other / PLUGIN_LIBRARY


def test_a_wrong_path_is_not_passed_over(gz, place, tmp_path):
    """Another plugin than the one that was asked for would be used without a word."""
    other = place("other")
    install = find_gazebo(
        {**gz, "PICO_GZ_PLUGIN_PATH": str(tmp_path), "GZ_SIM_SYSTEM_PLUGIN_PATH": str(other)}
    )
    assert install.plugin is None
    assert install.problem == f"PICO_GZ_PLUGIN_PATH is {tmp_path}: no {PLUGIN_LIBRARY} there"


def test_without_gz_that_is_the_problem(tmp_path):
    assert "no gz program" in find_gazebo({"PATH": str(tmp_path)}).problem


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("ruby", True), ("ruby3.1", True), ("gz", True), ("gz sim server", True), ("python3", False)],
)
def test_who_may_be_a_gazebo(name, is_one):
    assert is_gazebo_program(name) is is_one


@pytest.mark.parametrize("name", ["gz.transport13", "gz.transport"])
def test_bindings_of_harmonic_and_jetty_are_found_by_name(monkeypatch, name):
    monkeypatch.setattr(install, "_have_them", lambda module: module == name)
    monkeypatch.setattr(install, "_has_them", lambda python, module: False)
    assert install.find_bindings() == sys.executable
    assert install.find_bindings(install.SDF_MODULE) == ""
