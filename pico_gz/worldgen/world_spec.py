"""A Gazebo world, complete and ready to be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pico_gz.errors import WorldTemplateError
from pico_gz.units import US_PER_S
from pico_gz.worldgen.model_parts import Link
from pico_gz.worldgen.names import check_model_name
from pico_gz.worldgen.rover_model import RoverModel
from pico_gz.worldgen.shapes import AT_ORIGIN, Placement

GROUND_NAME = "ground"
SUN_NAME = "sun"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticModel:
    """Something that stands still: the ground, an obstacle, a prop."""

    name: str
    link: Link
    at: Placement = AT_ORIGIN
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse a name that SDF reserves."""
        check_model_name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeoOrigin:
    """Where on Earth the world's origin is."""

    lat_deg: float
    lon_deg: float
    alt_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSpec:
    """Everything in a world.

    Attributes:
        name: of the world, part of its topics.
        physics_step_us: Gazebo's step.
        real_time_factor: 0: as fast as it goes.
        origin: of the spherical coordinates.
        magnetic_enu_tesla: the earth's field, x east, y north, z up.
        ground: what everybody stands on.
        obstacles: what stands in the way.
        rovers: in id order.
        files: what else must lie beside the world file: name -> text (a terrain mesh).
    """

    name: str
    physics_step_us: int
    real_time_factor: float
    origin: GeoOrigin
    magnetic_enu_tesla: tuple[float, float, float]
    ground: StaticModel
    obstacles: tuple[StaticModel, ...] = ()
    rovers: tuple[RoverModel, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse names that clash and ports that two plugins would share."""
        check_model_name(self.name)
        names = [SUN_NAME, self.ground.name, *(model.name for model in self.obstacles)]
        _require_unique([*names, *(rover.name for rover in self.rovers)], "name")
        _require_unique([rover.plugin.port for rover in self.rovers if rover.plugin], "port")

    @property
    def step_s(self) -> float:
        """Gazebo's step in seconds."""
        return self.physics_step_us / US_PER_S

    @property
    def needs_rendering(self) -> bool:
        """Whether some sensor needs the rendering system."""
        return any(rover.plugin and rover.sensors.needs_rendering for rover in self.rovers)


def _require_unique(values: list[str] | list[int], what: str) -> None:
    seen: set[str | int] = set()
    for value in values:
        if value in seen:
            raise WorldTemplateError(
                f"Two things in the world have the {what} {value!r}.",
                hint=f"Give one of the vehicles another {what}.",
            )
        seen.add(value)
