"""Old module paths that the documentation named keep working."""

import importlib
import subprocess
import sys

import pytest

from pico_gz.core.moved import MOVED

OLD = sorted(old for old, places in MOVED.items() if places)


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("pico_gz.messages", "ImuData", "pico_gz.core.messages"),
        ("pico_gz.messages", "VehicleConfig", "pico_gz.core.vehicle_config"),
        ("pico_gz.rover", "RoverSpec", "pico_gz.core.rover_spec"),
        ("pico_gz.config", "load_fleet", "pico_gz.run.config"),
        ("pico_gz.recording.recorded_run", "RecordedRun", "pico_gz.run.recording.recorded_run"),
        ("pico_gz.launch.gz_control", "open_control", "pico_gz.gazebo.world_control"),
    ],
)
def test_an_old_name_is_the_new_object(old, name, new):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=new.replace(".", r"\.")):
        module = importlib.import_module(old)
    assert getattr(module, name) is getattr(importlib.import_module(new), name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("pico_gz.state", "Stateful", "pico_gz.core.snapshot:Snapshot"),
        ("pico_gz.session.session", "Session", "pico_gz.run.fleet_run:FleetRun"),
    ],
)
def test_a_renamed_class_is_found_by_its_old_name(old, name, new):
    module, _, new_name = new.partition(":")
    found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(module), new_name)


@pytest.mark.parametrize("old", OLD)
def test_every_new_place_exists(old):
    for place in MOVED[old]:
        importlib.import_module(place)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"pico_gz\.rover.*nothing"):
        _ = importlib.import_module("pico_gz.rover").nothing
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pico_gz.session.nothing")


def test_an_old_entry_point_runs():
    command = [sys.executable, "-m", "pico_gz.config.schema"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.startswith("{")
    assert out.stderr == ""
