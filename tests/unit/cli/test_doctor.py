"""``pico-gz doctor``: what people and scripts see."""

import json

import pytest

from pico_gz.cli import inspect as command
from pico_gz.cli.app import run_command
from pico_gz.cli.tools.doctor import Examination
from pico_gz.cli.tools.doctor_checks import DoctorFinding, Need, State

PYTHON = DoctorFinding(name="Python", state=State.FOUND, need=Need.LIGHTWEIGHT, version="3.12.1")
NO_GAZEBO = DoctorFinding(
    name="Gazebo", state=State.MISSING, need=Need.GAZEBO, remedy="sudo apt install gz-harmonic"
)


@pytest.fixture
def machine(monkeypatch):
    """Let the doctor find these."""

    def set_findings(*findings):
        monkeypatch.setattr(command, "examine", lambda: Examination(findings))

    set_findings(PYTHON, NO_GAZEBO)
    return set_findings


def test_what_is_missing_comes_with_its_remedy(machine, capsys):
    assert run_command(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "found    Python  3.12.1"
    assert lines[1] == "missing  Gazebo"
    assert lines[2].strip() == "-> sudo apt install gz-harmonic"
    assert "lightweight can be used" in lines
    assert "gazebo cannot be used: Gazebo missing" in lines


def test_the_bug_report_is_a_block(machine, capsys):
    run_command(["doctor"])
    block = capsys.readouterr().out.split("```")[1].strip()
    assert block == "Python: 3.12.1\nGazebo: - [missing]"


def test_only_what_is_required_fails(machine, capsys):
    assert run_command(["doctor", "--require", "docker"]) == 0
    assert run_command(["doctor", "--require", "gazebo"]) == 4
    assert "gazebo cannot be used" in capsys.readouterr().err


def test_a_kit_that_cannot_run_fails_unasked(machine):
    machine(DoctorFinding(name="dependencies", state=State.MISSING, need=Need.LIGHTWEIGHT))
    assert run_command(["doctor"]) == 4


def test_json_is_one_object_and_nothing_else(machine, capsys):
    assert run_command(["doctor", "--json", "--require", "gazebo"]) == 4
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert captured.err == ""
    assert told["usable"] == {"lightweight": True, "gazebo": False, "docker": True}
    assert told["findings"][1]["remedy"] == "sudo apt install gz-harmonic"
    assert told["report"].startswith("Python")


def test_an_unknown_requirement_is_bad_usage(machine, capsys):
    assert run_command(["doctor", "--require", "coffee"]) == 2
