"""docs/fleet-file.md tells the truth."""

import dataclasses
import re
from pathlib import Path

import pytest

from pico_gz.run.config import load_fleet
from pico_gz.run.config.field_types import field_types
from pico_gz.run.config.rover_settings import ROVER_KEYS
from pico_gz.run.config.settings import (
    OPTIONS,
    FleetFile,
    ObstacleSection,
    PresetSection,
    SerialSection,
    VehicleSection,
)

PAGE = (Path(__file__).parents[3] / "docs/fleet-file.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", SNIPPETS)
def test_snippets_load(text, tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    assert load_fleet(path, environ={}).vehicles


def table_of(heading):
    """Keys and defaults in the table under a heading."""
    section = PAGE.split(f"### `{heading}`")[1].split("\n### ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, flags=re.MULTILINE))


SECTIONS = [
    *(
        (f"[{field.name}]", field.default_factory)
        for field in dataclasses.fields(FleetFile)
        if dataclasses.is_dataclass(field.default_factory)
    ),
    ("[[board.serial]]", SerialSection),
    ("[[obstacle]]", ObstacleSection),
    ("[[vehicle]]", VehicleSection),
    ("[presets.NAME]", PresetSection),
    *((f"[adapters.NAME]` of type `{kind}", section) for kind, section in OPTIONS.items()),
]
HEADINGS = [heading for heading, _ in SECTIONS]


@pytest.mark.parametrize(("heading", "section"), SECTIONS, ids=HEADINGS)
def test_every_key_has_its_line(heading, section):
    assert list(table_of(heading)) == list(field_types(section))


@pytest.mark.parametrize(("heading", "section"), SECTIONS, ids=HEADINGS)
def test_defaults_are_right(heading, section):
    for key in dataclasses.fields(section):
        if isinstance(key.default, int | float | str) and not isinstance(key.default, bool):
            assert str(key.default) in table_of(heading)[key.name], key.name


def test_every_field_of_a_rover_is_named():
    for name in ROVER_KEYS:
        assert f"`{name}`" in PAGE
