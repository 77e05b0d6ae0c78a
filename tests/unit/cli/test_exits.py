"""Errors, exit codes and what people and programs read."""

import errno
import json

import pytest
import typer

from pico_gz import errors
from pico_gz.cli.output import ExitCode, exit_code_of, print_json, report


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("x"), 2),
        (errors.UnknownAdapterError("x", ["y"]), 2),
        (errors.PortClashError("x"), 3),
        (errors.MissingExtraError("web", "The browser view"), 4),
        (errors.MissingProgramError("x"), 4),
        (errors.SimulatorTimeoutError("x"), 1),
        (errors.LockstepTimeoutError("x"), 1),
        (errors.PicoGzError("x"), 1),
        (typer.BadParameter("x"), 2),
        (typer.Abort(), 130),
        (KeyboardInterrupt(), 130),
        (PermissionError(errno.EACCES, "Permission denied", "f"), 4),
        (OSError(errno.EROFS, "Read-only file system", "f"), 4),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "f"), 2),
        (OSError(errno.ENOSPC, "No space left on device", "f"), 1),
        (RuntimeError("x"), 1),
    ],
)
def test_exit_codes(error, code):
    assert exit_code_of(error) == code


def test_people_read_message_and_hint_on_stderr(capsys):
    code = report(errors.PortClashError("UDP 9002 is taken.", hint="Use another."), as_json=False)
    out, err = capsys.readouterr()
    assert code is ExitCode.PORT_IN_USE
    assert out == ""
    assert err == "Error: UDP 9002 is taken.\nUse another.\n"


def test_programs_read_one_object_on_stdout(capsys):
    report(errors.MissingExtraError("web", "The browser view"), as_json=True)
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "error": {
            "code": 4,
            "message": "The browser view needs the extra 'web'.",
            "hint": "pip install 'pico-gz[web]'",
        }
    }


def test_a_defect_shows_no_traceback_unless_asked(capsys, monkeypatch):
    monkeypatch.delenv("PICO_GZ_DEBUG", raising=False)
    report(RuntimeError("boom"), as_json=False)
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("PICO_GZ_DEBUG", "1")
    report(RuntimeError("boom"), as_json=False)
    assert "RuntimeError: boom" in capsys.readouterr().err


def test_an_os_error_names_its_file(capsys):
    report(PermissionError(errno.EACCES, "Permission denied", "fleet.toml"), as_json=False)
    assert capsys.readouterr().err == "Error: fleet.toml: Permission denied.\n"


def test_json_has_no_nan():
    with pytest.raises(ValueError, match="JSON compliant"):
        print_json({"x": float("nan")})


@pytest.mark.parametrize(("spare", "code"), [(True, ExitCode.FAILED), (False, ExitCode.MISSING)])
def test_a_module_that_found_no_memory_is_called_unknown(monkeypatch, capsys, spare, code):
    monkeypatch.setattr("pico_gz.cli.output._has_memory", lambda count: spare)
    assert report(LookupError("unknown encoding: idna"), as_json=False) == code
    assert ("not enough memory" in capsys.readouterr().err) is not spare
