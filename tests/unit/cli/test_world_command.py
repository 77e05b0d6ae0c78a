"""``pico-gz world`` and ``pico-gz lint``."""

import json

import pytest

from pico_gz.cli.app import run_command
from pico_gz.lint import sdformat


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "out")


@pytest.fixture(autouse=True)
def silent_sdformat(monkeypatch):
    """It is there and content, whether this machine has it or not."""
    monkeypatch.setattr(sdformat, "find_bindings", lambda module: "python3")
    monkeypatch.setattr(sdformat, "_ask", lambda text: {})


def test_write_check_change(out, tmp_path, capsys):
    assert run_command(["world", "--rovers", "2", "-o", out]) == 0
    assert "2 rovers" in capsys.readouterr().out
    assert run_command(["world", "--rovers", "2", "-o", out, "--check"]) == 0
    assert run_command(["world", "--rovers", "3", "-o", out, "--check"]) == 1
    assert "models/rover_3/model.sdf: missing" in capsys.readouterr().out
    assert not (tmp_path / "out/models/rover_3").exists()


def test_an_edited_file_is_kept_unless_forced(out, tmp_path, capsys):
    assert run_command(["world", "--rovers", "1", "-o", out]) == 0
    world = tmp_path / "out/world.sdf"
    world.write_text(world.read_text().replace("<max_step_size>0.002", "<max_step_size>0.004"))
    assert run_command(["world", "--rovers", "1", "-o", out]) == 2
    error = capsys.readouterr().err
    assert "world.sdf" in error
    assert "--force" in error
    assert run_command(["world", "--rovers", "1", "-o", out, "--check"]) == 1
    assert "world.sdf: edited by hand" in capsys.readouterr().out
    assert run_command(["world", "--rovers", "1", "-o", out, "--force"]) == 0
    assert "<max_step_size>0.004" not in world.read_text()


def test_json(out, capsys):
    assert run_command(["world", "--rovers", "2", "-o", out, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rovers"] == 2
    assert answer["ports"] == {"rover_1": 9002, "rover_2": 9012}
    assert "world.sdf" in answer["written"]
    assert run_command(["world", "--rovers", "1", "-o", out, "--check", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["current"] is False
    assert "models/rover_2/model.sdf" in answer["left_over"]


def test_options_reach_the_world_and_its_readme(out, tmp_path):
    options = ["--rovers", "4", "--layout", "grid", "--lidar", "--autopilot", "external"]
    assert run_command(["world", *options, "-o", out]) == 0
    text = (tmp_path / "out/world.sdf").read_text()
    assert "gpu_lidar" in text
    assert "<fdm_port_in>19002</fdm_port_in>" in text
    command = "pico-gz world --rovers 4 --layout grid --autopilot external --lidar -o DIR"
    assert command in (tmp_path / "out/README.md").read_text()


def test_a_folder_is_needed(capsys):
    assert run_command(["world", "--rovers", "2"]) == 2
    assert "-o" in capsys.readouterr().err


def test_bad_layout(out, capsys):
    assert run_command(["world", "--layout", "heap", "-o", out]) == 2
    assert "heap" in capsys.readouterr().err


def test_lint(out, tmp_path, capsys):
    assert run_command(["world", "--rovers", "1", "-o", out]) == 0
    world = tmp_path / "out/world.sdf"
    capsys.readouterr()
    assert run_command(["lint", str(world)]) == 0
    assert capsys.readouterr().out == "1 file: 0 errors, 0 warnings, 0 notes.\n"
    bad = tmp_path / "bad.sdf"
    text = world.read_text().replace("base_link::imu_sensor", "base_link::gyro")
    bad.write_text(text)
    assert run_command(["lint", str(world), str(bad)]) == 1
    shown = capsys.readouterr().out
    line = next(n for n, t in enumerate(text.splitlines(), 1) if "ArduPilotPlugin" in t)
    assert f"{bad}:{line}: error [imu-not-found]" in shown
    assert "    Why: " in shown
    assert "    Fix: " in shown


def test_lint_tells_that_sdformat_is_missing(tmp_path, capsys, monkeypatch):
    path = tmp_path / "world.sdf"
    path.write_text('<sdf version="1.9"/>')
    assert run_command(["lint", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sdformat"] is True
    monkeypatch.setattr(sdformat, "find_bindings", lambda module: "")
    assert run_command(["lint", str(path)]) == 0
    assert "python3-sdformat14" in capsys.readouterr().out
    assert run_command(["lint", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sdformat"] is False


def test_lint_json(tmp_path, capsys):
    bad = tmp_path / "bad.sdf"
    bad.write_text("<sdf>")
    assert run_command(["lint", str(bad), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["errors"] == 1
    assert answer["findings"][0]["rule"] == "not-readable"


def test_lint_for_containers(out, tmp_path, capsys):
    assert run_command(["world", "--rovers", "1", "-o", out]) == 0
    world = str(tmp_path / "out/world.sdf")
    assert run_command(["lint", "--container", world]) == 1
    assert "loopback-in-container" in capsys.readouterr().out


def test_lint_of_a_missing_file(tmp_path, capsys):
    assert run_command(["lint", str(tmp_path / "none.sdf")]) == 2
    assert "none.sdf" in capsys.readouterr().err
