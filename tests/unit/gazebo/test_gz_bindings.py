"""Which Python has Gazebo's bindings."""

import subprocess
import sys

import pytest

from pico_gz.gazebo import install


@pytest.fixture
def machine(monkeypatch):
    """``machine(here=..., system=...)``: who has them."""
    install._has_them.cache_clear()

    def set_up(*, here, system):
        def run(command, **_):
            if isinstance(system, Exception):
                raise system
            return subprocess.CompletedProcess(command, 0 if system else 1)

        monkeypatch.setattr(install, "_have_them", lambda module: here)
        monkeypatch.setattr(install.shutil, "which", lambda name, path: "/usr/bin/python3")
        monkeypatch.setattr(install.subprocess, "run", run)

    yield set_up
    install._has_them.cache_clear()


def test_our_own_python_is_preferred(machine):
    machine(here=True, system=True)
    assert install.find_bindings() == sys.executable


def test_the_systems_python_will_do(machine):
    machine(here=False, system=True)
    assert install.find_bindings() == "/usr/bin/python3"


@pytest.mark.parametrize("system", [False, OSError(), subprocess.TimeoutExpired("python3", 3)])
def test_nobody_has_them(machine, system):
    machine(here=False, system=system)
    assert install.find_bindings() == ""


def test_a_foreign_package_named_gz_is_not_them(monkeypatch):
    import types

    monkeypatch.setitem(sys.modules, "gz", types.ModuleType("gz"))
    assert not install._have_them("gz.transport13")
