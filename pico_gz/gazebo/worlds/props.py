"""Obstacles and shipped props as SDF models."""

from __future__ import annotations

import math

import msgspec

from pico_gz.core.ports import FDM_BASE
from pico_gz.core.rover_spec import PRESETS
from pico_gz.core.vehicle_config import ARDUPILOT_CHANNELS, NoiseProfile
from pico_gz.gazebo.worlds.parts import (
    BRICK,
    CONCRETE,
    ORANGE,
    STEEL,
    WHITE,
    WOOD,
    BoxShape,
    Collision,
    Colour,
    CylinderShape,
    Link,
    Placement,
    Shape,
    Visual,
)
from pico_gz.gazebo.worlds.render import (
    StaticModel,
    render_model,
    render_model_config,
    render_model_file,
    stamped,
)
from pico_gz.gazebo.worlds.rover_model import (
    PluginSetup,
    RoverModel,
    build_rover_model,
    fit_sensors,
)
from pico_gz.gazebo.worlds.sdf_check import require_sdf
from pico_gz.simulator.obstacles import Disc, Obstacle, Outline, Wall, outline
from pico_gz.simulator.terrain import Terrain

# A trim stands out by this much, or the two surfaces would flicker.
_PROUD = 1.02


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


def _obstacle_link(obstacle: Obstacle, plan: Outline, height_m: float) -> Link:
    if isinstance(obstacle, Disc):
        post = CylinderShape(obstacle.radius_m, height_m)
        ring = CylinderShape(_PROUD * obstacle.radius_m, 0.2 * height_m)
        return _solid(post, ORANGE, _trim(ring, WHITE, 0.2 * height_m))
    body = BoxShape(2.0 * plan.half_a_m, 2.0 * plan.half_b_m, height_m)
    if isinstance(obstacle, Wall):
        coping = BoxShape(body.x_m, 1.2 * body.y_m, 0.06 * height_m)
        return _solid(body, BRICK, _trim(coping, CONCRETE, 0.49 * height_m))
    strap = BoxShape(_PROUD * body.x_m, _PROUD * body.y_m, 0.08 * height_m)
    return _solid(body, WOOD, _trim(strap, STEEL, 0.25 * height_m))


def prop_models() -> tuple[StaticModel, ...]:
    """The props of ``models/``; each stands on the ground at its origin."""
    return (_cone(), _box(), _wall(), _ramp())


def _cone() -> StaticModel:
    """A traffic cone of stacked rings; a thin cylinder is enough to bump into."""
    height_m, foot_m, tip_m, rings = 0.45, 0.13, 0.025, 9
    visuals = [
        Visual(
            name="foot",
            shape=BoxShape(0.32, 0.32, 0.03),
            colour=ORANGE,
            at=Placement(z_m=0.015),
        )
    ]
    ring_m = (height_m - 0.03) / rings
    for index in range(rings):
        radius_m = foot_m + (tip_m - foot_m) * (index + 0.5) / rings
        visuals.append(
            Visual(
                name=f"ring_{index + 1}",
                shape=CylinderShape(radius_m, ring_m),
                colour=WHITE if index in (3, 4) else ORANGE,
                at=Placement(z_m=0.03 + ring_m * (index + 0.5)),
            )
        )
    collisions = (
        Collision(name="foot", shape=BoxShape(0.32, 0.32, 0.03), at=Placement(z_m=0.015)),
        Collision(
            name="body",
            shape=CylinderShape(0.6 * foot_m, height_m - 0.03),
            at=Placement(z_m=0.5 * (height_m + 0.03)),
        ),
    )
    link = Link(name="link", visuals=tuple(visuals), collisions=collisions)
    return StaticModel(name="cone", link=link, description="A traffic cone, 0.45 m high.")


def _box() -> StaticModel:
    size = BoxShape(0.6, 0.6, 0.5)
    strap = _trim(BoxShape(_PROUD * 0.6, _PROUD * 0.6, 0.04), STEEL, 0.12)
    link = _solid(size, WOOD, strap)
    return _standing("box", link, 0.25, "A wooden crate, 0.6 m by 0.6 m, 0.5 m high.")


