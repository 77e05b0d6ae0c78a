"""Ground and obstacles of a world as SDF, and the ground's mesh."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pico_gz.errors import WorldTemplateError
from pico_gz.gazebo.worlds.parts import (
    AT_ORIGIN,
    BRICK,
    CONCRETE,
    GRASS,
    ORANGE,
    STEEL,
    WHITE,
    WOOD,
    BoxShape,
    Collision,
    Colour,
    CylinderShape,
    Friction,
    MeshShape,
    Placement,
    PlaneShape,
    SdfLink,
    Shape,
    Visual,
)
from pico_gz.gazebo.worlds.render import GROUND_NAME, StaticModel
from pico_gz.simulator.obstacles import Disc, Obstacle, Outline, Wall, outline
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain, Terrain

MESH_NAME = "terrain.obj"
MAX_HEIGHTS = 250_000
# Beyond its edges a heightmap continues level; so does the mesh, at least for this far.
_BEYOND_M = 200.0


def terrain_mesh(terrain: HeightmapTerrain, half_m: float = 0.0) -> str:
    """The mesh: x east, y north, z up, two triangles per cell, normals upward.

    Args:
        terrain: the heights.
        half_m: how far from the origin it reaches at least, on all sides.

    Raises:
        WorldTemplateError: there are too many heights for a mesh that loads in a second.
    """
    if terrain.heights_m.size > MAX_HEIGHTS:
        raise WorldTemplateError(
            f"A heightmap of {terrain.heights_m.size} heights is too fine for Gazebo.",
            hint=f"At most {MAX_HEIGHTS}: take every second height and double cell_m.",
        )
    heights = np.pad(terrain.heights_m, 1, mode="edge")
    rows, columns = heights.shape
    norths = _axis(terrain.north_m, terrain.cell_m, rows, half_m)
    easts = _axis(terrain.east_m, terrain.cell_m, columns, half_m)
    lines = [
        f"v {east:.6g} {north:.6g} {height:.6g}"
        for north, row in zip(norths.tolist(), heights.tolist(), strict=True)
        for east, height in zip(easts.tolist(), row, strict=True)
    ]
    lines += [f"vn {x:.4g} {y:.4g} {z:.4g}" for x, y, z in _normals(heights, norths, easts)]
    lines += [f"f {a}//{a} {b}//{b} {c}//{c}" for a, b, c in _triangles(rows, columns).tolist()]
    return "\n".join(["o terrain", *lines]) + "\n"


def _axis(start_m: float, cell_m: float, count: int, half_m: float) -> NDArray[np.float64]:
    """Coordinates of the rows or columns, with the far edge on either side."""
    inner = start_m + cell_m * np.arange(count - 2)
    first_m = min(inner[0] - _BEYOND_M, -half_m)
    last_m = max(inner[-1] + _BEYOND_M, half_m)
    return np.concatenate(([first_m], inner, [last_m]))


def _normals(
    heights: NDArray[np.float64], norths: NDArray[np.float64], easts: NDArray[np.float64]
) -> list[tuple[float, float, float]]:
    to_north, to_east = np.gradient(heights, norths, easts)
    normals = np.stack((-to_east, -to_north, np.ones_like(heights)), axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    # Adding zero turns -0 into 0, so that the text is the same everywhere.
    return [tuple(row) for row in (normals.reshape(-1, 3) + 0.0).tolist()]


def _triangles(rows: int, columns: int) -> NDArray[np.int64]:
    """Vertex numbers, from 1, counter-clockwise seen from above."""
    south_west = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel() + 1
    south_east, north_west = south_west + 1, south_west + columns
    north_east = north_west + 1
    lower = np.stack((south_west, south_east, north_east), axis=1)
    upper = np.stack((south_west, north_east, north_west), axis=1)
    return np.concatenate((lower, upper), axis=1).reshape(-1, 3)


# How much of it one sees at least; planes are endless to drive on.
_SEEN_M = 400.0
# Boxes are not endless, only far larger than any drive.
_FAR_M = 1000.0
# There is at least this much ground round everything that stands on it.
_MARGIN_M = 100.0
_ROUND_M = 100.0
_THICK_M = 2.0
# The tyres decide: contacts take the smaller coefficient.
_FRICTION = Friction(along=1.0, across=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The ground as a model, and the mesh it needs."""

    model: StaticModel
    files: Mapping[str, str] = field(default_factory=dict)


