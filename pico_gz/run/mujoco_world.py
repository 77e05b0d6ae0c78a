"""The MuJoCo world of a fleet file."""

from __future__ import annotations

import math
from collections.abc import Collection

from pico_gz.adapters.mujoco.mjcf import DEFAULT_STEP_US, make_mjcf
from pico_gz.adapters.mujoco.rover_mjcf import PlacedRover, numbers
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.gazebo.worlds.car_rover import ackermann_chassis
from pico_gz.gazebo.worlds.parts import BoxShape, CylinderShape, Placement, Visual, rover_colour
from pico_gz.gazebo.worlds.skid_rover import skid_chassis
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.simulators import make_world
from pico_gz.simulator.world import World

MUJOCO_WORLD_FILE = "world.xml"


def mujoco_world(
    fleet: FleetConfig, *, rovers: Collection[int] | None = None, world: World | None = None
) -> str:
    """The world of a fleet as MJCF that MuJoCo's viewer opens by itself.

    Args:
        fleet: the fleet.
        rovers: ids of the vehicles in it; default: all.
        world: default: the fleet's own.

    Raises:
        WorldTemplateError: its ground cannot be put into a MuJoCo world.
    """
    placed = [
        PlacedRover(
            vehicle_id=plan.id,
            label=plan.config.label,
            spec=plan.rover,
            pose=plan.config.pose,
            looks=rover_looks(plan.config.label, plan.rover, plan.id),
        )
        for plan in fleet.vehicles
        if rovers is None or plan.id in rovers
    ]
    return make_mjcf(world or make_world(fleet), placed, name=fleet.name, step_us=_step_us(fleet))


def _step_us(fleet: FleetConfig) -> int:
    given = fleet.adapter_options("mujoco").get("physics_step_us")
    return given if isinstance(given, int) else DEFAULT_STEP_US


def rover_looks(label: str, spec: RoverSpec, number: int) -> dict[str, str]:
    """The visual geoms of a rover by the name of its part, with its number on top."""
    chassis = skid_chassis if spec.drive is DriveKind.SKID else ackermann_chassis
    return {
        link.name: "".join(_geom(f"{label}/{link.name}", visual) for visual in link.visuals)
        for link in chassis(spec, number, rover_colour(number)).links
    }


def _geom(prefix: str, visual: Visual) -> str:
    shape = visual.shape
    if isinstance(shape, BoxShape):
        size = numbers(0.5 * shape.x_m, 0.5 * shape.y_m, 0.5 * shape.z_m)
    elif isinstance(shape, CylinderShape):
        size = numbers(shape.radius_m, 0.5 * shape.length_m)
    else:
        return ""  # no part of a rover
    at = visual.at
    return (
        f'<geom name="{prefix}/{visual.name}" type="{shape.kind}" size="{size}" group="2"'
        f' contype="0" conaffinity="0" rgba="{numbers(*visual.colour, 1.0)}"'
        f' pos="{numbers(at.x_m, at.y_m, at.z_m)}" quat="{numbers(*_quat(at))}"/>'
    )


def _quat(at: Placement) -> tuple[float, float, float, float]:
    """Roll about x, then pitch about y, then yaw about z, as a quaternion."""
    cr, sr = math.cos(0.5 * at.roll_rad), math.sin(0.5 * at.roll_rad)
    cp, sp = math.cos(0.5 * at.pitch_rad), math.sin(0.5 * at.pitch_rad)
    cy, sy = math.cos(0.5 * at.yaw_rad), math.sin(0.5 * at.yaw_rad)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
