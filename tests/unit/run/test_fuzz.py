"""Whatever stands in a fleet file, the answer is a fleet or a list of problems."""

import dataclasses
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pico_gz.errors import ConfigError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.field_types import field_types
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.rover_settings import ROVER_KEYS
from pico_gz.run.config.settings import FleetFile, ObstacleSection, VehicleSection

EXAMPLE = (Path(__file__).parents[3] / "worlds/default.toml").read_bytes()

ODD_VALUES = (
    b"0", b"-1", b"1e400", b"nan", b"inf", b"true", b"''", b"'x'", b"[]", b"[0]", b"{}",
    b"{ a = 1 }",
    b"9223372036854775807", b"2026-01-01", b"07:00:00", b"'auto'", b"'../..'", b"", b"'\xff'",
)  # fmt: skip

fuzz = settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def toml_of(value):
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {toml_of(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    return repr(value)


names = st.sampled_from(["x", "type", "id", "auto", "gazebo", "../x", "a b", "left", "0"])
plain = st.one_of(
    st.booleans(),
    st.integers(-2, 300),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8),
    st.sampled_from(["max", "auto", "lightweight", "gazebo", "grid", "ramp", "wall", "external"]),
)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)


def tables():
    """Tables with real keys and any values in them."""
    keys = {
        field.name: list(field_types(field.default_factory))
        for field in dataclasses.fields(FleetFile)
        if dataclasses.is_dataclass(field.default_factory)
    }
    keys["rover"] += ROVER_KEYS
    single = {
        name: st.dictionaries(st.sampled_from([*known, "typo"]), values, max_size=4)
        for name, known in keys.items()
    }
    several = {
        name: st.lists(
            st.dictionaries(st.sampled_from([*field_types(section), *more]), values, max_size=4),
            max_size=3,
        )
        for name, section, more in (
            ("vehicle", VehicleSection, (*ROVER_KEYS, "typo")),
            ("obstacle", ObstacleSection, ("typo",)),
        )
    }
    adapters = {"adapters": st.dictionaries(names, values, max_size=2)}
    rovers = st.dictionaries(st.sampled_from([*ROVER_KEYS, "preset"]), values, max_size=4)
    presets = {"presets": st.dictionaries(names, values | rovers, max_size=2)}
    return st.fixed_dictionaries(
        {}, optional={**single, **several, **adapters, **presets, "typo": values}
    )


def text_of(fleet):
    return "".join(f"{name} = {toml_of(table)}\n" for name, table in fleet.items())


def load(path: Path):
    try:
        answer = load_fleet(path, environ={})
    except ConfigError as error:
        answer = str(error)
    if isinstance(answer, str):
        assert answer.isprintable() or "\n" in answer
        assert "\x1b" not in answer
    else:
        assert isinstance(answer, FleetConfig)


@fuzz
@given(fleet=tables())
def test_any_values_at_real_keys(fleet, tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(text_of(fleet), encoding="utf-8")
    load(path)


@fuzz
@given(where=st.integers(0, len(EXAMPLE)), length=st.integers(0, 20), what=st.binary(max_size=10))
def test_a_damaged_file(where, length, what, tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_bytes(EXAMPLE[:where] + what + EXAMPLE[where + length :])
    load(path)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_very_many_damaged_files(tmp_path):
    """Plain random numbers: drawing is cheap, so that loading takes the time."""
    path = tmp_path / "fleet.toml"
    lines = EXAMPLE.splitlines(keepends=True)
    draw = random.Random(7)
    for _ in range(20_000):
        damaged = list(lines)
        for _ in range(draw.randint(1, 3)):
            row = draw.randrange(len(damaged))
            key, equals, value = damaged[row].partition(b"=")
            damaged[row] = key + equals + draw.choice(ODD_VALUES) + b"\n" if equals else value
        path.write_bytes(b"".join(damaged))
        load(path)
