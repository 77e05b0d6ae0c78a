"""The JSON Schema is what the loader checks, and is shipped up to date."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from pico_gz.config.schema import fleet_schema, schema_text

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "worlds").glob("*.toml"))


def test_the_shipped_schema_is_up_to_date():
    shipped = (ROOT / "docs/fleet.schema.json").read_text(encoding="utf-8")
    assert json.loads(shipped) == json.loads(schema_text()), (
        "run: python -m pico_gz.config.schema > docs/fleet.schema.json"
    )


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(fleet_schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_the_examples_obey_it(path):
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), fleet_schema())


@pytest.mark.parametrize(
    "text",
    [
        "[fleet]\ncount = 256",
        "[fleet]\nadaptr = 'x'",
        "[origin]\nlat_deg = 135.0",
        "[time]\nspeed = 'fast'",
        "[rover]\npreset = 'x'",
        "[rover]\nwheel_bas = 1.0",
        "[rover]\nchannels = 'x'",
        "[[obstacle]]\nkind = 'tree'",
        "[nonsense]",
    ],
)
def test_it_refuses_what_the_loader_refuses(text):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), fleet_schema())


def test_every_key_is_described():
    for name, definition in fleet_schema()["$defs"].items():
        if name.endswith("Section") and name != "RoverSection":
            for key, value in definition["properties"].items():
                assert value.get("description"), f"{name}.{key}"
