"""Fleets cut into parts, and fleets that cannot run in containers."""

import pytest

from pico_gz.cli.tools.containers.compose_file import cut_fleet, problems
from pico_gz.errors import ConfigError
from pico_gz.run.config import load_fleet


@pytest.fixture
def fleet(tmp_path):
    def make(text=""):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        return load_fleet(path, environ={})

    return make


def sizes(parts):
    return [len(part.vehicles) for part in parts]


def test_a_small_fleet_is_one_part(fleet):
    (part,) = cut_fleet(fleet())
    assert part.vehicles == part.on_gazebo == (1, 2, 3)
    assert part.external == ()


def test_parts_are_of_equal_size_and_cover_everybody(fleet):
    parts = cut_fleet(fleet("[fleet]\ncount = 45\n"))
    assert sizes(parts) == [15, 15, 15]
    assert [i for part in parts for i in part.vehicles] == list(range(1, 46))
    assert sizes(cut_fleet(fleet("[fleet]\ncount = 5\n"), per_bridge=3)) == [3, 2]


def test_lightweight_needs_one_bridge_only(fleet):
    (part,) = cut_fleet(fleet('[fleet]\ncount = 200\nadapter = "lightweight"\n'))
    assert part.on_gazebo == ()


def test_mixed_adapters_and_autopilots(fleet):
    text = (
        '[[vehicle]]\nadapter = "gazebo"\n'
        '[[vehicle]]\nadapter = "lightweight"\nautopilot = "external"\n'
    )
    (part,) = cut_fleet(fleet(text))
    assert (part.vehicles, part.on_gazebo, part.external) == ((1, 2), (1,), (2,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[gazebo]\nserver_addr = "192.168.0.9"\n', "Gazebo is in a container"),
        ("[gazebo]\nardupilot_compat = false\n", "the other wire"),
        ('[gazebo]\nworld = "../other/world.sdf"\n', "containers see that folder only"),
        ('[mavlink]\nlinks = ["udpout:127.0.0.1:14600"]\n', r"write host\.docker\.internal"),
        ('[mavlink]\nlinks = ["tcpin:localhost:5790"]\n', r"write 0\.0\.0\.0"),
    ],
)
def test_what_cannot_work_is_refused(fleet, tmp_path, text, words):
    elsewhere = tmp_path.parent / "other"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "world.sdf").write_text("<sdf/>")
    with pytest.raises(ConfigError, match=words):
        cut_fleet(fleet(text))


def test_files_beside_the_fleet_file_are_fine(fleet, tmp_path):
    (tmp_path / "rover.parm").write_text("")
    assert not list(problems(fleet('[[vehicle]]\nparams = "rover.parm"\n')))


def test_what_the_folder_does_not_hold_is_refused(fleet, tmp_path_factory, tmp_path):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "heights.csv"
    elsewhere.write_text("0,0\n0,0\n")
    (tmp_path / "heights.csv").symlink_to(elsewhere)
    for file in (elsewhere, "heights.csv"):
        text = f'[terrain]\nkind = "heightmap"\nfile = "{file}"\n'
        with pytest.raises(ConfigError, match=r"The heightmap .* is outside"):
            cut_fleet(fleet(text))


@pytest.mark.parametrize("per_bridge", [0, -1])
def test_a_bridge_without_rovers_is_refused(fleet, per_bridge):
    with pytest.raises(ConfigError, match="at least one"):
        cut_fleet(fleet(), per_bridge)


def test_one_given_world_cannot_be_several(fleet, tmp_path):
    (tmp_path / "w.sdf").write_text("<sdf><world name='w'/></sdf>")
    with pytest.raises(ConfigError, match="need several"):
        cut_fleet(fleet('[fleet]\ncount = 30\n[gazebo]\nworld = "w.sdf"\n'))
