"""The MJCF model of a world with its rovers.

World frame NWU: x north, y west, z up, so that both world and body turn into NED and FRD by
the same change of two signs. The text is self-contained: MuJoCo's own viewer opens it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from pico_gz.adapters.mujoco.rover_mjcf import (
    GROUND_BITS,
    PlacedRover,
    numbers,
    rover_actuators,
    rover_body,
    rover_sensors,
)
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.errors import WorldTemplateError
from pico_gz.simulator.kinematics import surface_attitude
from pico_gz.simulator.obstacles import Disc, Obstacle, Outline, Wall, outline
from pico_gz.simulator.overlaps import obstacle_names
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain, Terrain
from pico_gz.simulator.world import World

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_STEP_US = 2_000
MAX_HEIGHTS = 250_000
# A heightmap continues level beyond its edges, for this far if the cells allow it [m].
_BEYOND_M = 50.0
_SEEN_M = 200.0
_FAR_M = 1000.0
_THICK_M = 2.0
_GRASS, _CONCRETE = "0.36 0.46 0.30 1", "0.62 0.62 0.60 1"
_COLOURS = {"disc": "0.95 0.42 0.05 1", "wall": "0.58 0.27 0.20 1", "box": "0.72 0.53 0.32 1"}
GROUND = "ground"


def make_mjcf(
    world: World,
    rovers: Sequence[PlacedRover],
    *,
    name: str = "fleet",
    step_us: int = DEFAULT_STEP_US,
    note: str = "",
) -> str:
    """The model of a world.

    Args:
        world: ground and obstacles; without ``contacts``, nothing but the ground is touched.
        rovers: in the order of their ids.
        name: of the model.
        step_us: MuJoCo's own step [us].
        note: a comment at the top.

    Raises:
        WorldTemplateError: the ground is of an unknown kind or has too many heights.
    """
    assets, ground = _ground(world.terrain)
    bits = GROUND_BITS if world.contacts else 'contype="0" conaffinity="0"'
    obstacles = "".join(
        _obstacle(one, label, world.terrain, bits)
        for label, one in zip(obstacle_names(world.obstacles), world.obstacles, strict=True)
    )
    apart = "" if world.contacts else _apart(rovers)
    bodies = "".join(rover_body(rover, start_place(world.terrain, rover)) for rover in rovers)
    comment = f"<!-- {note.replace('--', '- -')} -->\n" if note else ""
    return f"""{comment}<mujoco model="{escape(name)}">
<compiler angle="radian" inertiafromgeom="false"/>
<option timestep="{numbers(step_us / US_PER_S)}" gravity="0 0 {-GRAVITY_MPS2}"
 integrator="implicitfast" cone="elliptic" impratio="100"/>
<default><geom solref="0.01 1"/></default>
<visual><headlight ambient="0.35 0.35 0.35"/><quality shadowsize="4096"/>
<map znear="0.005" zfar="50"/></visual>
<statistic center="0 0 0" extent="10"/>
<asset>
<texture name="sky" type="skybox" builtin="gradient" rgb1="0.62 0.76 0.90" rgb2="0.95 0.96 0.97"
 width="64" height="384"/>
<texture name="grid" type="2d" builtin="checker" rgb1="{_GRASS[:-2]}" rgb2="0.40 0.50 0.34"
 width="256" height="256"/>
