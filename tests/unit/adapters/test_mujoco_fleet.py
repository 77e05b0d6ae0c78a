"""Fleet files on MuJoCo: runs, worlds, comparisons, and without the extra."""

import dataclasses
import json
import math
import sys

import pytest

from pico_gz.adapters.mujoco.adapter import MujocoAdapter
from pico_gz.adapters.mujoco.physics import load_mujoco
from pico_gz.cli.app import main
from pico_gz.errors import MissingExtraError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.problems import FleetFileError
from pico_gz.run.options import RunOptions
from pico_gz.testing.sitl import Sitl

YARD = """
[fleet]
name = "yard"
adapter = "mujoco"
count = 3
[time]
speed = "max"
[terrain]
kind = "ramp"
slope_deg = 4.0
start_m = 3.0
length_m = 2.0
[[obstacle]]
kind = "disc"
north_m = 9.0
east_m = 9.0
radius_m = 0.4
[[vehicle]]
preset = "pico_trail_freenove"
[[vehicle]]
preset = "pico_trail_ackermann"
[[vehicle]]
preset = "ardupilot_skid"
"""
DEMO = RunOptions(mavlink=False, control=False, check_ports=False, demo=True)


@pytest.fixture
def fleet_file(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(YARD)
    return path


def run(*words):
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match="needs the extra 'mujoco'"):
        load_mujoco()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install" in MujocoAdapter.unavailable_reason()


def test_a_step_that_does_not_fit_is_refused_by_name(fleet_file):
    fleet_file.write_text(YARD.replace('speed = "max"', "step_us = 5000"))
    with pytest.raises(FleetFileError) as caught:
        load_fleet(fleet_file)
    assert "must be a whole multiple of MuJoCo's own step (2000)" in str(caught.value)
    fleet_file.write_text(
        YARD.replace('speed = "max"', "step_us = 5000")
        + "[adapters.mujoco]\nphysics_step_us = 1000\n"
    )
    assert load_fleet(fleet_file).adapter_options("mujoco") == {"physics_step_us": 1000}


@pytest.mark.mujoco
def test_the_world_is_one_file_that_mujoco_opens(fleet_file, tmp_path, capsys):
    mujoco = pytest.importorskip("mujoco", reason="needs the extra mujoco")
    command = ["world", str(fleet_file), "-o", str(tmp_path / "out"), "--for", "mujoco"]
    assert run(*command, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rovers"] == 3
    assert run(*command, "--check") == 0
    model = mujoco.MjModel.from_xml_path(told["world"])
    names = {model.body(number).name for number in range(model.nbody)}
    assert {"rover_1", "rover_2/front_left_hub", "rover_3/rear_right_wheel"} <= names
    geoms = {model.geom(number).name for number in range(model.ngeom)}
    assert {"ground", "ground_ramp", "disc_1", "rover_2/base_link/number_1a"} <= geoms
    assert sum(model.body_mass) == pytest.approx(1.2 + 1.2 + 2.7, rel=1e-6)
    assert run(*command, "--lidar") == 2


def square(fleet, adapter):
    """The tracks of the demo's square, every tenth of a second."""
    plans = {plan.id: adapter for plan in fleet.vehicles}
    with Sitl(fleet.with_adapters(plans), DEMO) as sitl:
        sitl.run(60.0)
        assert all(rover.status.done for rover in sitl)
        truths = sitl.history.truth[1]
    return [(t.north_m, t.east_m) for t in truths][::5]


@pytest.mark.mujoco
def test_squares_are_those_of_lightweight(tmp_path):
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    path = tmp_path / "one.toml"
    path.write_text('[fleet]\ncount = 1\n[time]\nspeed = "max"\n')
    fleet = load_fleet(path)
    here, there = (square(fleet, name) for name in ("mujoco", "lightweight"))
    assert max(min(math.dist(one, other) for other in there) for one in here) <= 0.3


@pytest.mark.mujoco
def test_a_run_has_the_same_digest_again(fleet_file):
    pytest.importorskip("mujoco", reason="needs the extra mujoco")
    fleet = load_fleet(fleet_file)
    digests = set()
    for _ in range(2):
        with Sitl(fleet, dataclasses.replace(DEMO)) as sitl:
            sitl.run(5.0)
            digests.add(sitl.session.result().trace_sha256)
    assert len(digests) == 1
