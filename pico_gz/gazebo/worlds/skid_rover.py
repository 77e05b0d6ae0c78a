"""A four-wheeled skid-steered rover in any size."""

from __future__ import annotations

import math

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.gazebo.worlds.parts import (
    ALONG_RAD,
    AXLE,
    BLACK,
    BOARD_GREEN,
    CONTACT_SHARE,
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
)

# Tyres that give way sideways let it turn in place without hopping.
_ACROSS_OVER_ALONG = 0.6
_PLATE = 0.04  # thickness of the deck, of the body's height
_CORNERS = (("front_left", 1, 1), ("front_right", 1, -1), ("rear_left", -1, 1),
            ("rear_right", -1, -1))  # fmt: skip


def skid_chassis(spec: RoverSpec, number: int, colour: Colour) -> Chassis:
    """Build it; the origin is on the ground in the middle of the wheels."""
    links = [_body(spec, number, colour)]
    joints: list[Joint] = []
    controls: list[Control] = []
    for corner, ahead, left in _CORNERS:
        wheel = f"{corner}_wheel"
        at = Placement(
            x_m=0.5 * ahead * spec.axle_distance_m,
            y_m=0.5 * left * spec.track_m,
            z_m=spec.wheel_radius_m,
        )
        contact_y_m = left * _contact_y_m(spec)
        links.append(wheel_link(wheel, spec, at, _friction(spec), contact_y_m=contact_y_m))
        joint = axle_joint("base_link", wheel, spec)
        joints.append(joint)
        channel = spec.channels.left if left > 0 else spec.channels.right
        controls.append(_control(spec, joint.name, channel))
    height_m = _Heights.of(spec).top_m
    return Chassis(
        links=tuple(links),
        joints=tuple(joints),
        controls=tuple(controls),
        mast=Placement(x_m=-0.05 * spec.length_m, z_m=height_m + 0.35 * spec.height_m),
        nose=Placement(x_m=0.5 * spec.length_m, z_m=height_m),
    )


def _friction(spec: RoverSpec) -> Friction:
    along = grip(spec)
    return Friction(along=along, across=_ACROSS_OVER_ALONG * along, axis=AXLE)


def _contact_y_m(spec: RoverSpec) -> float:
    """How far outside of its wheels it touches the ground.

    A skid-steered rover turns slower than its wheels say, as if its track were
    ``track_factor`` times as wide. Tyres that stick along and give way across turn exactly by
    the track of their contacts, at every speed and in every arc; so that is what is widened,
    as far as the disc reaches that collides in the Lightweight simulator. Of a contact the
    outer edge rolls and the inner one slides.
    """
    edge_inside_m = 0.5 * CONTACT_SHARE * spec.wheel_width_m
    wanted_m = 0.5 * (spec.track_factor - 1.0) * spec.track_m - edge_inside_m
    half_length_m = min(0.5 * spec.axle_distance_m, spec.radius_m)
    edge_m = math.sqrt(spec.radius_m**2 - half_length_m**2) - 0.5 * spec.wheel_width_m
    return max(-edge_inside_m, min(wanted_m, edge_m - 0.5 * spec.track_m))


def _control(spec: RoverSpec, joint: str, channel: int) -> Control:
    return Control(
        channel=channel - 1,
        joint=joint,
        kind=ControlKind.VELOCITY,
        multiplier=2.0 * top_wheel_radps(spec),
        use_force=False,
        limit=top_wheel_radps(spec),
    )


class _Heights:
    """Where the layers of the body begin and end [m above ground]."""

    __slots__ = ("bottom_m", "deck_m", "top_m")

    def __init__(self, bottom_m: float, deck_m: float, top_m: float) -> None:
        self.bottom_m, self.deck_m, self.top_m = bottom_m, deck_m, top_m

    @classmethod
    def of(cls, spec: RoverSpec) -> _Heights:
        """The deck lies just above the wheels."""
        deck_m = max(2.12 * spec.wheel_radius_m, 0.70 * spec.height_m)
        return cls(0.65 * spec.wheel_radius_m, deck_m, deck_m + _PLATE * spec.height_m)


def _inner_width_m(spec: RoverSpec) -> float:
    """Room between the wheels."""
    return max(spec.track_m - 1.3 * spec.wheel_width_m, 0.3 * spec.track_m)


