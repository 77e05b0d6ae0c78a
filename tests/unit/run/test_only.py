"""A part of a fleet."""

import pytest

from pico_gz.errors import ConfigError
from pico_gz.run.config import load_fleet


@pytest.fixture
def load(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text("[fleet]\ncount = 4\n")
    return lambda text: load_fleet(path, environ={"PICO_GZ_ONLY": text})


def test_the_vehicles_of_a_part_keep_id_place_and_ports(load):
    whole, part = load(""), load("2,4")
    assert [plan.id for plan in part.vehicles] == [2, 4]
    assert list(part.vehicles) == [whole.vehicle(2), whole.vehicle(4)]


@pytest.mark.parametrize("text", ["5", "1,x", ","])
def test_what_is_no_list_of_ids(load, text):
    with pytest.raises(ConfigError):
        load(text)


def test_gazebo_in_another_container_is_never_started(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text("")
    assert load_fleet(path, environ={"PICO_GZ_GAZEBO_ATTACH": "1"}).gazebo.attach
    assert not load_fleet(path, environ={}).gazebo.attach
