"""Which modules are imported compiled, and when not."""

import dataclasses
import importlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pico_gz import ImuData, SitlBridge, SitlPlatform
from pico_gz.core import compiled_modules as compiled
from pico_gz.testing import ScriptedAdapter

REPORT = """
from pico_gz.core import compiled_modules
from pico_gz.vehicle.autopilot import tilt
print(compiled_modules.describe())
print(tilt.__file__)
"""


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Sources of another clone, none of them compiled."""
    for source in compiled.SOURCES:
        copy = tmp_path / source
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((compiled.ROOT / source).read_bytes())
    monkeypatch.setattr(compiled, "ROOT", tmp_path)
    monkeypatch.setattr(compiled, "FOLDER", tmp_path / "pico_gz" / "_compiled")
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delenv(compiled.PURE_VARIABLE, raising=False)
    compiled.folder.cache_clear()
    yield tmp_path
    compiled.folder.cache_clear()


def build(keep=lambda name: True):
    for name, path in compiled.places().items():
        if keep(name):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def test_each_source_is_there_once():
    assert len(set(compiled.SOURCES)) == len(compiled.SOURCES)
    assert all((compiled.ROOT / source).is_file() for source in compiled.SOURCES)


def test_what_is_built_is_found_and_nothing_else(clone):
    build()
    compiled.install()
    (finder,) = sys.meta_path
    spec = finder.find_spec("pico_gz.vehicle.autopilot.tilt", None)
    assert Path(spec.origin).is_relative_to(clone / "pico_gz" / "_compiled")
    assert finder.find_spec("pico_gz.core.messages", None) is None
    assert compiled.describe() == "compiled"


def test_nothing_built(clone):
    compiled.install()
    assert sys.meta_path == []
    assert compiled.describe() == "interpreted (the compiled modules are not built)"


def test_a_changed_source_makes_them_stale(clone):
    build()
    source = clone / compiled.SOURCES[-1]
    source.write_bytes(source.read_bytes() + b"\n")
    compiled.folder.cache_clear()
    compiled.install()
    assert sys.meta_path == []
    assert compiled.describe() == "interpreted (the compiled modules are stale)"


def test_half_a_build_is_none(clone):
    build(keep=lambda name: name != compiled.LIBRARY)
    compiled.install()
    assert sys.meta_path == []


@pytest.mark.parametrize(("value", "off"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_switch(clone, monkeypatch, value, off):
    build()
    monkeypatch.setenv(compiled.PURE_VARIABLE, value)
    compiled.install()
    assert bool(sys.meta_path) is not off
    assert compiled.describe() == ("interpreted (PICO_GZ_PURE is set)" if off else "compiled")


@pytest.mark.parametrize("pure", ["0", "1"])
def test_a_new_process_imports_what_it_says(pure):
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        env={**os.environ, compiled.PURE_VARIABLE: pure},
        capture_output=True,
        text=True,
        check=True,
    )
    state, file = done.stdout.splitlines()
    assert state.startswith("interpreted" if pure == "1" else ("compiled", "interpreted"))
    assert ("_compiled" in file) is (state == "compiled")


def own_classes(source):
    """The classes that a module of the list defines."""
    name = source.removesuffix(".py").replace("/", ".")
    members = vars(importlib.import_module(name)).values()
    return [kind for kind in members if isinstance(kind, type) and kind.__module__ == name]


FROZEN = [
    kind
    for source in compiled.SOURCES
    for kind in own_classes(source)
    if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
]
# To make one of those that need some.
ARGUMENTS = {
    "LocalFrame": (47.0, 8.0),
    "VehicleLinkPlan": (1, None),
    "SimState": (0.1, 0.2, 0.3, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 7, 8),
}


@pytest.mark.parametrize("source", compiled.SOURCES)
def test_no_compiled_module_defines_a_struct(source):
    # mypyc drops the keywords of a class: frozen, kw_only, gc.
    assert [kind for kind in own_classes(source) if issubclass(kind, msgspec.Struct)] == []


def test_frozen_dataclasses_are_looked_at():
    names = {kind.__name__ for kind in FROZEN}
    assert names >= {"LocalFrame", "VehicleLinkPlan", "MavlinkSettings", "SimState", "Identity"}


@pytest.mark.parametrize("kind", FROZEN, ids=lambda kind: kind.__name__)
def test_a_frozen_dataclass_stays_frozen(kind):
    one = kind(*ARGUMENTS.get(kind.__name__, ()))
    for field in dataclasses.fields(kind):
        before = getattr(one, field.name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, field.name, before)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(one, field.name)
    with pytest.raises((AttributeError, TypeError)):  # which one depends on the Python
        one.misspelt = 1
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("pico_gz.adapters.lightweight", "LightweightAdapter"),
        ("pico_gz.vehicle.platform.platform", "SitlPlatform"),
        ("pico_gz.vehicle.autopilot.rover_autopilot", "RoverAutopilot"),
    ],
)
def test_programs_may_derive_from_the_public_classes(module, name):
    base = getattr(importlib.import_module(module), name)
    assert issubclass(type("Own", (base,), {}), base)


def test_compiled_methods_call_what_a_derived_class_overrides():
    sample = (1, ImuData((0.0, 0.0, -9.8), (0.0, 0.0, 0.0)))

    class Own(SitlPlatform):
        def read_body_imu(self):
            return [sample]

    assert Own(1).read_imu() == [sample]


def test_a_run_ends_at_any_true_value():
    bridge = SitlBridge()
    bridge.register_adapter(ScriptedAdapter())
    bridge.run(1_000_000, until=lambda view: [view] if view.step == 3 else [])
    assert bridge.view.step == 3