def make_ground(terrain: Terrain, reach_m: float = 0.0) -> Ground:
    """The ground for a terrain.

    Args:
        terrain: its shape.
        reach_m: how far from the origin something stands on it.

    Raises:
        WorldTemplateError: this kind of terrain cannot be put into a Gazebo world.
    """
    wide_m = _ROUND_M * math.ceil(2.0 * (reach_m + _MARGIN_M) / _ROUND_M)
    seen_m = max(_SEEN_M, wide_m)
    if isinstance(terrain, FlatTerrain):
        return _ground(_piece("plane", PlaneShape((0.0, 0.0, 1.0), seen_m), GRASS))
    if isinstance(terrain, RampTerrain):
        if terrain.length_m == 0.0:
            return _endless_ramp(terrain, seen_m)
        return _ramp(terrain, seen_m, max(_FAR_M, wide_m))
    if isinstance(terrain, HeightmapTerrain):
        text = terrain_mesh(terrain, 0.5 * wide_m)
        return _ground(_piece("terrain", MeshShape(MESH_NAME), GRASS), files={MESH_NAME: text})
    raise WorldTemplateError(
        f"{type(terrain).__name__} cannot be put into a Gazebo world.",
        hint="flat, ramp and heightmap can.",
    )


def _endless_ramp(ramp: RampTerrain, seen_m: float) -> Ground:
    rise, direction_rad = _rise_and_direction(ramp)
    normal = (-rise * math.sin(direction_rad), -rise * math.cos(direction_rad), 1.0)
    return _ground(_piece("plane", PlaneShape(normal, seen_m), CONCRETE))


def _ramp(ramp: RampTerrain, seen_m: float, far_m: float) -> Ground:
    """Level ground, an inclined slab, and level ground behind it.

    The lower level is an endless plane; the slab and the upper level are boxes that stand in
    it, so nothing is hollow.
    """
    rise, _ = _rise_and_direction(ramp)
    end_m, climb_m = ramp.start_m + ramp.length_m, rise * ramp.length_m
    low_m = min(0.0, climb_m)
    plane = PlaneShape((0.0, 0.0, 1.0), seen_m)
    if climb_m >= 0.0:
        upper_m, upper_z_m = end_m + 0.5 * far_m, climb_m
    else:
        upper_m, upper_z_m = ramp.start_m - 0.5 * far_m, 0.0
    # The slab's upper face runs exactly from edge to edge; half its thickness lies below.
    slope_rad = math.radians(ramp.slope_deg)
    middle_m = ramp.start_m + 0.5 * ramp.length_m
    slab = BoxShape(ramp.length_m / math.cos(slope_rad), far_m, _THICK_M)
    slab_at = _turned(
        ramp,
        middle_m + 0.5 * _THICK_M * math.sin(slope_rad),
        0.5 * climb_m - 0.5 * _THICK_M * math.cos(slope_rad),
        slope_rad,
    )
    upper_thick_m = abs(climb_m) + _THICK_M
    upper = BoxShape(far_m, far_m, upper_thick_m)
    upper_at = _turned(ramp, upper_m, upper_z_m - 0.5 * upper_thick_m, 0.0)
    return _ground(
        _piece("low_ground", plane, GRASS, Placement(z_m=low_m)),
        _piece("ramp", slab, CONCRETE, slab_at),
        _piece("high_ground", upper, GRASS, upper_at),
    )


def _turned(ramp: RampTerrain, along_m: float, z_m: float, slope_rad: float) -> Placement:
    """A box whose x axis looks up the ramp, ``along_m`` from the origin."""
    _, direction_rad = _rise_and_direction(ramp)
    return Placement(
        x_m=along_m * math.sin(direction_rad),
        y_m=along_m * math.cos(direction_rad),
        z_m=z_m,
        pitch_rad=-slope_rad,
        yaw_rad=0.5 * math.pi - direction_rad,
    )


