"""Files from anywhere: refused, read leniently, or with the models they include."""

import re

import pytest
from lint_example import GOOD_WORLD, spoiled

from pico_gz.gazebo.lint import lint_file, lint_text
from pico_gz.gazebo.sdf import COMMENT, MAX_BYTES, blank_out, parse_sdf

DEEP = "<sdf>" + "<a>" * 100 + "</a>" * 100 + "</sdf>"
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><sdf>&b;</sdf>'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (BOMB, 1, "document type"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE sdf SYSTEM "file:///etc/passwd">\n<sdf/>',
            2,
            "document",
        ),
        ("<sdf>\n<world>\n</sdf>", 3, "mismatched tag"),
        (DEEP, 1, "inside each other"),
        ("", 1, "no element found"),
        ("<sdf>&unknown;</sdf>", 1, "entity"),
        ("<sdf>\0</sdf>", 1, "invalid token"),
    ],
)
def test_refused(text, line, words):
    (finding,) = lint_text(text)
    assert (finding.rule, finding.line) == ("not-readable", line)
    assert words in finding.message


def test_too_large_files_are_not_even_read(tmp_path):
    path = tmp_path / "huge.sdf"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    (finding,) = lint_file(path)
    assert (finding.rule, "8 MB" in finding.message) == ("not-readable", True)


def test_no_text(tmp_path):
    path = tmp_path / "binary.sdf"
    path.write_bytes(b"<sdf>\xff\xfe</sdf>")
    (finding,) = lint_file(path)
    assert "UTF-8" in finding.message


def test_other_xml():
    (finding,) = lint_text("<?xml version='1.0'?>\n<robot/>")
    assert (finding.rule, finding.line) == ("no-sdf", 2)


def test_what_gazebo_reads_is_read():
    """Dashes in comments and blanks before the declaration; lines still count."""
    comment = "<!-- first -- then\n second -->\n"
    text = GOOD_WORLD.replace("  <world", f"  {comment}  <world", 1)
    text = text.replace("<lock_step>1</lock_step>", "<lockstep/><lock_step>1</lock_step>")
    (finding,) = lint_text("\n " + text)
    assert "<lockstep/>" in ("\n " + text).splitlines()[finding.line - 1]


@pytest.mark.parametrize("before", ['?xml version="1.0"?>\n', "words\n\n"])
def test_what_stands_before_the_first_element_is_passed_over(before):
    """As Gazebo's reader does; the line still counts."""
    assert lint_text(before + '<sdf version="1.9"/>') == []
    (finding,) = lint_text(before + "<sdf>\n<world>\n</sdf>")
    assert (finding.rule, finding.line) == ("not-readable", before.count("\n") + 3)


def test_a_version_is_needed():
    (finding,) = lint_text("\n<sdf><world name='w'/></sdf>")
    assert (finding.rule, finding.line) == ("no-sdf", 2)
    assert "version" in finding.message


def test_blanking_keeps_lines_and_is_quick():
    assert blank_out("a<!--\n\n-->b<!--c", *COMMENT) == "a\n\nb<!--c"
    assert len(blank_out("<!--" * 1_000_000, *COMMENT)) == 4_000_000


def test_nodes():
    root = parse_sdf("<sdf><a name='n'>1<b>x</b></a>\n<a><b>0.5</b></a></sdf>")
    first, second = root.all("a")
    assert (first.name, first.value("b"), first.number("b", 7.0)) == ("n", "x", 7.0)
    assert (second.line, second.number("b", 7.0), second.number("c", 3.0)) == (2, 0.5, 3.0)
    assert [node.tag for node in root.walk()] == ["sdf", "a", "b", "a", "b"]
    assert second.child("b").inside("sdf") is root


@pytest.fixture
def shelf(tmp_path):
    """A folder with the good rover as a model of its own."""
    start = GOOD_WORLD.index("    <model")
    model = GOOD_WORLD[start : GOOD_WORLD.index("  </world>")]
    folder = tmp_path / "models/rover"
    folder.mkdir(parents=True)
    (folder / "model.sdf").write_text(f'<sdf version="1.9">\n{model}</sdf>\n')
    return tmp_path