<material name="grid" texture="grid" texrepeat="1 1" texuniform="true"/>
{assets}</asset>
<worldbody>
<light name="sun" directional="true" pos="0 0 8" dir="-0.2 0.15 -1" diffuse="0.7 0.7 0.7"/>
{ground}{obstacles}{bodies}</worldbody>
{apart}<actuator>
{"".join(map(rover_actuators, rovers))}</actuator>
<sensor>
{"".join(map(rover_sensors, rovers))}</sensor>
</mujoco>
"""


def start_place(terrain: Terrain, rover: PlacedRover) -> str:
    """Position and attitude of a rover that stands on the ground, as attributes."""
    position, quat = standing(
        terrain, rover.pose.north_m, rover.pose.east_m, math.radians(rover.pose.yaw_deg)
    )
    return f'pos="{numbers(*position)}" quat="{numbers(*quat)}"'


def standing(
    terrain: Terrain, north_m: float, east_m: float, yaw_rad: float
) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Position (NWU) and attitude (NWU from FLU) on the ground, tilted as it is there."""
    rise = terrain.slope(north_m, east_m)
    a = surface_attitude(math.cos(yaw_rad), math.sin(yaw_rad), *rise)
    w = 0.5 * math.sqrt(max(0.0, 1.0 + a.r00 + a.r11 + a.r22))
    if w > 1e-3:
        x, y, z = (a.r21 - a.r12) / (4 * w), (a.r02 - a.r20) / (4 * w), (a.r10 - a.r01) / (4 * w)
    else:  # turned round by half a turn
        w, x, y, z = 0.0, 0.0, 0.0, 1.0
    return (north_m, -east_m, float(terrain.height_m(north_m, east_m))), (w, x, -y, -z)


def _apart(rovers: Sequence[PlacedRover]) -> str:
    """Let no rover touch another."""
    labels = [rover.label for rover in rovers]
    lines = [
        f'<exclude body1="{one}" body2="{other}"/>\n'
        for index, one in enumerate(labels)
        for other in labels[index + 1 :]
    ]
    return f"<contact>\n{''.join(lines)}</contact>\n" if lines else ""


# --- ground -------------------------------------------------------------------------------


def _ground(terrain: Terrain) -> tuple[str, str]:
    """Assets and geoms of the ground."""
    if isinstance(terrain, FlatTerrain):
        return "", _plane(GROUND, 'pos="0 0 0"')
    if isinstance(terrain, RampTerrain):
        if terrain.length_m == 0.0:
            normal = numbers(-terrain.rise * terrain.north, terrain.rise * terrain.east, 1.0)
            return "", _plane(GROUND, f'zaxis="{normal}"')
        return "", _ramp(terrain)
    if isinstance(terrain, HeightmapTerrain):
        return _heightfield(terrain)
    raise WorldTemplateError(
        f"{type(terrain).__name__} cannot be put into a MuJoCo world.",
        hint="flat, ramp and heightmap can.",
    )


def _plane(name: str, place: str) -> str:
    return (
        f'<geom name="{name}" type="plane" size="{numbers(_SEEN_M, _SEEN_M, 1.0)}" {place}'
        f' material="grid" {GROUND_BITS}/>\n'
    )


def _ramp(ramp: RampTerrain) -> str:
    """Level ground, an inclined slab, and level ground behind it, the latter two as boxes."""
    climb_m = ramp.rise * ramp.length_m
    slope_rad = math.radians(ramp.slope_deg)
    upper_m, upper_z_m = ramp.start_m + ramp.length_m + 0.5 * _FAR_M, climb_m
    if climb_m < 0.0:
        upper_m, upper_z_m = ramp.start_m - 0.5 * _FAR_M, 0.0
    thick_m = abs(climb_m) + _THICK_M
    slab = (0.5 * ramp.length_m / math.cos(slope_rad), 0.5 * _FAR_M, 0.5 * _THICK_M)
    return (
        _plane(GROUND, f'pos="{numbers(0.0, 0.0, min(0.0, climb_m))}"')
        + _slab(
            "ground_ramp",
            slab,
            ramp,
            ramp.start_m + 0.5 * ramp.length_m + 0.5 * _THICK_M * math.sin(slope_rad),
            0.5 * climb_m - 0.5 * _THICK_M * math.cos(slope_rad),
            slope_rad,
        )
        + _slab(
            "ground_upper",
            (0.5 * _FAR_M, 0.5 * _FAR_M, 0.5 * thick_m),
            ramp,
            upper_m,
            upper_z_m - 0.5 * thick_m,
            0.0,
        )
    )


