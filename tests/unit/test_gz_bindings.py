"""Which Python has Gazebo's bindings."""

import subprocess
import sys

import pytest

from pico_gz import gz_bindings


@pytest.fixture
def machine(monkeypatch):
    """``machine(here=..., system=...)``: who has them."""
    gz_bindings._has_them.cache_clear()

    def set_up(*, here, system):
        def run(command, **_):
            if isinstance(system, Exception):
                raise system
            return subprocess.CompletedProcess(command, 0 if system else 1)

        monkeypatch.setattr(gz_bindings, "_have_them", lambda module: here)
        monkeypatch.setattr(gz_bindings.shutil, "which", lambda name, path: "/usr/bin/python3")
        monkeypatch.setattr(gz_bindings.subprocess, "run", run)

    yield set_up
    gz_bindings._has_them.cache_clear()


def test_our_own_python_is_preferred(machine):
    machine(here=True, system=True)
    assert gz_bindings.find_bindings() == sys.executable


def test_the_systems_python_will_do(machine):
    machine(here=False, system=True)
    assert gz_bindings.find_bindings() == "/usr/bin/python3"


@pytest.mark.parametrize("system", [False, OSError(), subprocess.TimeoutExpired("python3", 3)])
def test_nobody_has_them(machine, system):
    machine(here=False, system=system)
    assert gz_bindings.find_bindings() == ""


def test_a_foreign_package_named_gz_is_not_them(monkeypatch):
    import types

    monkeypatch.setitem(sys.modules, "gz", types.ModuleType("gz"))
    assert not gz_bindings._have_them("gz.transport13")
