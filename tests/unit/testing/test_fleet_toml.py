"""Fleet files from keywords."""

import tomllib

import pytest

from pico_gz.run.config import load_fleet
from pico_gz.testing.harness import fleet_toml


def test_keywords_become_tables(tmp_path):
    text = fleet_toml(
        rovers=2,
        seed=5,
        rover={"noise": "off", "preset": "ideal"},
        obstacle=[{"kind": "disc", "north_m": 3.0, "radius_m": 0.5}],
        adapters={"other": {"type": "lightweight"}},
    )
    assert tomllib.loads(text) == {
        "fleet": {"count": 2, "seed": 5},
        "rover": {"noise": "off", "preset": "ideal"},
        "obstacle": [{"kind": "disc", "north_m": 3.0, "radius_m": 0.5}],
        "adapters": {"other": {"type": "lightweight"}},
    }
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    fleet = load_fleet(path)
    assert (len(fleet.vehicles), fleet.seed, len(fleet.obstacles)) == (2, 5, 1)


def test_a_word_for_a_table_is_refused():
    with pytest.raises(TypeError, match="rover is a table"):
        fleet_toml(rover="ideal")
