"""What people see of a run in terminals of several sizes, in a dumb one, and through a pipe."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import TerminalProgram

ROOT = Path(__file__).parents[2]
HEADLINE = re.compile(r"^ +\d+\.\d.*\d+ armed, 0 lost steps$")
WARNINGS = [f"WARNING: rover_{i}: gps fails: off." for i in (1, 2, 3)]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pico_gz", *arguments]


@pytest.fixture
def environment(tmp_path):
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "TERM": "xterm",
    }


@pytest.fixture
def start(tmp_path, environment):
    """Starts a run in a terminal of a size."""
    opened: list[TerminalProgram] = []

    def call(*arguments: str, columns: int, lines: int, **changes: str) -> TerminalProgram:
        words = ("run", "--adapter", "lightweight", "--port-offset", "auto", *arguments)
        program = TerminalProgram(
            command(*words),
            columns=columns,
            lines=lines,
            env={**environment, **changes},
            cwd=tmp_path,
        )
        opened.append(program)
        program.until(lambda screen: "Control it" in screen.text)
        return program

    yield call
    for program in opened:
        program.__exit__()


@pytest.fixture
def ctl(tmp_path, environment):
    def call(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            command("ctl", *words),
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return call


def headlines(program: TerminalProgram) -> list[str]:
    return [row for row in program.screen.visible if HEADLINE.match(row)]


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 50)])
def test_warnings_stay_readable_beside_the_live_status(start, ctl, columns, lines):
    run = start("--rovers", "3", "--duration", "0", columns=columns, lines=lines)
    run.until(lambda screen: len(headlines(run)) == 1)
    for vehicle_id in ("1", "2", "3"):
        assert ctl("fail", vehicle_id, "gps", "off").returncode == 0
        run.read(0.6)
    run.until(lambda screen: WARNINGS[2] in screen.visible)
    run.read(1.0)
    visible = run.screen.visible
    assert len(headlines(run)) == 1, visible
    assert [
        row for row in visible if row.startswith("WARNING: rover_") and "gps" in row
    ] == WARNINGS
    assert sum(row.startswith("rover") and "north m" in row for row in visible) == 1, visible
    assert all(len(row) <= columns for row in visible)
    ctl("stop")
    assert run.finish() == 0
    # The picture is gone; the warnings and the summary stay.
    left = run.screen.text
    assert not [row for row in left.splitlines() if HEADLINE.match(row)]
    assert all(left.count(warning) == 1 for warning in WARNINGS)
    assert "Trace: " in left


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 50)])
def test_a_large_fleet_shows_those_in_trouble_and_fits_the_screen(start, ctl, columns, lines):
    run = start("--rovers", "40", "--duration", "0", columns=columns, lines=lines)
    run.until(lambda screen: len(headlines(run)) == 1)
    assert any("none in trouble" in row for row in run.screen.visible)
    assert ctl("fail", "33", "gps", "off").returncode == 0
    run.until(lambda screen: any("1 in trouble" in row for row in screen.visible))
    (row,) = [row for row in run.screen.visible if row.startswith("rover_33 ")]
    assert "gps" in row.lower()
    assert len(headlines(run)) == 1
    ctl("stop")
    assert run.finish() == 0


def test_a_small_screen_gets_no_more_rows_than_it_has(start, ctl):
    run = start("--rovers", "15", "--duration", "0", columns=80, lines=10)
    run.until(lambda screen: len(headlines(run)) == 1)
    run.read(2.0)
    assert len(headlines(run)) == 1, run.screen.visible
    assert run.screen.text.count(" armed, 0 lost steps") == 1
    ctl("stop")
    assert run.finish() == 0


def test_a_dumb_terminal_gets_plain_lines(start, ctl):
    run = start("--rovers", "1", "--duration", "0", columns=80, lines=24, TERM="dumb")
    assert ctl("fail", "1", "gps", "off").returncode == 0
    run.until(lambda screen: WARNINGS[0] in screen.text)
    run.until(lambda screen: bool(headlines(run)))
    ctl("stop")
    assert run.finish() == 0
    assert "1 rover on lightweight" in run.screen.text
    assert "1 rovers" not in run.screen.text


def test_a_pipe_gets_no_control_characters(tmp_path, environment, ctl):
    words = ("run", "--rovers", "1", "--duration", "7", "--adapter", "lightweight")
    with subprocess.Popen(
        command(*words, "--port-offset", "auto"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=tmp_path,
        text=True,
    ) as run:
        while "Control it" not in run.stdout.readline():
            assert run.poll() is None
        assert ctl("fail", "1", "gps", "off").returncode == 0
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0
    assert "\x1b" not in out + err
    assert WARNINGS[0] in err.splitlines()
    assert any(HEADLINE.match(line) for line in out.splitlines())


def test_keyboard_driving_shows_keys_and_sticks_and_disarms_and_arms_by_keys(start, ctl):
    words = ("--rovers", "2", "--duration", "0", "--rc", "keyboard", "--autopilot", "builtin")
    run = start(*words, columns=80, lines=24)
    run.until(
        lambda screen: any("R arm" in row and "Tab next rover" in row for row in screen.visible)
    )
    run.until(lambda screen: any(row.startswith("rover_1  throttle [") for row in screen.visible))
    run.type(b"ww")
    run.until(lambda screen: any("throttle [-----|#----]" in row for row in screen.visible))
    run.type(b"x\t")
    run.until(lambda screen: any(row.startswith("rover_2  throttle [") for row in screen.visible))
    # The demo arms both by itself.
    for key, armed in ((b"", 2), (b"f", 1), (b"r", 2)):
        run.type(key)
        run.until(lambda screen, n=armed: any(f"{n} armed" in row for row in screen.visible))
    ctl("stop")
    assert run.finish() == 0
