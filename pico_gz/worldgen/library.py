"""The models that are shipped in ``models/``, for worlds made by hand."""

from __future__ import annotations

import msgspec

from pico_gz.messages.vehicle import ARDUPILOT_CHANNELS, NoiseProfile
from pico_gz.ports import FDM_BASE
from pico_gz.rover import PRESETS
from pico_gz.worldgen.check import require_sdf
from pico_gz.worldgen.props import prop_models
from pico_gz.worldgen.render import render_model, render_model_config, render_model_file
from pico_gz.worldgen.rover_model import PluginSetup, RoverModel, build_rover_model
from pico_gz.worldgen.sensor_fit import fit_sensors
from pico_gz.worldgen.stamp import stamped
from pico_gz.worldgen.world_spec import StaticModel

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