def _wall() -> StaticModel:
    body = BoxShape(2.0, 0.1, 0.5)
    coping = _trim(BoxShape(2.0, 0.12, 0.03), CONCRETE, 0.245)
    return _standing("wall", _solid(body, BRICK, coping), 0.25, "A brick wall, 2 m long.")


def _ramp() -> StaticModel:
    """A plank up to a platform: 1.5 m long, 10 degrees, 1 m wide; it rises along +x."""
    length_m, width_m, thick_m, slope_rad = 1.5, 1.0, 0.05, math.radians(10.0)
    top_m = length_m * math.sin(slope_rad)
    plank = BoxShape(length_m, width_m, thick_m)
    plank_at = Placement(
        x_m=0.5 * length_m * math.cos(slope_rad) + 0.5 * thick_m * math.sin(slope_rad),
        z_m=0.5 * top_m - 0.5 * thick_m * math.cos(slope_rad),
        pitch_rad=-slope_rad,
    )
    table = BoxShape(1.0, width_m, top_m)
    table_at = Placement(x_m=length_m * math.cos(slope_rad) + 0.5, z_m=0.5 * top_m)
    link = Link(
        name="link",
        visuals=(
            Visual(name="plank", shape=plank, colour=WOOD, at=plank_at),
            Visual(name="platform", shape=table, colour=CONCRETE, at=table_at),
        ),
        collisions=(
            Collision(name="plank", shape=plank, at=plank_at),
            Collision(name="platform", shape=table, at=table_at),
        ),
    )
    return StaticModel(
        name="ramp", link=link, description="A ramp of 10 degrees to a platform of 0.26 m."
    )


def _solid(shape: Shape, colour: Colour, *trims: Visual) -> Link:
    return Link(
        name="link",
        visuals=(Visual(name="body", shape=shape, colour=colour), *trims),
        collisions=(Collision(name="body", shape=shape),),
    )


def _trim(shape: Shape, colour: Colour, z_m: float) -> Visual:
    return Visual(name="trim", shape=shape, colour=colour, at=Placement(z_m=z_m))


def _standing(name: str, link: Link, z_m: float, description: str) -> StaticModel:
    """A prop whose link is lifted so that it stands on the model's origin."""
    lifted = Link(
        name=link.name,
        at=Placement(z_m=z_m),
        visuals=link.visuals,
        collisions=link.collisions,
    )
    return StaticModel(name=name, link=lifted, description=description)


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


# Model -> preset. The models listen where ArduRover's first instance speaks, on its channels.
ROVERS = {
    "pico_trail_rover": "pico_trail_freenove",
    "pico_trail_ackermann": "pico_trail_ackermann",
}
# For worlds of any step down to this one.
_PHYSICS_STEP_US = 1000


def library_files() -> dict[str, str]:
    """All files of ``models/``: path relative to it -> text."""
    files = {}
    models: tuple[RoverModel | StaticModel, ...] = (*_rovers(), *prop_models())
    for model in models:
        text = render_model_file(render_model(model))
        require_sdf(text, f"{model.name}/model.sdf")
        config = render_model_config(model.name, model.description)
        for name, body in (("model.sdf", text), ("model.config", config)):
            files[f"{model.name}/{name}"] = stamped(name, body, "scripts/make_models")
    return files


def _rovers() -> tuple[RoverModel, ...]:
    return tuple(_rover(name, preset) for name, preset in ROVERS.items())


def _rover(name: str, preset: str) -> RoverModel:
    spec = msgspec.structs.replace(PRESETS[preset], channels=ARDUPILOT_CHANNELS)
    return build_rover_model(
        name,
        spec,
        fit_sensors(spec, NoiseProfile.TYPICAL, _PHYSICS_STEP_US),
        number=1,
        plugin=PluginSetup(address="127.0.0.1", port=FDM_BASE),
    )
