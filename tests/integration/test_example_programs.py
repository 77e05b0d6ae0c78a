"""Every example runs as its README says, and what it prints is true."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from external_programs import need_ardurover, need_program

from pico_gz.run.config import FleetOverrides, default_fleet

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
STAND_IN = Path(__file__).with_name("stand_in_ardurover.py")
MOST_S = 60.0  # a hang; none takes more than 10 s
MISSING = 4


@pytest.fixture
def run(tmp_path):
    """Run an example in an empty folder and return what it printed."""

    def start(name, code=0, **variables):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / name)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MOST_S,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return start


def numbers(text, pattern):
    """The numbers that a line of output holds."""
    found = re.search(pattern, text)
    assert found, f"no {pattern!r} in {text!r}"
    return [float(group) for group in found.groups()]


def test_one_rover(run):
    driven_m, took_s = numbers(run("one_rover.py"), r"Drove ([\d.]+) m north in ([\d.]+) s")
    assert driven_m == pytest.approx(5.0, abs=0.3)
    assert 5.0 < took_s < 20.0


def test_swarm_in_formation(run):
    text = run("swarm_in_formation.py")
    (start_m,) = numbers(text, r"At the start the farthest rover is ([\d.]+) m")
    (end_m,) = numbers(text, r"At the end the farthest rover is ([\d.]+) m")
    (driven_m,) = numbers(text, r"leader is ([\d.]+) m from its start")
    assert start_m > 5.0
    assert end_m < 1.5
    assert driven_m > 15.0


def test_own_autopilot(run):
    left_m, took_s = numbers(
        run("own_autopilot.py"), r"Stopped ([\d.]+) m from the target after ([\d.]+) s"
    )
    assert left_m < 0.7
    assert took_s < 60.0


def drive_externally(command, offset, tmp_path):
    """Run a program as the external autopilot of one rover; returns what it printed."""
    words = "--rovers 1 --adapter lightweight --autopilot external --duration 0 --speed 20"
    kit = subprocess.Popen(
        [sys.executable, "-m", "pico_gz", "run", *words.split(), "--port-offset", str(offset)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        done = subprocess.run(
            [*command, str(9002 + offset)], capture_output=True, text=True, timeout=MOST_S
        )
    finally:
        kit.terminate()
        kit.wait(MOST_S)
    assert done.returncode == 0, done.stdout + done.stderr
    north_m, took_s = numbers(done.stdout, r"Stopped ([\d.]+) m north after ([\d.]+) s")
    assert 8.0 <= north_m < 8.3
    assert took_s > 10.0


def free_offset(ports):
    fleet = default_fleet(1, FleetOverrides(autopilot="external", adapter="lightweight"))
    return ports.offset_for(lambda offset: fleet.with_port_offset(offset).port_plan())


def test_external_autopilot(ports, tmp_path):
    program = [sys.executable, str(EXAMPLES / "external_autopilot.py")]
    drive_externally(program, free_offset(ports), tmp_path)


def test_external_autopilot_in_c(ports, tmp_path):
    compiler = need_program("cc", "--version")
    program = tmp_path / "external_autopilot"
    source = EXAMPLES / "external_autopilot.c"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", str(program), str(source)], check=True)
    drive_externally([str(program)], free_offset(ports), tmp_path)


def test_own_adapter(run):
    text = run("own_adapter.py")
    assert "keeps the contract" in text
    (glided_m,) = numbers(text, r"then glided ([\d.]+) m")
    (expected_m,) = numbers(text, r"formula says ([\d.]+) m")
    assert glided_m == pytest.approx(expected_m, rel=0.01)


def test_own_sensor_model(run):
    followed_m, off_cm = numbers(
        run("own_sensor_model.py"), r"for ([\d.]+) m, never more than (\d+) cm"
    )
    assert followed_m >= 12.0
    assert off_cm <= 5.0


def test_record_and_plot(run, tmp_path):
    text = run("record_and_plot.py")
    assert "Same run: True" in text
    assert "The same, bit for bit: 2000 steps." in text
    north_m, east_m = numbers(text, r"Rover 1: north (-?[\d.]+) m, east (-?[\d.]+) m")
    assert max(abs(north_m), abs(east_m)) > 3.0
    page = (tmp_path / "recordings/track.html").read_text()
    assert "<svg" in page


def test_pytest_project(tmp_path):
    """The wheel and the time that it may take are in test_example_project.py."""
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / "pytest_project", project)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "test_drive"],
        cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=MOST_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def check_ardurover(text):
    driven_m, took_s = numbers(text, r"ArduRover drove ([\d.]+) m in ([\d.]+) s")
    assert 8.0 < driven_m < 14.0
    assert took_s > 1.0


@pytest.mark.ardupilot
@pytest.mark.usefixtures("ardurover_release")
def test_ardurover(run):
    need_ardurover()
    check_ardurover(run("ardurover.py"))


def test_ardurover_with_a_stand_in(run, tmp_path):
    program = tmp_path / "ardurover"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    program.chmod(0o755)
    check_ardurover(run("ardurover.py", PICO_GZ_ARDUROVER=str(program)))


def test_without_ardurover_it_says_so(run):
    text = run("ardurover.py", code=MISSING, PICO_GZ_ARDUROVER="/nowhere/ardurover")
    assert "No ArduRover here" in text


def test_the_index_names_every_example():
    index = (EXAMPLES / "README.md").read_text()
    linked = set(re.findall(r"^\| \[[\w.]+\]\(([\w.]+)", index, re.M))
    here = {
        path.name for path in EXAMPLES.iterdir() if path.name not in ("README.md", "__pycache__")
    }
    assert linked == here
    assert len(here) == 10


def test_examples_import_only_what_the_documentation_promises():
    promised = {"pico_gz", "pico_gz.testing", "pico_gz.vehicle.scripted"}
    for path in EXAMPLES.rglob("*.py"):
        used = set(re.findall(r"^(?:from|import) (pico_gz[\w.]*)", path.read_text(), re.M))
        assert used <= promised, path.name
