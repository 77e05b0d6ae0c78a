"""The ground of a world is the terrain of the Lightweight simulator."""

import math

import numpy as np
import pytest
from sdf_reading import parse, surface_height, turn
from shipped_models import prop_models

from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import WorldTemplateError
from pico_gz.gazebo.worlds import scenery
from pico_gz.gazebo.worlds.render import render_model
from pico_gz.gazebo.worlds.scenery import make_ground, obstacle_model
from pico_gz.run.world_from_fleet import place_on
from pico_gz.simulator.obstacles import Box, Disc, Wall, outline
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain

RAMPS = [
    RampTerrain(8.0, 0.0, 4.0, 12.0),
    RampTerrain(20.0, 130.0, -3.0, 5.0),
    RampTerrain(-12.0, 45.0, 2.0, 6.0),
    RampTerrain(10.0, 200.0),
    RampTerrain(-25.0, 90.0),
    FlatTerrain(),
]
PLACES = [(n, e) for n in (-15.3, -4.0, 0.1, 3.9, 7.7, 21.0) for e in (-9.1, 0.2, 6.6)]


@pytest.mark.parametrize("terrain", RAMPS)
def test_the_surface_is_that_of_the_terrain(terrain):
    model = parse(render_model(make_ground(terrain).model))
    for north_m, east_m in PLACES:
        expected = terrain.height_m(north_m, east_m)
        assert surface_height(model, east_m, north_m) == pytest.approx(expected, abs=2e-4)


def test_an_unknown_terrain_is_refused():
    with pytest.raises(WorldTemplateError, match="cannot be put"):
        make_ground(object())


class TestHeightmap:
    terrain = HeightmapTerrain([[0.0, 1.0, 0.5], [2.0, 0.0, -1.0]], cell_m=2.0)

    def mesh(self):
        vertices, faces = [], []
        for line in make_ground(self.terrain).files["terrain.obj"].splitlines():
            kind, *words = line.split()
            if kind == "v":
                vertices.append([float(word) for word in words])
            elif kind == "f":
                faces.append([int(word.split("//")[0]) - 1 for word in words])
        return np.array(vertices), np.array(faces)

    def test_every_height_is_a_vertex(self):
        vertices, _ = self.mesh()
        for x_m, y_m, z_m in vertices:
            assert self.terrain.height_m(y_m, x_m) == pytest.approx(z_m)
        inside = [v for v in vertices if abs(v[0]) <= 2.0 and abs(v[1]) <= 1.0]
        assert len(inside) == 6
        assert vertices[:, 0].min() < -100.0

    def test_faces_look_up_and_leave_no_hole(self):
        vertices, faces = self.mesh()
        a, b, c = (vertices[faces[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        assert (normals[:, 2] > 0.0).all()
        spans = np.ptp(vertices[:, :2], axis=0)
        assert 0.5 * normals[:, 2].sum() == pytest.approx(spans[0] * spans[1])

    def test_a_mesh_that_would_be_too_large_is_refused(self, monkeypatch):
        monkeypatch.setattr(scenery, "MAX_HEIGHTS", 5)
        with pytest.raises(WorldTemplateError, match="too fine"):
            make_ground(self.terrain)

    def test_the_model_names_the_file_beside_it(self):
        model = parse(render_model(make_ground(self.terrain).model))
        assert [uri.text for uri in model.iter("uri")] == ["terrain.obj", "terrain.obj"]


@pytest.mark.parametrize("terrain", RAMPS)
@pytest.mark.parametrize("yaw_deg", [0.0, 37.0, 90.0, 215.0])
def test_rovers_stand_flat_on_the_ground(terrain, yaw_deg):
    for north_m, east_m in PLACES:
        at = place_on(terrain, Pose(north_m=north_m, east_m=east_m, yaw_deg=yaw_deg))
        assert (at.x_m, at.y_m) == (east_m, north_m)
        assert at.z_m == pytest.approx(terrain.height_m(north_m, east_m))
        ahead, _, up = turn(at.roll_rad, at.pitch_rad, at.yaw_rad).T
        rise_n, rise_e = terrain.slope(north_m, east_m)
        normal = np.array([-rise_e, -rise_n, 1.0])
        assert up == pytest.approx(normal / np.linalg.norm(normal), abs=1e-9)
        heading = math.degrees(math.atan2(ahead[0], ahead[1])) % 360.0
        assert heading == pytest.approx(yaw_deg)


OBSTACLES = [
    Disc(north_m=6.0, east_m=1.0, radius_m=0.4, height_m=0.7),
    Box(north_m=6.0, east_m=-2.0, size_n_m=2.0, size_e_m=1.0, yaw_deg=30.0),
    Wall(north_m=5.0, east_m=3.0, north2_m=8.0, east2_m=6.0, thickness_m=0.2),
]


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("terrain", [FlatTerrain(), RampTerrain(8.0, 0.0, 4.0, 12.0)])
def test_obstacles_stand_where_lightweight_has_them(obstacle, terrain):
    model = parse(render_model(obstacle_model(obstacle, 1, terrain)))
    pose = [float(word) for word in model.findtext("pose").split()]
    rotation = turn(*pose[3:])[:2, :2]
    shape = model.find("link/collision/geometry")[0]
    plan = outline(obstacle)
    for north_m, east_m in ((n / 4 + 4.0, e / 4 - 4.0) for n in range(20) for e in range(44)):
        local = rotation.T @ (np.array([east_m, north_m]) - pose[:2])
        if shape.tag == "cylinder":
            inside = np.hypot(*local) < float(shape.findtext("radius"))
            height = float(shape.findtext("length"))
        else:
            x_m, y_m, height = (float(word) for word in shape.findtext("size").split())
            inside = abs(local[0]) < x_m / 2 and abs(local[1]) < y_m / 2
        clearance_m = plan.clearance_m(north_m, east_m)
        assert inside == (clearance_m < 0.0) or abs(clearance_m) < 1e-5
    ground = terrain.height_m(plan.north_m, plan.east_m)
    assert pose[2] + height / 2 == pytest.approx(ground + obstacle.height_m, abs=1e-5)
    assert pose[2] - height / 2 <= ground + 1e-6


def test_props_stand_on_the_ground():
    for prop in prop_models():
        model = parse(render_model(prop))
        link = model.find("link")
        lift = link.find("pose")
        z_m = float(lift.text.split()[2]) if lift is not None else 0.0
        bottoms = []
        for collision in link.findall("collision"):
            pose = collision.findtext("pose", "0 0 0 0 0 0").split()
            shape = collision.find("geometry")[0]
            height = float((shape.findtext("size") or shape.findtext("length")).split()[-1])
            bottoms.append(z_m + float(pose[2]) - 0.5 * height)
        assert min(bottoms) == pytest.approx(0.0, abs=0.06)
    assert [prop.name for prop in prop_models()] == ["cone", "box", "wall", "ramp"]


def test_the_ramp_prop_can_be_climbed():
    model = parse(render_model(prop_models()[-1]))
    heights = [surface_height(model, x_m, 0.1) for x_m in (0.01, 0.74, 1.47, 1.6, 2.4)]
    assert heights[0] < 0.01
    assert heights[1] == pytest.approx(0.74 * math.tan(math.radians(10.0)), abs=1e-3)
    assert heights[3] == heights[4] == pytest.approx(1.5 * math.sin(math.radians(10.0)), abs=1e-3)
