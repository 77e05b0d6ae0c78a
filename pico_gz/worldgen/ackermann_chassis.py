"""A car: driven rear wheels, and a front axle that pivots as a whole.

Both front wheels share one axle line, so they agree about the centre of every turn, which two
wheels on linear servos cannot. The rear tyres touch the ground in the middle of their axle, as
if a differential let them differ in speed: the drive can then be stiff. Together the car turns
by ``v tan(steering) / wheel_base``, as in the Lightweight simulator.
"""

from __future__ import annotations

import math

from pico_gz.rover import RoverSpec
from pico_gz.worldgen.car_body import BODY_MASS_SHARE, car_body
from pico_gz.worldgen.colours import STEEL
from pico_gz.worldgen.inertia import box_inertial
from pico_gz.worldgen.model_parts import Chassis, Control, ControlKind, Joint, Link
from pico_gz.worldgen.shapes import BoxShape, Colour, Friction, Placement, Visual
from pico_gz.worldgen.wheels import (
    AXLE,
    WHEEL_MASS_SHARE,
    axle_joint,
    grip,
    top_wheel_radps,
    wheel_link,
    wheel_mass_kg,
)

FRONT_AXLE = "front_axle"
STEERING_JOINT = "steering_joint"
_AXLE_MASS_SHARE = 1.0 - BODY_MASS_SHARE - 4.0 * WHEEL_MASS_SHARE
# Natural frequency of the steering: quick for a servo, slow for a physics step of 10 ms.
_STEERING_RADPS = 60.0
_STEERING_DAMPING_RATIO = 0.8
_STEERING_TRIM_PER_S = 5.0
_SIDES = (("left", 1), ("right", -1))


def ackermann_chassis(spec: RoverSpec, number: int, colour: Colour) -> Chassis:
    """Build it; the origin is on the ground in the middle of the rear axle."""
    links = [car_body(spec, number, colour), _front_axle(spec)]
    joints = [_steering_joint(spec)]
    controls = [_steering_control(spec)]
    for side, left in _SIDES:
        at = Placement(y_m=0.5 * left * spec.track_m, z_m=spec.wheel_radius_m)
        wheel = f"rear_{side}_wheel"
        links.append(wheel_link(wheel, spec, at, _friction(spec), contact_y_m=-at.y_m))
        joint = axle_joint("base_link", wheel, spec)
        joints.append(joint)
        controls.append(_drive_control(spec, joint.name))
    for side, left in _SIDES:
        at = Placement(x_m=spec.wheel_base, y_m=0.5 * left * spec.track_m, z_m=spec.wheel_radius_m)
        wheel = f"front_{side}_wheel"
        links.append(wheel_link(wheel, spec, at, _friction(spec)))
        joints.append(axle_joint(FRONT_AXLE, wheel, spec))
    return Chassis(
        links=tuple(links),
        joints=tuple(joints),
        controls=tuple(controls),
        watched_joints=(STEERING_JOINT,),
        mast=Placement(x_m=spec.center_ahead_m, z_m=1.3 * spec.height_m),
        nose=Placement(x_m=spec.center_ahead_m + 0.5 * spec.length_m, z_m=0.6 * spec.height_m),
    )


def _friction(spec: RoverSpec) -> Friction:
    return Friction(along=grip(spec), across=grip(spec), axis=AXLE)


def _drive_control(spec: RoverSpec, joint: str) -> Control:
    return Control(
        channel=spec.channels.throttle - 1,
        joint=joint,
        kind=ControlKind.VELOCITY,
        multiplier=2.0 * top_wheel_radps(spec),
        use_force=False,
        limit=top_wheel_radps(spec),
    )


def _front_axle(spec: RoverSpec) -> Link:
    """The beam between the front wheels."""
    thick_m = 0.3 * spec.wheel_radius_m
    beam = BoxShape(thick_m, spec.track_m, thick_m)
    return Link(
        name=FRONT_AXLE,
        inertial=box_inertial(_AXLE_MASS_SHARE * spec.mass_kg, (thick_m, spec.track_m, thick_m)),
        at=Placement(x_m=spec.wheel_base, z_m=spec.wheel_radius_m),
        visuals=(Visual(name="beam", shape=beam, colour=STEEL),),
    )


def _steering_inertia(spec: RoverSpec) -> float:
    """Of the axle and both wheels about the pivot [kg m^2]."""
    beam = _AXLE_MASS_SHARE * spec.mass_kg * spec.track_m**2 / 12.0
    return beam + 2.0 * wheel_mass_kg(spec) * (0.5 * spec.track_m) ** 2


def _steering_joint(spec: RoverSpec) -> Joint:
    inertia = _steering_inertia(spec)
    steer_rad = math.radians(spec.max_steer_deg)
    return Joint(
        name=STEERING_JOINT,
        parent="base_link",
        child=FRONT_AXLE,
        axis=(0.0, 0.0, 1.0),
        limit_rad=1.1 * steer_rad,
        effort_nm=4.0 * inertia * _STEERING_RADPS**2 * steer_rad,
        velocity_radps=math.radians(spec.steer_rate_degps) or None,
        damping=2.0 * _STEERING_DAMPING_RATIO * inertia * _STEERING_RADPS,
    )


def _steering_control(spec: RoverSpec) -> Control:
    steer_rad = math.radians(spec.max_steer_deg)
    stiffness = _steering_inertia(spec) * _STEERING_RADPS**2
    return Control(
        channel=spec.channels.steering - 1,
        joint=STEERING_JOINT,
        kind=ControlKind.POSITION,
        # Longer pulses steer right; a joint about the upward axis turns left.
        multiplier=-2.0 * steer_rad,
        use_force=True,
        p_gain=stiffness,
        # Takes away what is left, a fifth of a degree, within a second.
        i_gain=_STEERING_TRIM_PER_S * stiffness,
        i_limit=0.1 * stiffness * steer_rad,
        limit=4.0 * stiffness * steer_rad,
    )
