"""Numbers and tables for people."""

import re

import pytest

from pico_gz.cli.app import COMMANDS, run_command
from pico_gz.cli.output import ExitCode, figure, plural, print_table


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(-0.2, 0, "0"), (-0.001, 2, "0.00"), (-1.26, 1, "-1.3"), (None, 2, "-"), (359.6, 0, "360")],
)
def test_a_figure_is_never_minus_zero(value, digits, text):
    assert figure(value, digits) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 rovers"), (1, "1 rover"), (3, "3 rovers")])
def test_one_is_no_plural(count, text):
    assert plural(count, "rover") == text


def test_columns_of_numbers_stand_to_the_right(capsys):
    print_table(("name", "north m", "id", "mode"), [("a", "-1.25", 7, "AUTO"), ("b", "-", 12, "-")])
    assert capsys.readouterr().out.splitlines() == [
        "name  north m  id  mode",
        "----  -------  --  ----",
        "a       -1.25   7  AUTO",
        "b           -  12  -",
    ]


@pytest.mark.parametrize("name", ["run", "ctl", "init", "ports"])
def test_short_help(name, capsys):
    assert run_command([name, "-h"]) == 0
    out = capsys.readouterr().out
    assert f"Usage: pico-gz {name}" in out
    assert "[[" not in out


def test_exit_codes_are_listed_once(capsys):
    for name in COMMANDS:
        assert run_command([name, "-h"]) == 0
        out = capsys.readouterr().out
        assert "port in use" not in out, "a list that holds codes this command cannot end with"
        assert "Exit codes: 0 is success; pico-gz --help lists the others." in out
    assert run_command(["-h"]) == 0
    out = capsys.readouterr().out
    for code in ExitCode:
        assert re.search(rf"\b{code}\b", out), f"{code} is not explained"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_in_plain_words(name, capsys):
    """No braces, no types of Python, and every argument explained."""
    assert run_command([name, "-h"]) == 0
    out = capsys.readouterr().out
    assert not re.search(r"[{}<>]|\[\[|\blist\b", out), out
    arguments = out.partition("Arguments:")[2].partition("\n\n")[0].strip().splitlines()
    for line in arguments:
        assert line.split()[1:2] not in ([], ["[required]"]), line