def _body(spec: RoverSpec, number: int, colour: Colour) -> SdfLink:
    heights = _Heights.of(spec)
    bottom_m, top_m = heights.bottom_m, heights.top_m
    body = BoxShape(spec.length_m, _inner_width_m(spec), heights.deck_m - bottom_m)
    body_at = Placement(z_m=0.5 * (bottom_m + heights.deck_m))
    deck = BoxShape(spec.length_m, spec.width_m, top_m - heights.deck_m)
    deck_at = Placement(z_m=0.5 * (top_m + heights.deck_m))
    return SdfLink(
        name="base_link",
        inertial=box_inertial(
            (1.0 - 4.0 * WHEEL_MASS_SHARE) * spec.mass_kg,
            (spec.length_m, _inner_width_m(spec), top_m - bottom_m),
            # Batteries and motors sit low.
            Placement(z_m=bottom_m + 0.4 * (top_m - bottom_m)),
        ),
        visuals=(
            *_tub(spec, heights, colour),
            Visual(name="deck", shape=deck, colour=colour, at=deck_at),
            *_fittings(spec, heights),
            *number_visuals(
                number,
                center=Placement(z_m=top_m),
                length_m=0.40 * spec.length_m,
                width_m=0.80 * spec.width_m,
                colour=readable_on(colour),
            ),
        ),
        collisions=(
            Collision(name="body", shape=body, at=body_at),
            Collision(name="deck", shape=deck, at=deck_at),
        ),
    )


def _tub(spec: RoverSpec, heights: _Heights, colour: Colour) -> tuple[Visual, ...]:
    """The lower plate with its motors, and the posts that carry the deck."""
    floor_m = heights.bottom_m + 0.5 * (heights.deck_m - heights.bottom_m)
    tub = BoxShape(spec.length_m, _inner_width_m(spec), floor_m - heights.bottom_m)
    tub_at = Placement(z_m=0.5 * (floor_m + heights.bottom_m))
    battery = BoxShape(
        0.45 * spec.length_m, 0.55 * _inner_width_m(spec), 0.7 * (heights.deck_m - floor_m)
    )
    battery_at = Placement(z_m=floor_m + 0.35 * (heights.deck_m - floor_m))
    post = CylinderShape(0.02 * spec.length_m, heights.deck_m - floor_m)
    posts = tuple(
        Visual(
            name=f"post_{corner}",
            shape=post,
            colour=STEEL,
            at=Placement(
                x_m=0.44 * ahead * spec.length_m,
                y_m=0.40 * left * _inner_width_m(spec),
                z_m=0.5 * (heights.deck_m + floor_m),
            ),
        )
        for corner, ahead, left in _CORNERS
    )
    return (
        Visual(name="tub", shape=tub, colour=BLACK, at=tub_at),
        Visual(name="battery", shape=battery, colour=STEEL, at=battery_at),
        *posts,
    )


def _fittings(spec: RoverSpec, heights: _Heights) -> tuple[Visual, ...]:
    """Ultrasonic eyes in front, the flight board and the GPS puck on its mast at the back."""
    top_m, unit_m = heights.top_m, spec.height_m
    front_m = 0.5 * spec.length_m
    eye = CylinderShape(0.08 * unit_m, 0.12 * unit_m)
    eyes = tuple(
        Visual(
            name=f"eye_{side}",
            shape=eye,
            colour=STEEL,
            at=Placement(
                x_m=front_m + 0.02 * unit_m,
                y_m=left * 0.13 * unit_m,
                z_m=top_m + 0.12 * unit_m,
                pitch_rad=ALONG_RAD,
            ),
        )
        for side, left in (("left", 1), ("right", -1))
    )
    eye_board = BoxShape(0.02 * unit_m, 0.50 * unit_m, 0.24 * unit_m)
    eye_board_at = Placement(x_m=front_m - 0.05 * unit_m, z_m=top_m + 0.12 * unit_m)
    board = BoxShape(0.10 * spec.length_m, 0.45 * spec.width_m, 0.04 * unit_m)
    board_at = Placement(x_m=-0.28 * spec.length_m, z_m=top_m + 0.02 * unit_m)
    mast = CylinderShape(0.02 * unit_m, 0.20 * unit_m)
    mast_at = Placement(x_m=-0.42 * spec.length_m, z_m=top_m + 0.10 * unit_m)
    puck = CylinderShape(0.13 * unit_m, 0.06 * unit_m)
    puck_at = Placement(x_m=-0.42 * spec.length_m, z_m=top_m + 0.23 * unit_m)
    return (
        Visual(name="eye_board", shape=eye_board, colour=BOARD_GREEN, at=eye_board_at),
        *eyes,
        Visual(name="board", shape=board, colour=BOARD_GREEN, at=board_at),
        Visual(name="mast", shape=mast, colour=STEEL, at=mast_at),
        Visual(name="gps", shape=puck, colour=WHITE, at=puck_at),
    )
