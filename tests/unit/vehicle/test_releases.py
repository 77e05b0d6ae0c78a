"""ArduRover programs are found by release: the variable, the cache, the PATH."""

import os
from pathlib import Path

import pytest

from pico_gz.errors import MissingProgramError
from pico_gz.vehicle.external.releases import (
    chosen_programs,
    find_ardurover,
    installed_programs,
    named_programs,
    release_of,
)


def program(path: Path, release: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"#!/bin/sh\n# \0ArduRover V%b (abc)\0\n" % release.encode())
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Nothing is here but what a test puts here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("PICO_GZ_ARDUROVER", raising=False)
    return tmp_path


def test_the_variable_wins_over_the_cache_and_the_cache_over_the_path(places, monkeypatch):
    on_path = program(places / "bin/ardurover", "4.5.7")
    assert find_ardurover().path == on_path
    old = program(places / "cache/pico_gz/ardurover/4.9.0/ardurover", "4.9.0")
    new = program(places / "cache/pico_gz/ardurover/4.10.1/ardurover", "4.10.1")
    assert find_ardurover().path == new
    named = [program(places / f"own/{n}/ardurover", n) for n in ("4.6.3", "4.7.0")]
    monkeypatch.setenv("PICO_GZ_ARDUROVER", os.pathsep.join(map(str, named)))
    assert [p.path for p in installed_programs()] == [*named, new, old, on_path]
    assert [p.path for p in named_programs()] == named


@pytest.mark.parametrize(
    ("wanted", "found"), [("4", "4.6.3"), ("4.7", "4.7.0"), ("4.6.3", "4.6.3"), ("4.1", None)]
)
def test_a_release_is_a_beginning_of_numbers(places, monkeypatch, wanted, found):
    named = [program(places / n, n) for n in ("4.6.3", "4.7.0", "4.10.0")]
    monkeypatch.setenv("PICO_GZ_ARDUROVER", os.pathsep.join(map(str, named)))
    if found is None:
        with pytest.raises(MissingProgramError, match=r"no ArduRover 4\.1 here; found: 4\.6\.3"):
            chosen_programs([wanted])
    else:
        assert [p.release for p in chosen_programs([wanted])] == [found]


def test_none_at_all_says_how_to_get_one(places, monkeypatch):
    with pytest.raises(MissingProgramError, match="no ArduRover here") as caught:
        find_ardurover()
    assert "pico-gz get ardurover" in caught.value.hint
    monkeypatch.setenv("PICO_GZ_ARDUROVER", str(places / "gone"))
    program(places / "bin/ardurover", "4.6.3")
    assert named_programs() == []  # a wrong name is not replaced by another program
    assert release_of(places / "gone") == ""
