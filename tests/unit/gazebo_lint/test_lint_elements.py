"""Elements that SDF does not have, and files that Gazebo refuses."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pico_gz.gazebo import gz_worker
from pico_gz.gazebo.lint import lint_file, lint_text, sdformat
from pico_gz.gazebo.lint.document import Severity
from pico_gz.gazebo.worlds.render import Origin, origin_of, stamped

BODY = (
    '<sdf version="1.9">\n  <world name="w">\n    <grvity>0 0 -9.8</grvity>\n  </world>\n</sdf>\n'
)
LIGHT = "<light name='lamp' type='point'><attenuation><range>5</range></attenuation></light>"
ODD_WORLD = BODY.replace("<grvity>0 0 -9.8</grvity>", f"<gui/>{LIGHT}")
MODEL = """\
<sdf version="1.9">
<model name="m">
<link name="l">
<inertial><mass>-1</mass></inertial></link>
<joint name="j" type="fixed"><parent>l</parent><child>x</child></joint>
</model></sdf>
"""


def test_files_of_the_kit_are_held_against_its_table():
    text = stamped("world.sdf", BODY, "fleet.toml")
    (finding,) = lint_text(text)
    assert (finding.rule, finding.severity) == ("unknown-element", Severity.ERROR)
    assert "<grvity>" in text.splitlines()[finding.line - 1]


def test_files_of_others_are_not():
    assert lint_text(BODY) == []


def test_files_that_people_edited_are_not():
    """SDF has far more elements than the kit writes; people may use them all."""
    text = stamped("world.sdf", BODY, "fleet.toml").replace("<grvity>0 0 -9.8</grvity>", LIGHT)
    assert origin_of(text) is Origin.EDITED
    assert lint_text(text) == []
    as_generated = stamped("world.sdf", ODD_WORLD, "fleet.toml")
    assert lint_text(as_generated) != [], "the table does not know it"


class FakeReader:
    """Answers in place of the process that has the library."""

    def __init__(self, monkeypatch):
        self.refused, self.mentioned = [], []
        self.done = SimpleNamespace(returncode=0, stderr="")
        self.asked = None
        monkeypatch.setattr(sdformat, "find_bindings", lambda module: "/usr/bin/python3")
        monkeypatch.setattr(sdformat.subprocess, "run", self._run)

    def _run(self, command, **options):
        assert command == ["/usr/bin/python3", "-P", gz_worker.__file__, "sdformat"]
        self.asked = options["input"]
        answer = {"refused": self.refused, "mentioned": self.mentioned}
        self.done.stdout = json.dumps(answer)
        return self.done

    def refuse(self, code, message, line=None):
        self.refused.append({"code": code, "line": line, "message": message})

    def mention(self, code, message, line=None):
        self.mentioned.append({"code": code, "line": line, "message": message})


@pytest.fixture
def reader(monkeypatch, no_sdformat):
    return FakeReader(monkeypatch)


@pytest.fixture
def findings(tmp_path):
    def lint(text):
        path = tmp_path / "world.sdf"
        path.write_text(text)
        found = lint_file(path, environ={})
        return [(finding.line, finding.severity, finding.rule) for finding in found]

    return lint


def unknown(element):
    return (
        f"XML Element[{element}], child of element[world], not defined in SDF."
        f" Copying[{element}] as children of [world].\n"
    )


def test_unknown_elements_are_told_once_each(reader, tmp_path):
    for element, line in (("grvity", 3), ("grvity", 9), ("gz_frame_id", 5)):
        reader.mention(11, unknown(element), line)
    path = tmp_path / "world.sdf"
    path.write_text(BODY)
    (finding,) = lint_file(path)
    assert (finding.line, finding.severity) == (3, Severity.WARNING)
    assert finding.message == "XML Element[grvity], child of element[world], not defined in SDF."


def test_what_the_table_told_is_not_told_again(reader, findings):
    text = stamped("world.sdf", BODY, "fleet.toml")
    line = text[: text.index("<grvity>")].count("\n") + 1
    reader.mention(11, unknown("grvity"), line)
    assert findings(text) == [(line, "error", "unknown-element")]


def test_what_gazebo_refuses_is_an_error_at_the_element_it_names(reader, findings):
    reader.refuse(19, "A link named l has invalid inertia.")
    reader.refuse(20, "Child frame with name[x] specified by joint with name[j] not found.")
    reader.mention(37, "Non-unique name[l] detected 2 times in model with name[m].")
    assert findings(MODEL) == [
        (2, "warning", "sdformat-warns"),
        (3, "error", "sdformat-refuses"),
        (5, "error", "sdformat-refuses"),
    ]


def test_one_mistake_is_one_error(reader, findings):
    """sdformat says of every element around it, too, that it could not be read."""
    reader.refuse(9, "Error reading element <mass>", 4)
    reader.refuse(9, "Error reading element <link>", 3)
    reader.refuse(9, "Error reading element <sdf>")
    reader.refuse(25, "FrameAttachedToGraph error, vertex with name [m::j] is disconnected.")
    reader.refuse(9, "Failed to load a world.")
    reader.refuse(30, f"Unable to read SDF string: {MODEL}")
    assert findings(MODEL) == [(4, "error", "sdformat-refuses")]


def test_even_an_echo_alone_is_an_error(reader, tmp_path):
    reader.refuse(30, f"Unable to read SDF string: {MODEL}")
    path = tmp_path / "model.sdf"
    path.write_text(MODEL)
    (finding,) = lint_file(path)
    assert finding.message == "Unable to read SDF string."


INCLUDES = (
    "<include>\n<uri>x</uri></include>",
    '<include merge="true">\n<uri>x</uri></include>',
    "<!-- <include> --><include>\n<uri>x</uri></include>",
)


@pytest.mark.parametrize("include", INCLUDES)
def test_sdformat_does_not_look_for_includes(reader, include):
    sdformat.complaints(f"<sdf>\n{include}<model/>\n</sdf>")
    assert reader.asked == "<sdf>\n\n<model/>\n</sdf>"


def test_an_include_without_content_hides_nothing(reader):
    text = "<sdf><include/><model/><include>x</include></sdf>"
    sdformat.complaints(text)
    assert reader.asked == "<sdf><include/><model/></sdf>"


@pytest.mark.parametrize(
    ("code", "message", "told"),
    [
        (17, "A model must have at least one link.", False),
        (20, "Child frame with name[a::b] specified by joint with name[j] not found.", False),
        (22, "joint with name[j] specified parent frame and child frame that are the same", False),
        (9, "Failed to load a world.", False),
        (9, "Error reading element <mass>", True),
        (19, "A link named l has invalid inertia.", True),
    ],
)
def test_what_an_include_may_bring_is_not_missed(reader, code, message, told):
    include = "<include><uri>model://arm</uri></include></model>"
    reader.refuse(code, message)
    found = sdformat.complaints(MODEL.replace("</model>", include))
    assert bool(found) == told
    assert sdformat.complaints(MODEL) != []


def test_without_sdformat_there_is_nothing_to_say():
    assert not sdformat.can_ask()
    assert sdformat.complaints(BODY) == []


def test_a_reader_that_fails_is_told(reader, caplog):
    reader.done = SimpleNamespace(stderr="Traceback\nImportError: no library", returncode=1)
    assert sdformat.complaints(BODY) == []
    assert "ImportError: no library" in caplog.text


def test_the_reader_asks_twice(monkeypatch):
    """Once as Gazebo does, once strictly: only what the first refuses is an error."""

    class Refused(Exception):  # noqa: N818
        def __init__(self, *words):
            self.errors = [
                SimpleNamespace(
                    code=lambda: 9, line_number=lambda: None, message=lambda word=word: word
                )
                for word in words
            ]

    class Config:
        policies = ()

        def set_unrecognized_elements_policy(self, policy):
            self.policies += (policy,)

        set_warnings_policy = set_unrecognized_elements_policy

    class Root:
        def load_sdf_string(self, text, config):
            assert text == BODY
            assert config.policies in ((), ("err", "err"))
            raise Refused("a mass", *(["a word"] if config.policies else []))

    fake = SimpleNamespace(
        ParserConfig=Config,
        Root=Root,
        EnforcementPolicy=SimpleNamespace(ERR="err"),
        SDFErrorsException=Refused,
    )
    monkeypatch.setitem(gz_worker.sys.modules, "sdformat14", fake)
    answer = gz_worker.read_strictly(BODY)
    assert [found["message"] for found in answer["refused"]] == ["a mass"]
    assert [found["message"] for found in answer["mentioned"]] == ["a word"]


def test_the_reader_needs_nothing_of_the_kit():
    source = Path(gz_worker.__file__).read_text()
    assert "pico_gz" not in source
