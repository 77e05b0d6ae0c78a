"""Writes the shipped rovers and props into models/, for scripts/make_models."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import msgspec

from pico_gz.core.ports import FDM_BASE
from pico_gz.core.rover_spec import PRESETS
from pico_gz.core.vehicle_config import ARDUPILOT_CHANNELS, NoiseProfile
from pico_gz.gazebo.sdf import require_sdf
from pico_gz.gazebo.worlds.folder import write_folder
from pico_gz.gazebo.worlds.parts import (
    BRICK,
    CONCRETE,
    ORANGE,
    STEEL,
    WHITE,
    WOOD,
    BoxShape,
    Collision,
    CylinderShape,
    Placement,
    SdfLink,
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
from pico_gz.gazebo.worlds.scenery import PROUD, solid, trim

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
    link = SdfLink(name="link", visuals=tuple(visuals), collisions=collisions)
    return StaticModel(name="cone", link=link, description="A traffic cone, 0.45 m high.")


def _box() -> StaticModel:
    size = BoxShape(0.6, 0.6, 0.5)
    strap = trim(BoxShape(PROUD * 0.6, PROUD * 0.6, 0.04), STEEL, 0.12)
    link = solid(size, WOOD, strap)
    return _standing("box", link, 0.25, "A wooden crate, 0.6 m by 0.6 m, 0.5 m high.")


def _wall() -> StaticModel:
    body = BoxShape(2.0, 0.1, 0.5)
    coping = trim(BoxShape(2.0, 0.12, 0.03), CONCRETE, 0.245)
    return _standing("wall", solid(body, BRICK, coping), 0.25, "A brick wall, 2 m long.")


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
    link = SdfLink(
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


def _standing(name: str, link: SdfLink, z_m: float, description: str) -> StaticModel:
    """A prop whose link is lifted so that it stands on the model's origin."""
    lifted = replace(link, at=Placement(z_m=z_m))
    return StaticModel(name=name, link=lifted, description=description)


if __name__ == "__main__":
    write_folder(Path("models"), library_files())
