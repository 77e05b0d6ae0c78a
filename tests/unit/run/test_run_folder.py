"""A recording folder that cannot be made is told before anything runs."""

import errno
import json
from pathlib import Path

import pytest

from pico_gz.cli.output import ExitCode, exit_code_of
from pico_gz.errors import ConfigError, PicoGzError, PortClashError
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.recorded_fleet import recorded_fleet
from pico_gz.run.recording.run_folder import RunFolder


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EACCES, ExitCode.MISSING),
        (errno.EPERM, ExitCode.MISSING),
        (errno.EROFS, ExitCode.MISSING),
        (errno.ENAMETOOLONG, ExitCode.USAGE),
    ],
)
def test_a_missing_permission_is_not_bad_usage(monkeypatch, tmp_path, number, code):
    def refuse(*_, **__):
        raise OSError(number, "refused")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(PicoGzError, match="refused") as caught:
        RunFolder(tmp_path, default_fleet(1, environ={}))
    assert exit_code_of(caught.value) is code
    assert "--record" in caught.value.hint


def test_a_file_in_its_place_is_bad_usage(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(PicoGzError, match="Not a directory") as caught:
        RunFolder(place, default_fleet(1, environ={}))
    assert exit_code_of(caught.value) is ExitCode.USAGE


def test_the_files_of_kept_parameters_are_named(tmp_path):
    path = tmp_path / "yard.toml"
    path.write_text(
        "[mavlink]\nkeep_params = true\n[[vehicle]]\nname = 'scout.a'\n"
        "[[vehicle]]\nautopilot = 'external'\n[[vehicle]]\nautopilot = 'builtin'\n"
    )
    fleet = load_fleet(path, environ={})
    folder = RunFolder(tmp_path / "recordings", fleet, input_folder=tmp_path / "runs")
    facts = json.loads((folder.path / "run.json").read_text())
    assert facts["kept_params"] == {
        "1": str(tmp_path / "runs/yard/scout.a.parm"),
        "3": str(tmp_path / "runs/yard/rover_3.parm"),
    }


def test_a_run_that_did_not_begin_leaves_no_recording(tmp_path, monkeypatch):
    """A port that was lost since it was found free moves the run, which then records again."""

    def lost(*_):
        raise PortClashError("taken")

    monkeypatch.setattr(FleetRun, "_watch_health", lost)
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight"), environ={})
    options = RunOptions(record_dir=tmp_path, mavlink=False, control=False, check_ports=False)
    with pytest.raises(PortClashError), FleetRun(fleet, options):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("table", "key", "value", "words"),
    [
        ("time", "step_us", 1, "time.step_us = 1: expected a whole number"),
        ("wind", "north_mps", "x", "wind.north_mps"),
    ],
)
def test_a_recorded_fleet_is_refused_in_the_words_of_a_fleet_file(
    tmp_path, table, key, value, words
):
    folder = RunFolder(tmp_path, default_fleet(1, environ={}))
    facts = json.loads((folder.path / "run.json").read_text())
    facts["config"][table][key] = value
    with pytest.raises(ConfigError, match=words) as caught:
        recorded_fleet(facts, tmp_path, trust=False)
    assert "validation error" not in str(caught.value)
