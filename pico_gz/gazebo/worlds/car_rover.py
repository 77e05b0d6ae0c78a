"""A car with driven rear wheels and a steered front axle.

Both front wheels share one axle line, so they agree about the centre of every turn, which two
wheels on linear servos cannot. The rear tyres touch the ground in the middle of their axle, as
if a differential let them differ in speed: the drive can then be stiff. Together the car turns
by ``v tan(steering) / wheel_base``, as in the Lightweight simulator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.gazebo.worlds.parts import (
    AXLE,
    BLACK,
    BRAKE_LAMP,
    GLASS,
    LAMP,
    STEEL,
    WHEEL_MASS_SHARE,
    WHITE,
    BoxShape,
    Chassis,
    Collision,
    Colour,
    Control,
    ControlKind,
    CylinderShape,
    Friction,
    Joint,
    Placement,
    SdfLink,
    Visual,
    axle_joint,
    box_inertial,
    grip,
    number_visuals,
    readable_on,
    top_wheel_radps,
    wheel_link,
    wheel_mass_kg,
)

BODY_MASS_SHARE = 0.80
# Batteries and motors sit at the bottom; the centre of mass is this far up in the body.
_MASS_HEIGHT = 0.15
_SIDES = (("left", 1), ("right", -1))


@dataclass(frozen=True, slots=True)
class _Block:
    """A box and where it is."""

    shape: BoxShape
    at: Placement

    @classmethod
    def between(cls, x_m: tuple[float, float], width_m: float, z_m: tuple[float, float]) -> _Block:
        shape = BoxShape(x_m[1] - x_m[0], width_m, z_m[1] - z_m[0])
        return cls(shape, Placement(x_m=0.5 * sum(x_m), z_m=0.5 * sum(z_m)))

    @property
    def front_m(self) -> float:
        return self.at.x_m + 0.5 * self.shape.x_m

    @property
    def back_m(self) -> float:
        return self.at.x_m - 0.5 * self.shape.x_m

    @property
    def top_m(self) -> float:
        return self.at.z_m + 0.5 * self.shape.z_m


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The three parts of the body."""

    tub: _Block
    nose: _Block
    cabin: _Block


def car_body(spec: RoverSpec, number: int, colour: Colour) -> SdfLink:
    """Build it; the origin is on the ground in the middle of the rear axle."""
    blocks = _blocks(spec)
    tub, cabin = blocks.tub, blocks.cabin
    bottom_m = tub.at.z_m - 0.5 * tub.shape.z_m
    height_m = cabin.top_m - bottom_m
    center = Placement(x_m=spec.center_ahead_m, z_m=bottom_m + _MASS_HEIGHT * height_m)
    size_m = (spec.length_m, tub.shape.y_m, height_m)
    return SdfLink(
        name="base_link",
        inertial=box_inertial(BODY_MASS_SHARE * spec.mass_kg, size_m, center),
        visuals=(
            *_bodywork(blocks, colour),
            *_trimmings(spec, blocks),
            *number_visuals(
                number,
                center=Placement(x_m=cabin.at.x_m, z_m=cabin.top_m),
                length_m=0.82 * cabin.shape.x_m,
                width_m=0.80 * cabin.shape.y_m,
                colour=readable_on(colour),
            ),
        ),
        collisions=tuple(
            Collision(name=name, shape=block.shape, at=block.at)
            for name, block in (("tub", tub), ("nose", blocks.nose), ("cabin", cabin))
        ),
    )