def _slab(
    name: str,
    half_m: tuple[float, float, float],
    ramp: RampTerrain,
    along_m: float,
    z_m: float,
    slope_rad: float,
) -> str:
    """A box whose x axis looks up the ramp, ``along_m`` from the origin."""
    at = numbers(along_m * ramp.north, -along_m * ramp.east, z_m)
    cosine, sine = math.cos(slope_rad), math.sin(slope_rad)
    axes = numbers(ramp.north * cosine, -ramp.east * cosine, sine, ramp.east, ramp.north, 0.0)
    return (
        f'<geom name="{name}" type="box" size="{numbers(*half_m)}" pos="{at}" xyaxes="{axes}"'
        f' rgba="{_CONCRETE}" {GROUND_BITS}/>\n'
    )


def _heightfield(terrain: HeightmapTerrain) -> tuple[str, str]:
    heights = terrain.heights_m
    if heights.size > MAX_HEIGHTS:
        raise WorldTemplateError(
            f"A heightmap of {heights.size} heights is too fine for MuJoCo.",
            hint=f"At most {MAX_HEIGHTS}: take every second height and double cell_m.",
        )
    cell_m, beyond = terrain.cell_m, _cells_beyond(heights, terrain.cell_m)
    padded = _padded(heights, beyond)
    rows, columns = padded.shape
    low_m, high_m = float(padded.min()), float(padded.max())
    span_m = max(high_m - low_m, 1e-3)
    half_n_m, half_e_m = 0.5 * cell_m * (rows - 1), 0.5 * cell_m * (columns - 1)
    at = numbers(
        terrain.north_m - beyond * cell_m + half_n_m,
        -(terrain.east_m - beyond * cell_m + half_e_m),
        low_m,
    )
    # Columns run along x, which is north; the first row is the one farthest along y, west.
    table = padded.T
    elevation = " ".join(f"{height - low_m:.6g}" for height in table.ravel().tolist())
    asset = (
        f'<hfield name="heights" nrow="{columns}" ncol="{rows}" elevation="{elevation}"'
        f' size="{numbers(half_n_m, half_e_m, span_m, 1.0)}"/>\n'
    )
    geom = (
        f'<geom name="{GROUND}" type="hfield" hfield="heights" pos="{at}" rgba="{_GRASS}"'
        f" {GROUND_BITS}/>\n"
    )
    # Who drives off the map falls no further than this.
    return asset, geom + _plane("ground_below", f'pos="{numbers(0.0, 0.0, low_m - 1.5)}"')


def _cells_beyond(heights: NDArray[np.float64], cell_m: float) -> int:
    cells = math.ceil(_BEYOND_M / cell_m)
    rows, columns = heights.shape
    while cells > 1 and (rows + 2 * cells) * (columns + 2 * cells) > MAX_HEIGHTS:
        cells //= 2
    return cells


def _padded(heights: NDArray[np.float64], cells: int) -> NDArray[np.float64]:
    import numpy as np

    return np.pad(heights, cells, mode="edge")


# --- obstacles ----------------------------------------------------------------------------


def _obstacle(obstacle: Obstacle, name: str, terrain: Terrain, bits: str) -> str:
    """An obstacle, standing on the ground and reaching into it where that slopes."""
    plan = outline(obstacle)
    ground_m = float(terrain.height_m(plan.north_m, plan.east_m))
    bottom_m = min(float(terrain.height_m(*corner)) for corner in _corners(plan))
    half_m = 0.5 * (ground_m + obstacle.height_m - bottom_m)
    if isinstance(obstacle, Disc):
        shape = f'type="cylinder" size="{numbers(obstacle.radius_m, half_m)}"'
    else:
        shape = f'type="box" size="{numbers(plan.half_a_m, plan.half_b_m, half_m)}"'
    turn = numbers(0.0, 0.0, math.atan2(-plan.sin, plan.cos))
    kind = "wall" if isinstance(obstacle, Wall) else type(obstacle).__name__.lower()
    return (
        f'<geom name="{name}" {shape} euler="{turn}"'
        f' pos="{numbers(plan.north_m, -plan.east_m, bottom_m + half_m)}"'
        f' rgba="{_COLOURS[kind]}" {bits}/>\n'
    )


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
