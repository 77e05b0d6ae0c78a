"""The Gazebo world of a fleet file."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Collection
from dataclasses import dataclass

from pico_gz.core.ports import PortPlan
from pico_gz.core.vehicle_config import DriveKind, Pose
from pico_gz.errors import WorldTemplateError
from pico_gz.gazebo.worlds.parts import Placement
from pico_gz.gazebo.worlds.render import GeoOrigin, WorldSpec
from pico_gz.gazebo.worlds.rover_model import (
    PluginSetup,
    RoverModel,
    build_rover_model,
    fit_sensors,
)
from pico_gz.gazebo.worlds.scenery import make_ground, obstacle_model
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.simulators import make_terrain
from pico_gz.simulator.terrain import Terrain
from pico_gz.simulator.world import magnetic_field

_TESLA_PER_GAUSS = 1.0e-4
_SHORT_PACKET_CHANNELS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldOptions:
    """What a world has beyond the fleet file.

    Attributes:
        rangefinders: fit those of ``[rover]``; like the next two, they need rendering.
        lidar: fit a scanner to every rover.
        camera: fit a camera to every rover.
        shown_only: Gazebo drives no rover; another simulator moves the models.
    """

    rangefinders: bool = False
    lidar: bool = False
    camera: bool = False
    shown_only: bool = False


NO_OPTIONS = WorldOptions()


def rovers_in_world(fleet: FleetConfig) -> frozenset[int]:
    """Ids of the vehicles that a Gazebo world is for.

    Those on Gazebo and those on ``auto``; all of them if the whole fleet is elsewhere, because
    then the user asked for a world all the same.
    """
    undecided = {plan.id for plan in fleet.vehicles if plan.config.adapter == "auto"}
    chosen = fleet.on_gazebo() | undecided
    return chosen or frozenset(plan.id for plan in fleet.vehicles if plan.aircraft is None)


def world_of_fleet(
    fleet: FleetConfig,
    options: WorldOptions = NO_OPTIONS,
    *,
    rovers: Collection[int] | None = None,
) -> WorldSpec:
    """Describe the world of a fleet.

    Args:
        fleet: the fleet.
        options: what else is wanted.
        rovers: ids of the vehicles in it; default: ``rovers_in_world``.

    Raises:
        WorldTemplateError: a name or address cannot stand in a world.
        PortClashError: two users of one port.
    """
    ids = rovers_in_world(fleet) if rovers is None else frozenset(rovers)
    terrain = make_terrain(fleet.terrain)
    ports = fleet.port_plan(on_gazebo=ids)
    ports.check()
    obstacles = tuple(
        obstacle_model(obstacle, number, terrain)
        for number, obstacle in enumerate(fleet.obstacles, start=1)
    )
    models = tuple(
        _rover(fleet, plan, terrain, ports, options) for plan in fleet.vehicles if plan.id in ids
    )
    places = [*(model.at for model in obstacles), *(model.at for model in models)]
    reach_m = max((math.hypot(at.x_m, at.y_m) for at in places), default=0.0)
    ground = make_ground(terrain, reach_m)
    return WorldSpec(
        name=fleet.name,
        physics_step_us=fleet.gazebo.physics_step_us,
        real_time_factor=fleet.gazebo.real_time_factor,
        max_contacts=fleet.gazebo.max_contacts,
        parallel_postupdates=fleet.gazebo.parallel_postupdates,
        origin=GeoOrigin(
            lat_deg=fleet.origin.lat_deg, lon_deg=fleet.origin.lon_deg, alt_m=fleet.origin.alt_m
        ),
        magnetic_enu_tesla=_magnetic(fleet),
        ground=ground.model,
        obstacles=obstacles,
        rovers=models,
        files=ground.files,
    )


def _rover(
    fleet: FleetConfig,
    plan: VehiclePlan,
    terrain: Terrain,
    ports: PortPlan,
    options: WorldOptions,
) -> RoverModel:
    spec = plan.rover
    plugin = None
    if not options.shown_only:
        plugin = PluginSetup(
            address=numeric_address(fleet.net.bind),
            port=ports.vehicle(plan.id).plugin,
            have_32_channels=_highest_channel(plan) > _SHORT_PACKET_CHANNELS,
        )
    return build_rover_model(
        plan.config.label,
        spec,
        fit_sensors(
            spec,
            plan.config.noise,
            fleet.gazebo.physics_step_us,
            altitude_m=fleet.origin.alt_m,
            topics=fleet.gazebo.sensors or fleet.gazebo.sensor_topics,
            rangefinders=options.rangefinders,
            lidar=options.lidar,
            camera=options.camera,
        ),
        number=plan.id,
        at=place_on(terrain, plan.config.pose),
        plugin=plugin,
    )


def _highest_channel(plan: VehiclePlan) -> int:
    channels = plan.rover.channels
    if plan.rover.drive is DriveKind.SKID:
        return max(channels.left, channels.right)
    return max(channels.throttle, channels.steering)


def numeric_address(host: str) -> str:
    """The IPv4 address to bind, as the plugin wants it.

    Raises:
        WorldTemplateError: it is a host name or IPv6.
    """
    if host == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise WorldTemplateError(
            f"The plugin binds numeric IPv4 addresses only, not {host!r}.",
            hint='[net] bind = "127.0.0.1", or "0.0.0.0" in a container.',
        ) from None


def place_on(terrain: Terrain, pose: Pose) -> Placement:
    """Put a rover on the ground, tilted as the ground is under it."""
    north_m, east_m = pose.north_m, pose.east_m
    rise_n, rise_e = (float(rise) for rise in terrain.slope(north_m, east_m))
    yaw_rad = math.radians(pose.yaw_deg)
    # How the ground rises ahead of the rover and to its left.
    ahead = rise_n * math.cos(yaw_rad) + rise_e * math.sin(yaw_rad)
    left = rise_n * math.sin(yaw_rad) - rise_e * math.cos(yaw_rad)
    pitch_rad = -math.atan(ahead)
    return Placement(
        x_m=east_m,
        y_m=north_m,
        z_m=float(terrain.height_m(north_m, east_m)),
        # Roll is about the nose, which is already pitched.
        roll_rad=math.atan(left * math.cos(pitch_rad)),
        pitch_rad=pitch_rad,
        yaw_rad=_wrapped(0.5 * math.pi - yaw_rad),
    )


def _wrapped(angle_rad: float) -> float:
    return math.remainder(angle_rad, 2.0 * math.pi)


def _magnetic(fleet: FleetConfig) -> tuple[float, float, float]:
    origin = fleet.origin
    field = magnetic_field(origin.lat_deg, origin.lon_deg, origin.alt_m, origin.date)
    return (
        _TESLA_PER_GAUSS * field.east_gauss,
        _TESLA_PER_GAUSS * field.north_gauss,
        -_TESLA_PER_GAUSS * field.down_gauss,
    )