def _rise_and_direction(ramp: RampTerrain) -> tuple[float, float]:
    return math.tan(math.radians(ramp.slope_deg)), math.radians(ramp.direction_deg)


def _piece(
    name: str, shape: Shape, colour: Colour, at: Placement = AT_ORIGIN
) -> tuple[Visual, Collision]:
    visual = Visual(name=name, shape=shape, colour=colour, at=at)
    return visual, Collision(name=name, shape=shape, at=at, friction=_FRICTION)


def _ground(*pieces: tuple[Visual, Collision], files: Mapping[str, str] | None = None) -> Ground:
    link = SdfLink(
        name="link",
        visuals=tuple(visual for visual, _ in pieces),
        collisions=tuple(collision for _, collision in pieces),
    )
    return Ground(model=StaticModel(name=GROUND_NAME, link=link), files=files or {})


# A trim stands out by this much, or the two surfaces would flicker.
PROUD = 1.02


def obstacle_name(number: int) -> str:
    """What an obstacle is called in a world, by its place in the fleet file from 1."""
    return f"obstacle_{number}"


def obstacle_model(obstacle: Obstacle, number: int, terrain: Terrain) -> StaticModel:
    """An obstacle, standing on the ground and reaching into it where that slopes."""
    plan = outline(obstacle)
    ground_m = _height(terrain, plan.north_m, plan.east_m)
    bottom_m = min(_height(terrain, *corner) for corner in _corners(plan))
    height_m = ground_m + obstacle.height_m - bottom_m
    at = Placement(
        x_m=plan.east_m,
        y_m=plan.north_m,
        z_m=bottom_m + 0.5 * height_m,
        # The outline's first side looks along (cos, sin) in north and east.
        yaw_rad=math.atan2(plan.cos, plan.sin),
    )
    link = _obstacle_link(obstacle, plan, height_m)
    return StaticModel(name=obstacle_name(number), link=link, at=at)


def _obstacle_link(obstacle: Obstacle, plan: Outline, height_m: float) -> SdfLink:
    if isinstance(obstacle, Disc):
        post = CylinderShape(obstacle.radius_m, height_m)
        ring = CylinderShape(PROUD * obstacle.radius_m, 0.2 * height_m)
        return solid(post, ORANGE, trim(ring, WHITE, 0.2 * height_m))
    body = BoxShape(2.0 * plan.half_a_m, 2.0 * plan.half_b_m, height_m)
    if isinstance(obstacle, Wall):
        coping = BoxShape(body.x_m, 1.2 * body.y_m, 0.06 * height_m)
        return solid(body, BRICK, trim(coping, CONCRETE, 0.49 * height_m))
    strap = BoxShape(PROUD * body.x_m, PROUD * body.y_m, 0.08 * height_m)
    return solid(body, WOOD, trim(strap, STEEL, 0.25 * height_m))


def solid(shape: Shape, colour: Colour, *trims: Visual) -> SdfLink:
    """A link of one shape, with visuals on it."""
    return SdfLink(
        name="link",
        visuals=(Visual(name="body", shape=shape, colour=colour), *trims),
        collisions=(Collision(name="body", shape=shape),),
    )


def trim(shape: Shape, colour: Colour, z_m: float) -> Visual:
    """A visual at a height of the link."""
    return Visual(name="trim", shape=shape, colour=colour, at=Placement(z_m=z_m))


def _height(terrain: Terrain, north_m: float, east_m: float) -> float:
    return float(terrain.height_m(north_m, east_m))


def _corners(plan: Outline) -> list[tuple[float, float]]:
    """The corners of an outline and its middle, north and east."""
    a_m, b_m = plan.half_a_m + plan.round_m, plan.half_b_m + plan.round_m
    return [
        (
            plan.north_m + i * a_m * plan.cos - j * b_m * plan.sin,
            plan.east_m + i * a_m * plan.sin + j * b_m * plan.cos,
        )
        for i, j in ((0, 0), (1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