def world_with(*lines):
    start, end = GOOD_WORLD.index("    <model"), GOOD_WORLD.index("  </world>")
    return GOOD_WORLD[:start] + "".join(f"{line}\n" for line in lines) + GOOD_WORLD[end:]


ROVER = "<include><uri>model://rover</uri></include>"


def rules_of(shelf, text):
    path = shelf / "world.sdf"
    path.write_text(text)
    findings = lint_file(path, environ={})
    lines = text.splitlines()
    return [(finding.rule, lines[finding.line - 1].strip()) for finding in findings]


def test_included_models_count(shelf):
    assert rules_of(shelf, world_with(ROVER)) == []
    assert rules_of(shelf, world_with(ROVER, ROVER)) == [("duplicate-port", ROVER)]


def test_included_models_are_found_on_the_resource_path(shelf, tmp_path):
    text = world_with(ROVER, ROVER)
    found = lint_text(text, environ={})
    assert [finding.rule for finding in found] == ["include-not-found", "include-not-found"]
    found = lint_text(text, environ={"GZ_SIM_RESOURCE_PATH": f"/nowhere:{shelf / 'models'}"})
    assert [finding.rule for finding in found] == ["duplicate-port"]


def test_systems_for_included_models(shelf):
    text = world_with(ROVER).replace("gz::sim::systems::Imu", "gz::sim::systems::Contact")
    assert rules_of(shelf, text) == [("no-imu-system", ROVER)]


def test_a_second_plugin_through_an_include(shelf):
    plugin = GOOD_WORLD[GOOD_WORLD.index('<plugin filename="ArduPilotPlugin"') :]
    plugin = plugin[: plugin.index("</plugin>")].replace("\n", " ").replace("9002", "9012")
    text = world_with(f"<include><uri>model://rover</uri>{plugin}</plugin></include>")
    (finding,) = lint_text(text, shelf / "world.sdf", environ={})
    assert (finding.rule, finding.severity) == ("plugin-in-include", "error")


@pytest.mark.parametrize(
    ("uri", "rule", "severity"),
    [
        ("https://fuel.gazebosim.org/1.0/x", "include-elsewhere", "note"),
        ("model://../rover", "include-not-found", "warning"),
        ("file:///etc", "include-not-found", "warning"),
        ("model://rover/../x", "include-not-found", "warning"),
        ("model://nothere", "include-not-found", "warning"),
    ],
)
def test_nothing_is_fetched_from_elsewhere(shelf, uri, rule, severity):
    """And it is said that it was not looked at."""
    include = f"<include><uri>{uri}</uri></include>"
    text = world_with(include)
    (finding,) = lint_text(text, shelf / "world.sdf", environ={})
    assert (finding.rule, finding.severity) == (rule, severity)
    assert include in text.splitlines()[finding.line - 1]
    assert uri in finding.message


def test_a_model_that_includes_itself_ends(shelf):
    (shelf / "models/rover/model.sdf").write_text(f'<sdf><model name="rover">{ROVER}</model></sdf>')
    assert rules_of(shelf, world_with(ROVER)) == []


def test_findings_are_in_the_order_of_the_file():
    text = spoiled(("<update_rate>500", "<update_rate>1"), ("<servo_max>2000", "<servo_max>1900"))
    lines = [finding.line for finding in lint_text(text)]
    assert len(lines) == 2
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    "value", ["inf", "-inf", "nan", "0", "-1", "1e400", "1e-320", "", "word", "\u00b2", "9" * 5000]
)
def test_a_number_may_be_anything(value):
    """Lint reports what it can and never raises."""
    numbers = list(re.finditer(r'(?<=[>\s"])-?[\d.]+(?=[<\s"])', GOOD_WORLD))
    assert len(numbers) > 30
    for number in numbers:
        lint_text(GOOD_WORLD[: number.start()] + value + GOOD_WORLD[number.end() :])


def test_an_imu_turned_by_infinity_is_not_rolled():
    (finding,) = lint_text(spoiled(("0 0 0 180 0 0</pose>", "0 0 0 inf 0 0</pose>")))
    assert finding.rule == "imu-not-rolled"
