"""Problems show values as their writer wrote them: TOML, options, variables."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import as_toml

IN_FILES = [
    ("vehicle = {id=1}\n", "line 1: vehicle = { id = 1 }: expected [[tables]]."),
    ("[[wind]]\na = [true, 'x']\n", 'line 1: wind = [{ a = [true, "x"] }]: expected a table.'),
    ("[layout]\nkind = 2026-01-01\n", "line 2: layout.kind = 2026-01-01: expected one of"),
    ("[time]\nstep_us = 12:30:00\n", "line 2: time.step_us = 12:30:00: expected a whole number"),
    ("[rover]\nnoise = {'a b' = 1}\n", 'rover.noise = { "a b" = 1 }: expected one of'),
    ("[rover]\nnoise = {}\n", "rover.noise = {}: expected one of"),
    ("[fleet]\ncount = nan\n", "fleet.count = nan: expected"),
    ("[wind]\na=1\n[wind]\nb=1\n", "is not valid TOML: Cannot declare [wind] twice (at line 3"),
    ("[a.b]\n[a.b]\n", "is not valid TOML: Cannot declare [a.b] twice (at line 2"),
    ('["it\'s".b]\n["it\'s".b]\n', "Cannot declare [it's.b] twice (at line 2"),
]


@pytest.mark.parametrize(("text", "words"), IN_FILES, ids=[case[0] for case in IN_FILES])
def test_values_of_a_fleet_file_are_toml(tmp_path, text, words):
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_fleet(path, environ={})
    assert caught.value.message.startswith(f"{path}: ")
    assert words in caught.value.message


OPTIONS = [
    ({"rovers": 0}, "--rovers 0: expected a whole number, 1..255."),
    ({"rovers": 255}, "--rovers 255: id 255 is what ground stations use themselves."),
    ({"speed": 0.0}, "--speed 0: expected a number, above 0 and at most 1000, or max."),
    ({"gcs": "all"}, "--gcs all: expected per_vehicle or shared."),
    ({"layout": "a b"}, "--layout 'a b': expected line, grid, circle or explicit."),
    ({"layout": "gird\x1b"}, "--layout 'gird\\x1b': expected"),
    ({"adapter": "nosuch"}, "--adapter nosuch: there is no such adapter."),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=[case[1] for case in OPTIONS])
@pytest.mark.parametrize("with_file", [False, True])
def test_an_option_is_shown_as_on_the_command_line(tmp_path, options, words, with_file):
    path = tmp_path / "fleet.toml"
    path.write_text("[fleet]\ncount = 2\n")
    overrides = FleetOverrides(**options)
    with pytest.raises(ConfigError) as caught:
        _ = (
            load_fleet(path, overrides, environ={})
            if with_file
            else default_fleet(overrides=overrides, environ={})
        )
    assert caught.value.message.startswith(words), "no file is at fault"


def test_a_variable_is_shown_as_in_a_shell():
    with pytest.raises(ConfigError) as caught:
        default_fleet(environ={"PICO_GZ_GCS_PORT": "abc", "PICO_GZ_BIND": "a b"})
    assert set(caught.value.message.splitlines()) == {
        "PICO_GZ_GCS_PORT=abc: expected a port, 1..65535.",
        "PICO_GZ_BIND='a b': expected a host name or an address.",
    }


PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | PLAIN
    | st.dates() | st.times() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(VALUES)
def test_toml_reads_what_is_shown(value):
    assert tomllib.loads(f"x = {as_toml(value)}")["x"] == value