def _blocks(spec: RoverSpec) -> _Blocks:
    radius_m, width_m = spec.wheel_radius_m, spec.wheel_width_m
    bottom_m = 0.65 * radius_m
    belt_m = max(bottom_m + 0.5 * (spec.height_m - bottom_m), 1.25 * radius_m)
    top_m = max(spec.height_m, belt_m + 0.3 * radius_m)
    back_m = spec.center_ahead_m - 0.5 * spec.length_m
    front_m = back_m + spec.length_m
    # How far the wheels reach back and inward when they are fully turned.
    sine, cosine = _sincos(spec.max_steer_deg)
    reach_m = 0.5 * spec.track_m * sine + radius_m * cosine + 0.2 * width_m
    inner_m = 0.5 * (spec.track_m - width_m) * cosine - radius_m * sine - 0.1 * width_m
    split_m = max(spec.wheel_base - reach_m, back_m + 0.3 * spec.length_m)
    tub_width_m = max(spec.track_m - 1.3 * width_m, 0.3 * spec.track_m)
    nose_width_m = min(max(2.0 * inner_m, 0.25 * spec.track_m), tub_width_m)
    tub = _Block.between((back_m, split_m), tub_width_m, (bottom_m, belt_m))
    nose = _Block.between((split_m, front_m), nose_width_m, (bottom_m, 0.92 * belt_m))
    cabin = _Block.between(
        (back_m + 0.12 * spec.length_m, split_m), 0.92 * tub_width_m, (belt_m, top_m)
    )
    return _Blocks(tub, nose, cabin)


def _bodywork(blocks: _Blocks, colour: Colour) -> tuple[Visual, ...]:
    """The painted parts, and a band of glass round the cabin."""
    cabin = blocks.cabin
    glass = BoxShape(1.03 * cabin.shape.x_m, 1.03 * cabin.shape.y_m, 0.55 * cabin.shape.z_m)
    glass_at = Placement(x_m=cabin.at.x_m, z_m=cabin.at.z_m - 0.08 * cabin.shape.z_m)
    painted = (("tub", blocks.tub), ("nose", blocks.nose), ("cabin", cabin))
    return (
        *(
            Visual(name=name, shape=block.shape, colour=colour, at=block.at)
            for name, block in painted
        ),
        Visual(name="windows", shape=glass, colour=GLASS, at=glass_at),
    )


def _trimmings(spec: RoverSpec, blocks: _Blocks) -> tuple[Visual, ...]:
    """Bumpers, lamps and the GPS puck on the nose."""
    tub, nose = blocks.tub, blocks.nose
    visuals: list[Visual] = []
    ends = (
        ("front", nose, nose.front_m, 1.1 * nose.shape.y_m, LAMP),
        ("rear", tub, tub.back_m, spec.width_m, BRAKE_LAMP),
    )
    for end, block, x_m, width_m, shade in ends:
        bumper = BoxShape(0.04 * spec.length_m, width_m, 0.30 * block.shape.z_m)
        bumper_at = Placement(x_m=x_m, z_m=block.at.z_m - 0.25 * block.shape.z_m)
        visuals.append(Visual(name=f"{end}_bumper", shape=bumper, colour=BLACK, at=bumper_at))
        lamp = BoxShape(0.02 * spec.length_m, 0.2 * block.shape.y_m, 0.22 * block.shape.z_m)
        for side, left in _SIDES:
            at = Placement(
                x_m=x_m,
                y_m=0.34 * left * block.shape.y_m,
                z_m=block.at.z_m + 0.22 * block.shape.z_m,
            )
            visuals.append(Visual(name=f"{end}_lamp_{side}", shape=lamp, colour=shade, at=at))
    puck = CylinderShape(0.3 * nose.shape.y_m, 0.06 * spec.height_m)
    puck_at = Placement(
        x_m=nose.front_m - 0.35 * nose.shape.x_m, z_m=nose.top_m + 0.03 * spec.height_m
    )
    return (*visuals, Visual(name="gps", shape=puck, colour=WHITE, at=puck_at))


def _sincos(angle_deg: float) -> tuple[float, float]:
    angle_rad = math.radians(angle_deg)
    return math.sin(angle_rad), math.cos(angle_rad)


FRONT_AXLE = "front_axle"
STEERING_JOINT = "steering_joint"
_AXLE_MASS_SHARE = 1.0 - BODY_MASS_SHARE - 4.0 * WHEEL_MASS_SHARE
# Natural frequency of the steering: quick for a servo, slow for a physics step of 10 ms.
_STEERING_RADPS = 60.0
_STEERING_DAMPING_RATIO = 0.8
_STEERING_TRIM_PER_S = 5.0


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


def _front_axle(spec: RoverSpec) -> SdfLink:
    """The beam between the front wheels."""
    thick_m = 0.3 * spec.wheel_radius_m
    beam = BoxShape(thick_m, spec.track_m, thick_m)
    return SdfLink(
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
