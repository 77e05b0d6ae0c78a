"""The kit's own table of SDF elements."""

import pytest

from pico_gz.errors import WorldTemplateError
from pico_gz.gazebo.sdf import check_sdf, elements, require_sdf

GOOD = (
    '<sdf version="1.9">\n<world name="w">\n<gravity>0 0 -9.8</gravity>\n'
    '<plugin filename="f" name="n"><anything><goes/></anything></plugin>\n'
    '<model name="m"><static>true</static><link name="l"><pose>0 0 0 0 0 0</pose></link></model>\n'
    "</world>\n</sdf>"
)


def test_good():
    assert check_sdf(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("gravity>", "grvity>", 3, "<grvity> does not belong into <world>"),
        ("0 0 -9.8", "0 0", 3, "3 finite number"),
        ("0 0 -9.8", "0 0 nan", 3, "3 finite number"),
        ("0 0 0 0 0 0", "0 0 0 0 0", 5, "6 finite number"),
        ('<world name="w">', '<world name="w" nane="x">', 2, "no attribute 'nane'"),
        ("</gravity>", "</gravity><gravity>0 0 0</gravity>", 3, "second <gravity>"),
        ("</link>", '</link><link name="l"/>', 5, "two children named 'l'"),
        ("</link>", '</link><joint name="l"/>', 5, "two children named 'l'"),
        ("</link>", '</link><link name=""/>', 5, "empty name"),
        ("<static>true", "<plugin/><world/><static>true", 5, "<world> does not belong"),
        ("</link>", '<plugin name="p"/></link>', 5, "<plugin> does not belong into <link>"),
        ("sdf", "sfd", 1, "outermost element"),
        ("</world>", "", 7, "no well-formed XML"),
        ("<sdf", "<!DOCTYPE sdf><sdf", 1, "document type"),
    ],
)
def test_bad(old, new, line, words):
    problems = check_sdf(GOOD.replace(old, new))
    assert problems
    assert (problems[0].line, words in problems[0].message) == (line, True)


def test_refused_with_line_and_name():
    with pytest.raises(WorldTemplateError, match=r"out\.sdf .* line 3"):
        require_sdf(GOOD.replace("gravity>", "grvity>"), "out.sdf")


def test_the_table_is_closed():
    """Every child in the table that has children of its own has a line; none is orphaned."""
    table = elements()
    children = {child for element in table.values() for child in element.children}
    assert {name.rsplit("/")[-1] for name in table} - {"sdf"} <= children
    assert all(element.repeated <= element.children for element in table.values())
