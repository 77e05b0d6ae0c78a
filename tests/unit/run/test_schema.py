"""The JSON Schema is what the loader checks, and is shipped up to date."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from pico_gz.run.config.rover_settings import ROVER_KEYS
from pico_gz.run.config.schema import fleet_schema, schema_text

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "worlds").glob("*.toml"))


def test_the_shipped_schema_is_up_to_date():
    shipped = (ROOT / "docs/fleet.schema.json").read_text(encoding="utf-8")
    assert json.loads(shipped) == json.loads(schema_text()), (
        "run: python -m pico_gz.run.config.schema > docs/fleet.schema.json"
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
        "[[vehicle]]\npreset = 'x'",
        "[[vehicle]]\nwheel_bas = 1.0",
        "[presets.mine]\nwheel_bas = 1.0",
        "[[obstacle]]\nkind = 'tree'",
        "[nonsense]",
        "[adapters.gazebo]\nshared_sockt = true",
        "[adapters.mine]\ntype = 'gazebo'\nlock_step = 1",
        "[adapters.mine]\ntype = 'lightweight'\nsensor_port = 9002",
    ],
)
def test_it_refuses_what_the_loader_refuses(text):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), fleet_schema())


@pytest.mark.parametrize(
    "text",
    [
        "[adapters.gazebo]\nshared_socket = true\nlock_step = true",
        "[adapters.mine]\ntype = 'gazebo'\nshared_socket = true\nlock_step = true",
        "[adapters.mine]\ntype = 'of_a_plugin'\nanything = 1",
    ],
)
def test_adapters_take_the_options_of_their_type(text):
    jsonschema.validate(tomllib.loads(text), fleet_schema())


def test_every_key_is_described():
    for name, definition in fleet_schema()["$defs"].items():
        if name.endswith(("Section", "Options")):
            for key, value in definition["properties"].items():
                # A rover's own fields are described in the documentation.
                assert value.get("description") or key in ROVER_KEYS, f"{name}.{key}"


@pytest.mark.parametrize("table", ["[rover]", "[[vehicle]]"])
def test_own_presets_may_be_named(table):
    own = f"[presets.mine]\nmax_speed = 2.0\n{table}\npreset = 'mine'\nwheel_base = 0.2\n"
    jsonschema.validate(tomllib.loads(own), fleet_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(f"{table}\npreset = 'mine'\n"), fleet_schema())
