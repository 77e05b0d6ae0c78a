"""Worlds in which nobody could drive are refused before Gazebo is started."""

import dataclasses

import pytest

from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.gazebo_setup import generate_world, make_gazebo, require_drivable

PORTS = {"rover_1": 9002, "rover_2": 9012}
IMU_SYSTEM = 'filename="gz-sim-imu-system"'


@pytest.fixture
def fleet():
    return default_fleet(overrides=FleetOverrides(rovers=2, adapter="gazebo"), environ={})


@pytest.fixture
def world(fleet, tmp_path):
    return generate_world(fleet, [1, 2], tmp_path).path


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_world_with_everything_passes(world):
    require_drivable(world, PORTS)


def test_no_imu_system(world):
    change(world, IMU_SYSTEM, 'filename="gz-sim-altimeter-system"')
    change(world, "gz::sim::systems::Imu", "gz::sim::systems::Altimeter")
    with pytest.raises(ConfigError, match="system Imu") as caught:
        require_drivable(world, PORTS)
    assert "gz-sim-imu-system" in caught.value.hint


def test_other_ports_are_told_with_those_that_are_there(world):
    with pytest.raises(ConfigError) as caught:
        require_drivable(world, {"rover_1": 9002, "rover_2": 24012})
    assert "24012 (rover_2)" in caught.value.message
    assert "listen on 9002, 9012" in caught.value.message
    assert "9002 (rover_1)" not in caught.value.message
    assert "fdm_base" in caught.value.hint


def test_no_plugin_at_all(fleet, tmp_path):
    path = generate_world(fleet, [1], tmp_path, shown_only=True).path
    with pytest.raises(ConfigError, match="they listen nowhere"):
        require_drivable(path, {"rover_1": 9002})


def test_a_model_that_is_not_here_may_hold_the_plugin(world):
    change(world, "</world>", "<include><uri>model://not_here</uri></include></world>")
    require_drivable(world, {"rover_1": 24002})


def test_an_included_model_counts(world, tmp_path):
    model = tmp_path / "models" / "late" / "model.sdf"
    model.parent.mkdir(parents=True)
    model.write_text(
        "<sdf version='1.9'><model name='late'><plugin name='ArduPilotPlugin'"
        " filename='ArduPilotPlugin'><fdm_port_in>24002</fdm_port_in></plugin></model></sdf>"
    )
    change(world, "</world>", "<include><uri>model://late</uri></include></world>")
    require_drivable(world, {"rover_1": 24002})


def test_what_is_no_xml_is_left_to_gazebo(tmp_path):
    path = tmp_path / "world.sdf"
    path.write_text("<sdf version='1.9'><world name='broken'><model></world></sdf>")
    require_drivable(path, PORTS)


def test_a_run_asks_before_it_starts_gazebo(fleet, world, monkeypatch):
    """Its own rules decide where a plugin must be."""
    moved = fleet.with_port_offset(15_000)
    moved = dataclasses.replace(moved, gazebo=dataclasses.replace(moved.gazebo, world=str(world)))
    monkeypatch.setattr("pico_gz.run.gazebo_setup._held_plugin_ports", lambda *_: [])
    monkeypatch.setattr("pico_gz.run.gazebo_setup.GazeboStarter", lambda *_: None)
    with pytest.raises(ConfigError, match=r"24002 \(rover_1\), 24012 \(rover_2\)"):
        make_gazebo("gazebo", moved, {})
