"""What compiled code makes of a wheel: its files, and the Python and platform in its tag."""

import importlib.util
import platform
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="not checked: there is no hatchling here")

_spec = importlib.util.spec_from_file_location(
    "hatch_build", Path(__file__).parents[2] / "hatch_build.py"
)
hatch_build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hatch_build)

PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
MACHINE = platform.machine().lower()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tags are those of Linux")


@pytest.fixture
def core(tmp_path, monkeypatch):
    path = tmp_path / "_core-123.so"
    path.write_bytes(b"GLIBC_2.2.5 GLIBC_2.17")
    monkeypatch.setenv("PICO_GZ_CORE", str(path))
    return path


@pytest.fixture
def modules(tmp_path, monkeypatch):
    folder = tmp_path / "0123456789abcdef"
    inner = folder / f"pico_gz/core/frames{SUFFIX}"
    inner.parent.mkdir(parents=True)
    inner.write_bytes(b"GLIBC_2.4")
    (folder / f"library{SUFFIX}").write_bytes(b"GLIBC_2.5 GLIBC_2.29 GLIBC_2.3")
    monkeypatch.setenv("PICO_GZ_MODULES", str(folder))
    return folder


@pytest.fixture(autouse=True)
def pure(monkeypatch):
    monkeypatch.delenv("PICO_GZ_CORE", raising=False)
    monkeypatch.delenv("PICO_GZ_MODULES", raising=False)


def built(version="standard", target="wheel"):
    hook = hatch_build.CompiledHook("", {}, None, None, "", target)
    data = {"force_include": {}}
    hook.initialize(version, data)
    return data


def test_without_compiled_code_the_wheel_is_pure():
    assert built() == {"force_include": {}}


def test_the_core_suits_every_python(core):
    data = built()
    assert data["tag"] == f"py3-none-manylinux_2_17_{MACHINE}.manylinux2014_{MACHINE}"
    assert data["pure_python"] is False
    assert data["force_include"] == {str(core): "pico_gz/simulator/native/_core-123.so"}


def test_modules_suit_one_python_and_the_c_library_that_they_need(core, modules):
    data = built()
    assert data["tag"] == f"{PYTHON}-{PYTHON}-manylinux_2_29_{MACHINE}"
    assert sorted(data["force_include"].values()) == [
        f"pico_gz/_compiled/0123456789abcdef/library{SUFFIX}",
        f"pico_gz/_compiled/0123456789abcdef/pico_gz/core/frames{SUFFIX}",
        "pico_gz/simulator/native/_core-123.so",
    ]


def test_a_core_that_needs_a_new_c_library_is_refused(core):
    core.write_bytes(b"GLIBC_2.34")
    with pytest.raises(RuntimeError, match="newer than"):
        built()


def test_modules_of_another_python_are_refused(modules):
    (modules / "library.cpython-39-x86_64-linux-gnu.so").touch()
    with pytest.raises(RuntimeError, match="compiled for this Python"):
        built()


def test_no_modules_are_refused(modules):
    for path in modules.rglob("*.so"):
        path.unlink()
    with pytest.raises(RuntimeError, match="compiled for this Python"):
        built()


@pytest.mark.parametrize(("version", "target"), [("editable", "wheel"), ("standard", "sdist")])
def test_only_wheels_hold_compiled_code(core, modules, version, target):
    assert built(version, target) == {"force_include": {}}
