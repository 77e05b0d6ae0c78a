"""The world file that Gazebo gets."""

import dataclasses

import pytest

from pico_gz.errors import ConfigError
from pico_gz.gazebo.worlds.render import stamped
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.gazebo_setup import (
    generate_world,
    given_world,
    is_own_world,
    new_run_folder,
    read_world,
    remove_run_folder,
)


def fleet(**gazebo):
    fleet = default_fleet(overrides=FleetOverrides(rovers=3, adapter="gazebo"), environ={})
    return dataclasses.replace(fleet, gazebo=dataclasses.replace(fleet.gazebo, **gazebo))


def test_a_generated_world_holds_the_asked_vehicles(tmp_path):
    world = generate_world(fleet(), [1, 3], tmp_path)
    text = world.path.read_text()
    assert world.name == "three_rovers"
    assert not world.rendering
    assert 'name="rover_1"' in text
    assert 'name="rover_2"' not in text
    assert text.count("ArduPilotPlugin") >= 2


def test_a_world_that_is_only_shown_has_no_plugin(tmp_path):
    world = generate_world(fleet(), [1], tmp_path, shown_only=True)
    assert "ArduPilotPlugin" not in world.path.read_text()


def test_a_given_world_is_looked_at(tmp_path):
    path = tmp_path / "yard.sdf"
    path.write_text("<sdf><world\n name='yard'><plugin filename='gz-sim-sensors-system'/></world>")
    world = read_world(path)
    assert (world.name, world.rendering, world.path) == ("yard", True, path)


def test_no_world_is_refused(tmp_path):
    path = tmp_path / "model.sdf"
    path.write_text("<sdf><model name='x'/></sdf>")
    with pytest.raises(ConfigError, match="holds no <world>"):
        read_world(path)
    with pytest.raises(ConfigError, match=r"cannot be read.*No such file"):
        read_world(tmp_path / "nothing.sdf")


def test_the_world_of_the_fleet_file_is_beside_it(tmp_path):
    source = dataclasses.replace(fleet(world="w/yard.sdf"), source=tmp_path / "fleet.toml")
    assert given_world(source) == tmp_path / "w" / "yard.sdf"
    assert given_world(fleet()) is None


def test_whose_world_it_is_decides_the_plugins_ports(tmp_path):
    path = tmp_path / "world.sdf"
    path.write_text("<sdf><world name='theirs'/></sdf>")
    assert not is_own_world(fleet(world=str(path)))
    path.write_text(stamped("world.sdf", "<sdf><world name='ours'/></sdf>\n", "a fleet"))
    assert is_own_world(fleet(world=str(path)))
    assert is_own_world(fleet())


def test_a_run_folder_comes_and_goes():
    folder = new_run_folder()
    (folder / "file").touch()
    remove_run_folder(folder)
    remove_run_folder(folder)
    assert not folder.exists()
