"""The fleet files that are shipped as examples."""

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest

from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.settings import OPTIONS, FleetFile, VehicleSection

WORLDS = Path(__file__).parents[3] / "worlds"
EXAMPLES = sorted(WORLDS.glob("*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_load_without_a_warning(path):
    fleet = load_fleet(path, environ={})
    assert fleet.warnings == ()
    assert fleet.vehicles


def test_the_default_example_is_the_default_fleet():
    example = load_fleet(WORLDS / "default.toml", environ={})
    default = default_fleet(environ={})
    here = default.module_folder
    assert dataclasses.replace(example, source=None, module_folder=here) == default


def test_the_default_example_shows_every_key():
    """With its possibilities switched on, each table of the example knows every key."""
    text = (WORLDS / "default.toml").read_text(encoding="utf-8")
    shown = re.sub(r"^# (?=\[+[a-z]|[a-z_]+ = )", "", text, flags=re.MULTILINE)
    tables = tomllib.loads(shown)
    for field in dataclasses.fields(FleetFile):
        assert field.name in tables, field.name
    for name in (
        "fleet",
        "origin",
        "time",
        "layout",
        "ports",
        "net",
        "mavlink",
        "board",
        "aircraft",
        "gazebo",
        "wind",
    ):
        section = next(f for f in dataclasses.fields(FleetFile) if f.name == name).default_factory
        assert set(tables[name]) == {key.name for key in dataclasses.fields(section)}, name
    assert set(tables["vehicle"][0]) == {key.name for key in dataclasses.fields(VehicleSection)}
    for section in OPTIONS.values():
        for key in dataclasses.fields(section):
            assert re.search(rf"\b{key.name}\b", text), key.name
