"""The body of a car: a tub, a narrow nose between the steered wheels, a cabin."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pico_gz.rover import RoverSpec
from pico_gz.worldgen.colours import BLACK, BRAKE_LAMP, GLASS, LAMP, WHITE, readable_on
from pico_gz.worldgen.digits import number_visuals
from pico_gz.worldgen.inertia import box_inertial
from pico_gz.worldgen.model_parts import Link
from pico_gz.worldgen.shapes import (
    BoxShape,
    Collision,
    Colour,
    CylinderShape,
    Placement,
    Visual,
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


def car_body(spec: RoverSpec, number: int, colour: Colour) -> Link:
    """Build it; the origin is on the ground in the middle of the rear axle."""
    blocks = _blocks(spec)
    tub, cabin = blocks.tub, blocks.cabin
    bottom_m = tub.at.z_m - 0.5 * tub.shape.z_m
    height_m = cabin.top_m - bottom_m
    center = Placement(x_m=spec.center_ahead_m, z_m=bottom_m + _MASS_HEIGHT * height_m)
    size_m = (spec.length_m, tub.shape.y_m, height_m)
    return Link(
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
