"""Elements that SDF does not have: by the kit's table, and by sdformat14 where it is."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pico_gz.lint import Severity, lint_file, lint_text, strict_reader
from pico_gz.lint.rules import elements
from pico_gz.lint.rules.elements import check_strictly
from pico_gz.worldgen.stamp import stamped

BODY = (
    '<sdf version="1.9">\n  <world name="w">\n    <grvity>0 0 -9.8</grvity>\n  </world>\n</sdf>\n'
)


def test_files_of_the_kit_are_held_against_its_table():
    text = stamped("world.sdf", BODY, "fleet.toml")
    (finding,) = lint_text(text)
    assert (finding.rule, finding.severity) == ("unknown-element", Severity.ERROR)
    assert "<grvity>" in text.splitlines()[finding.line - 1]


def test_files_of_others_are_not():
    assert lint_text(BODY) == []


class FakeSdfErrors(Exception):  # noqa: N818
    pass


@pytest.fixture
def sdformat(monkeypatch):
    """A stand-in for the real library that reports what it is told to."""
    seen = {}

    class Config:
        def set_unrecognized_elements_policy(self, policy):
            seen["elements"] = policy

        def set_warnings_policy(self, policy):
            seen["warnings"] = policy

    class Root:
        def load_sdf_string(self, text, config):
            seen["text"] = text
            if seen.get("report"):
                raise FakeSdfErrors(seen["report"])

    fake = SimpleNamespace(
        ParserConfig=Config,
        Root=Root,
        EnforcementPolicy=SimpleNamespace(ERR="err"),
        SDFErrorsException=FakeSdfErrors,
    )
    monkeypatch.setitem(sys.modules, "sdformat14", fake)
    monkeypatch.setattr(elements, "find_bindings", lambda module: sys.executable)
    return seen


def report(element, line):
    return (
        f"Error Code 11: [/sdf/world:<data-string>:L{line}]: Msg: XML Element[{element}], child of"
        f" element[world], not defined in SDF. Copying[{element}] as children of [world].\n"
    )


def test_sdformat_is_asked_strictly(sdformat, tmp_path):
    sdformat["report"] = report("grvity", 3) + report("grvity", 9) + report("gz_frame_id", 5)
    sdformat["report"] += "Error Code 14: [/sdf]: Msg: Unable to find uri[model://x]\n"
    path = tmp_path / "world.sdf"
    path.write_text(BODY)
    (finding,) = lint_file(path)
    assert (sdformat["elements"], sdformat["warnings"]) == ("err", "err")
    assert (finding.line, finding.severity) == (3, Severity.WARNING)
    assert finding.message == "XML Element[grvity], child of element[world], not defined in SDF."


def test_sdformat_does_not_look_for_includes(sdformat):
    text = "<sdf>\n<include>\n<uri>x</uri></include>\n</sdf>"
    assert list(check_strictly(text)) == []
    assert sdformat["text"] == "<sdf>\n\n\n</sdf>"


def test_without_sdformat_there_is_nothing_to_say(monkeypatch):
    monkeypatch.setattr(elements, "find_bindings", lambda module: "")
    assert list(check_strictly(BODY)) == []


def test_another_python_may_have_sdformat(monkeypatch):
    """The library of the system's Python is asked in a process of that Python."""

    def run(command, **options):
        assert command == ["/usr/bin/python3", strict_reader.__file__]
        assert options["input"] == BODY
        return SimpleNamespace(stdout=report("grvity", 4), returncode=0)

    monkeypatch.setattr(elements, "find_bindings", lambda module: "/usr/bin/python3")
    monkeypatch.setattr(elements.subprocess, "run", run)
    (finding,) = check_strictly(BODY)
    assert finding.line == 4


def test_a_reader_that_fails_is_told(monkeypatch, caplog):
    broken = SimpleNamespace(stdout="", stderr="Traceback\nImportError: no library", returncode=1)
    monkeypatch.setattr(elements, "find_bindings", lambda module: "/usr/bin/python3")
    monkeypatch.setattr(elements.subprocess, "run", lambda *_, **__: broken)
    assert list(check_strictly(BODY)) == []
    assert "ImportError: no library" in caplog.text


def test_the_reader_needs_nothing_of_the_kit():
    source = Path(strict_reader.__file__).read_text()
    assert "pico_gz" not in source
