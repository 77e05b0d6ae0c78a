"""What the kit does about ArduRovers that do not work, without a real one."""

import json

import pytest

from pico_gz.cli.app import main


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Runs two rovers with a program of these shell lines; gives exit code and result."""
    monkeypatch.chdir(tmp_path)

    def run_with(*lines: str, options: tuple[str, ...] = ()):
        program = tmp_path / "ardurover"
        program.write_text("\n".join(["#!/bin/sh", "# ArduRover V4.7.0", *lines]) + "\n")
        program.chmod(0o755)
        monkeypatch.setenv("PICO_GZ_ARDUROVER", str(program))
        fleet = tmp_path / "fleet.toml"
        fleet.write_text(
            '[fleet]\ncount = 2\nadapter = "lightweight"\nautopilot = "ardurover:4.7"\n'
            "[ardurover]\nrestarts = 2\n"
        )
        words = ["run", str(fleet), "--port-offset", "auto", "--duration", "5", "--json"]
        with pytest.raises(SystemExit) as ended:
            main([*words, *options])
        output = capfd.readouterr()
        return ended.value.code, json.loads(output.out), output.err

    return run_with


def test_one_that_ends_at_once_is_tried_again_then_given_up(run):
    code, result, shown = run("echo $0 $@ >&2; echo no luck; exit 3", options=("--verbose",))
    assert code == 1
    assert result["events"]["restarted"] >= 2
    reason = result["problems"][0]["reason"]
    assert "ended with code 3" in reason
    assert "no luck" in reason
    assert "rover_1: no luck" in shown
    assert "rover_2: no luck" in shown
    first = next(line for line in shown.splitlines() if "--sysid 1" in line)
    assert "--wipe" in first
    assert "--base-port" in first


def test_one_that_stays_silent_ends_the_run(run, monkeypatch):
    monkeypatch.setattr("pico_gz.run.ardurover_fleet.CONNECT_S", 0.5)
    code, result, _ = run("exec sleep 60")
    assert code == 1
    assert [p["reason"] for p in result["problems"]] == ["its ArduRover is silent for 0.5 s"] * 2
    assert result["steps"] == 0


def test_a_release_that_is_not_here_is_named(run):
    code, result, _ = run(options=("--autopilot", "ardurover:4.5"))
    assert code == 4
    assert "no ArduRover 4.5 here; found: 4.7.0" in result["error"]["message"]
