"""Numbers and tables for people."""

import pytest

from pico_gz.cli.app import COMMANDS, run_command
from pico_gz.cli.output import figure, plural, print_table


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


def test_only_exit_codes_that_can_happen_are_shown(capsys):
    assert run_command(["init", "-h"]) == 0
    out = capsys.readouterr().out
    assert "port in use" not in out
    assert "2        bad usage" in out
    assert "run" in COMMANDS
    assert run_command(["run", "-h"]) == 0
    assert "port in use" in capsys.readouterr().out
