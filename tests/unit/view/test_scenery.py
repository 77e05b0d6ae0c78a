import base64

import numpy as np
import pytest

from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.view.welcome import obstacles_of, terrain_of


def load(tmp_path, text):
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return load_fleet(path)


def heights(terrain):
    grid = np.frombuffer(base64.b64decode(terrain["heights"]), np.uint8)
    return grid.reshape(terrain["rows"], terrain["columns"])


def test_level_ground_is_nothing_to_draw():
    assert terrain_of(default_fleet()) is None


def test_a_ramp_rises_towards_its_direction(tmp_path):
    fleet = load(tmp_path, "[terrain]\nkind = 'ramp'\nslope_deg = 10\ndirection_deg = 90\n")
    terrain = terrain_of(fleet)
    grid = heights(terrain)
    assert (grid[:, 0] == 0).all()
    assert (grid[:, -1] == 255).all()
    width_m = terrain["cell_m"] * (terrain["columns"] - 1)
    assert terrain["high_m"] - terrain["low_m"] == pytest.approx(width_m * 0.17633, rel=0.01)


def test_a_heightmap_covers_its_own_area(tmp_path):
    (tmp_path / "h.csv").write_text("0,0,0\n0,2,0\n0,0,4\n")
    fleet = load(tmp_path, "[terrain]\nkind = 'heightmap'\nfile = 'h.csv'\ncell_m = 10\n")
    terrain = terrain_of(fleet)
    assert (terrain["south_m"], terrain["west_m"]) == (-10.0, -10.0)
    assert (terrain["low_m"], terrain["high_m"]) == (0.0, 4.0)
    assert heights(terrain)[-1, -1] == 255  # north-east corner
    assert heights(terrain)[0, 0] == 0


def test_obstacles_keep_the_names_of_the_fleet_file(tmp_path):
    fleet = load(tmp_path, "[[obstacle]]\nkind='disc'\nnorth_m=1\neast_m=2\nradius_m=0.5\n")
    (obstacle,) = obstacles_of(fleet)
    assert obstacle["kind"] == "disc"
    assert (obstacle["north_m"], obstacle["radius_m"]) == (1.0, 0.5)
