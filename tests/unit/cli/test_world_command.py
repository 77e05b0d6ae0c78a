"""``pico-gz world`` and ``pico-gz lint``."""

import json
import shlex

import pytest

from pico_gz.cli.app import run_command
from pico_gz.gazebo.lint import sdformat


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
    assert run_command(["world", *options, "--port-offset", "15000", "-o", out]) == 0
    text = (tmp_path / "out/world.sdf").read_text()
    assert "gpu_lidar" in text
    assert "<fdm_port_in>34002</fdm_port_in>" in text
    readme = (tmp_path / "out/README.md").read_text()
    shared = "--rovers 4 --layout grid --autopilot external --port-offset 15000"
    assert f"\npico-gz world {shared} --lidar -o DIR\n" in readme
    assert f"\npico-gz run {shared} --adapter gazebo\n" in readme
    words = "rovers=4, layout=grid, autopilot=external, port-offset=15000, lidar"
    for name in ("world.sdf", "ports.toml", "models/rover_1/model.config"):
        text = (tmp_path / "out" / name).read_text()
        assert f"from the default fleet with {words}." in text


def test_options_beside_a_fleet_file_reach_the_readme(out, tmp_path, monkeypatch):
    (tmp_path / "my fleet.toml").write_text("[fleet]\ncount = 3\n")
    options = ["--rovers", "255", "--allow-gcs-sysid", "--camera"]
    assert run_command(["world", str(tmp_path / "my fleet.toml"), *options, "-o", out]) == 0
    readme = (tmp_path / "out/README.md").read_text()
    run_line = "pico-gz run 'my fleet.toml' --rovers 255 --allow-gcs-sysid --adapter gazebo"
    assert f"\n{run_line}\n" in readme
    world = (tmp_path / "out/world.sdf").read_text()
    assert "from my fleet.toml with rovers=255, camera, allow-gcs-sysid." in world
    # What is written is what run understands.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pico_gz.cli.run.FleetRun", _no_session)
    with pytest.raises(_Opened):
        run_command(shlex.split(run_line)[1:])


class _Opened(BaseException):
    pass


def _no_session(fleet, options):
    assert len(fleet.vehicles) == 255
    assert {plan.config.adapter for plan in fleet.vehicles} == {"gazebo"}
    raise _Opened


def test_run_puts_rovers_where_the_world_has_them(monkeypatch):
    places = []

    def note(fleet, options):
        places.extend(plan.config.pose for plan in fleet.vehicles)
        raise _Opened

    monkeypatch.setattr("pico_gz.cli.run.FleetRun", note)
    with pytest.raises(_Opened):
        run_command(["run", "--rovers", "4", "--layout", "circle"])
    assert {pose.yaw_deg for pose in places} == {0.0, 90.0, 180.0, 270.0}


def test_one_rover_is_one(out, capsys):
    assert run_command(["world", "--rovers", "1", "-o", out]) == 0
    assert "with 1 rover." in capsys.readouterr().out


def test_rovers_inside_each_other_are_told(out, tmp_path, capsys):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("[fleet]\ncount = 2\n[layout]\nspacing_m = 0.05\n")
    assert run_command(["world", str(fleet), "-o", out]) == 0
    assert "Warning: " in (told := capsys.readouterr().err)
    assert "rover_1 and rover_2" in told
    assert run_command(["world", str(fleet), "-o", out, "--json"]) == 0
    assert "rover_1 and rover_2" in json.loads(capsys.readouterr().out)["warnings"][0]


def test_steps_are_checked_as_a_run_checks_them(out, tmp_path, capsys):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("[gazebo]\nphysics_step_us = 3000\n[time]\nstep_us = 10000\n")
    assert run_command(["world", str(fleet), "-o", out]) == 2
    assert "3000" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_edited_model_of_a_rover_that_left_is_kept_and_told(out, tmp_path, capsys):
    assert run_command(["world", "--rovers", "3", "-o", out]) == 0
    model = tmp_path / "out/models/rover_3/model.sdf"
    model.write_text(model.read_text().replace("rover_3", "mine"))
    capsys.readouterr()
    fewer = ["world", "--rovers", "2", "-o", out]
    assert run_command(fewer) == 0
    assert f"kept {model}" in capsys.readouterr().err
    assert (model.parent / "model.config").exists()
    assert run_command([*fewer, "--check"]) == 1
    assert "models/rover_3/model.sdf: left over, edited" in capsys.readouterr().out
    assert run_command([*fewer, "--json"]) == 0
    assert "models/rover_3/model.sdf" in json.loads(capsys.readouterr().out)["kept"]
    assert run_command([*fewer, "--force"]) == 0
    assert run_command([*fewer, "--check"]) == 0
    assert not model.exists()


def test_a_file_instead_of_a_folder(tmp_path, capsys):
    (tmp_path / "afile").write_text("")
    assert run_command(["world", "-o", str(tmp_path / "afile")]) == 2
    told = capsys.readouterr().err
    assert "afile is no folder" in told
    assert "-o takes a folder" in told


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
