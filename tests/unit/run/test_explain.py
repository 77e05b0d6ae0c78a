"""What keys may hold, in words."""

import dataclasses

import pytest

from pico_gz.run.config.field_types import choices, expectation, field_types, resolve
from pico_gz.run.config.settings import OPTIONS, FleetFile

SECTIONS = [
    *(f.default_factory for f in dataclasses.fields(FleetFile) if f.name not in ("adapters",)),
    *OPTIONS.values(),
]
TABLES = [section for section in SECTIONS if dataclasses.is_dataclass(section)]


@pytest.mark.parametrize("section", TABLES, ids=lambda section: section.__name__)
def test_every_key_has_words(section):
    for name, kind in field_types(section).items():
        assert expectation(kind) not in ("", "a table"), name


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (("fleet", "count"), "a whole number, 1..255"),
        (("time", "speed"), 'a number, above 0 and at most 1000 or "max"'),
        (("time", "mode"), 'one of "lockstep", "scaled", "free_running"'),
        (("fleet", "allow_gcs_sysid"), "true or false"),
        (("wind", "tau_s"), "a number, above 0"),
        (("gazebo", "real_time_factor"), "a number, 0 or more"),
        (("mavlink", "links"), "a list of texts"),
        (("vehicle",), "[[tables]]"),
        (("fleet",), "a table"),
    ],
)
def test_words(path, words):
    assert expectation(resolve(FleetFile, path)[1]) == words


def test_what_a_checker_appends_to_a_place_is_cut_off():
    assert resolve(FleetFile, ("time", "speed", "constrained-float"))[0] == ("time", "speed")
    assert resolve(FleetFile, ("vehicle", 1, "id"))[0] == ("vehicle", 1, "id")
    assert resolve(FleetFile, ("nonsense", "x"))[0] == ()


def test_choices():
    assert choices(resolve(FleetFile, ("time", "speed"))[1]) == ["max"]
    assert choices(int) == []
