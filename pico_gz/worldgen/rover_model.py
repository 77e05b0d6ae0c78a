"""A rover as an SDF model: its mechanics, sensors and plugin."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pico_gz.messages.vehicle import DriveKind
from pico_gz.rover import RoverSpec
from pico_gz.worldgen.ackermann_chassis import ackermann_chassis
from pico_gz.worldgen.colours import rover_colour
from pico_gz.worldgen.model_parts import Chassis
from pico_gz.worldgen.names import check_model_name
from pico_gz.worldgen.sensor_fit import SensorFit
from pico_gz.worldgen.shapes import AT_ORIGIN, Placement
from pico_gz.worldgen.skid_chassis import skid_chassis

IMU_NAME = "imu_sensor"
# A plugin that misses this many packets in a row complains; each miss is 10 ms.
CONNECTION_TIMEOUT_COUNT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSetup:
    """Where the ArduPilot plugin of a rover listens."""

    address: str
    port: int
    lock_step: bool = True
    have_32_channels: bool = False
    timeout_count: int = CONNECTION_TIMEOUT_COUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class RoverModel:
    """One rover of a world.

    Attributes:
        name: of the model.
        at: where it starts, in the world.
        chassis: its mechanics.
        sensors: what it carries.
        plugin: None: it is only shown, nobody drives it.
        description: one sentence for people.
    """

    name: str
    chassis: Chassis
    sensors: SensorFit
    at: Placement = AT_ORIGIN
    plugin: PluginSetup | None = None
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse a name that SDF reserves."""
        check_model_name(self.name)


def build_rover_model(
    name: str,
    spec: RoverSpec,
    sensors: SensorFit,
    *,
    number: int,
    at: Placement = AT_ORIGIN,
    plugin: PluginSetup | None = None,
) -> RoverModel:
    """Build the model of a rover; ``number`` is written on it and chooses its colour."""
    build = ackermann_chassis if spec.drive is DriveKind.ACKERMANN else skid_chassis
    steering = "car-steered" if spec.drive is DriveKind.ACKERMANN else "skid-steered"
    chassis = build(spec, number, rover_colour(number))
    return RoverModel(
        name=name,
        chassis=chassis if plugin else _without_collisions(chassis),
        sensors=sensors,
        at=at,
        plugin=plugin,
        description=f"A {steering} rover: {spec.preset}, {spec.mass_kg:g} kg,"
        f" {spec.max_speed:g} m/s.",
    )


def _without_collisions(chassis: Chassis) -> Chassis:
    """What is only shown stands in nobody's way."""
    links = tuple(replace(link, collisions=()) for link in chassis.links)
    return replace(chassis, links=links)
