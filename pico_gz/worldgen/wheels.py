"""Wheels: their links, axles, grip and looks, the same for every rover."""

from __future__ import annotations

from pico_gz.rover import RoverSpec
from pico_gz.units import GRAVITY_MPS2
from pico_gz.worldgen.colours import TYRE, YELLOW
from pico_gz.worldgen.inertia import wheel_inertial
from pico_gz.worldgen.model_parts import Joint, Link
from pico_gz.worldgen.shapes import (
    ACROSS_RAD,
    Collision,
    CylinderShape,
    Friction,
    Placement,
    Visual,
)

WHEEL_MASS_SHARE = 0.04
# Friction along the wheel's own axis; in the frame of its cylinder that is z.
AXLE = (0.0, 0.0, 1.0)
# What a rover without a grip limit of its own has: rubber on a dry road.
DEFAULT_GRIP = 0.9
# Commands never ask for more than the top speed; the limit only stops a runaway.
_SPEED_MARGIN = 2.0
# A wide tyre that turns rolls somewhere between its edges, nobody knows where; a narrow
# contact makes the track what is written.
CONTACT_SHARE = 0.1
_ACROSS = Placement(roll_rad=ACROSS_RAD)


def wheel_mass_kg(spec: RoverSpec) -> float:
    """What one wheel weighs."""
    return WHEEL_MASS_SHARE * spec.mass_kg


def wheel_load_n(spec: RoverSpec) -> float:
    """What one of four wheels carries on level ground."""
    return 0.25 * spec.mass_kg * GRAVITY_MPS2


def grip(spec: RoverSpec) -> float:
    """Friction coefficient of the tyres."""
    return spec.grip_mu or DEFAULT_GRIP


def top_wheel_radps(spec: RoverSpec) -> float:
    """How fast a wheel turns at top speed."""
    return spec.max_speed / spec.wheel_radius_m


def wheel_link(
    name: str, spec: RoverSpec, at: Placement, friction: Friction, *, contact_y_m: float = 0.0
) -> Link:
    """A wheel whose axle lies along y; it touches the ground ``contact_y_m`` beside itself."""
    radius_m, width_m = spec.wheel_radius_m, spec.wheel_width_m
    tyre = CylinderShape(radius_m, width_m)
    hub = CylinderShape(0.62 * radius_m, 1.04 * width_m)
    spoke = CylinderShape(0.16 * radius_m, 1.10 * width_m)
    spoke_at = Placement(x_m=0.38 * radius_m, roll_rad=ACROSS_RAD)
    return Link(
        name=name,
        inertial=wheel_inertial(wheel_mass_kg(spec), radius_m, width_m),
        at=at,
        visuals=(
            Visual(name="tyre", shape=tyre, colour=TYRE, at=_ACROSS),
            Visual(name="hub", shape=hub, colour=YELLOW, at=_ACROSS),
            # Off the middle, so that one sees the wheel turn.
            Visual(name="bolt", shape=spoke, colour=TYRE, at=spoke_at),
        ),
        collisions=(
            Collision(
                name="tyre",
                shape=CylinderShape(radius_m, CONTACT_SHARE * width_m),
                at=Placement(y_m=contact_y_m, roll_rad=ACROSS_RAD),
                friction=friction,
            ),
        ),
    )


def axle_joint(parent: str, wheel: str, spec: RoverSpec) -> Joint:
    """The axle of a wheel; positive is forward."""
    return Joint(
        name=f"{wheel}_joint",
        parent=parent,
        child=wheel,
        axis=(0.0, 1.0, 0.0),
        velocity_radps=_SPEED_MARGIN * top_wheel_radps(spec),
    )
