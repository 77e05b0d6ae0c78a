"""A recording folder that cannot be made is told before anything runs."""

import errno
import json
from pathlib import Path

import pytest

from pico_gz.cli.output import ExitCode, exit_code_of
from pico_gz.errors import PicoGzError
from pico_gz.run.config import default_fleet, load_fleet
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
