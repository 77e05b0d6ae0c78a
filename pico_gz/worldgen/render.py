"""Turns descriptions into SDF text through strict templates."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from pico_gz.errors import WorldTemplateError
from pico_gz.units import GRAVITY_MPS2
from pico_gz.worldgen.rover_model import IMU_NAME, RoverModel
from pico_gz.worldgen.world_spec import SUN_NAME, StaticModel, WorldSpec

# A tenth of a millimetre in a world of a kilometre; a latitude needs more.
_DIGITS = 7
_PRECISE_DIGITS = 12
# Smaller than this is rounding, not meaning.
_NOTHING = 1.0e-12
_NO_XML = (".md.j2", ".toml.j2")
# Rovers of one kind share nearly all their parts.
_FRAGMENTS_KEPT = 4096


def number_text(value: float, digits: int = _DIGITS) -> str:
    """A number as short as it can be written, the same on every machine."""
    if abs(value) < _NOTHING:
        return "0"
    return f"{value:.{digits}g}"


def render_world(world: WorldSpec) -> tuple[str, dict[str, str]]:
    """Render a world.

    Returns:
        The text of the world file, and that of each rover's ``<model>`` by name.

    Raises:
        WorldTemplateError: a template asks for something that is not there.
    """
    rovers = {rover.name: render_model(rover) for rover in world.rovers}
    fixed = [render_model(model) for model in (world.ground, *world.obstacles)]
    return _render("world.sdf.j2", world=world, models=[*fixed, *rovers.values()]), rovers


def render_model(model: RoverModel | StaticModel) -> str:
    """The ``<model>`` element of a rover or of something that stands still."""
    template = "rover.sdf.j2" if isinstance(model, RoverModel) else "static.sdf.j2"
    return _render(template, model=model).rstrip()


def render_model_file(text: str) -> str:
    """A ``model.sdf`` of one ``<model>`` element."""
    return _render("model.sdf.j2", text=text)


def render_model_config(name: str, description: str) -> str:
    """The ``model.config`` beside it."""
    return _render("model.config.j2", name=name, description=description)


def render_text(template: str, **values: Any) -> str:
    """A text that is no XML, so nothing is escaped."""
    return _render(template, **values)


def _render(template: str, **values: Any) -> str:
    try:
        return _environment().get_template(template).render(**values)
    except TemplateError as error:
        raise WorldTemplateError(f"Template {template}: {error}.") from error


@lru_cache(maxsize=_FRAGMENTS_KEPT)
def _fragment(part: Any, template: str, indent: int) -> Markup:
    """A part of a model, rendered once for all that look alike."""
    return _indented(_render(template, part=part).rstrip(), indent)


def _indented(text: str, spaces: int) -> Markup:
    """SDF text inside other SDF text: all lines but the first moved to the right."""
    return Markup(text.replace("\n", "\n" + " " * spaces))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=lambda name: name is None or not name.endswith(_NO_XML),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["numbers"] = _numbers
    environment.filters["precise"] = lambda value: number_text(value, _PRECISE_DIGITS)
    environment.filters["fragment"] = _fragment
    environment.filters["indented"] = _indented
    environment.filters["quoted"] = json.dumps
    environment.filters["compass_deg"] = _compass_deg
    environment.globals.update(imu_name=IMU_NAME, sun_name=SUN_NAME, gravity=GRAVITY_MPS2)
    return environment


def _finalize(value: Any) -> Any:
    return number_text(value) if isinstance(value, float) else value


def _compass_deg(rover: RoverModel) -> float:
    """Where a rover looks, clockwise from north, 0..360."""
    return round(90.0 - math.degrees(rover.at.yaw_rad), 6) % 360.0


def _numbers(values: Sequence[float]) -> str:
    return " ".join(map(number_text, values))
