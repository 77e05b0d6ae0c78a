"""Shapes, inertias, links, wheels, colours and numbers of SDF models.

World ENU (x east, y north, z up), body FLU (x forward, y left, z up), metres and radians.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import check_name
from pico_gz.errors import MessageError, WorldTemplateError


def check_model_name(name: str) -> str:
    """Return ``name`` if it may name a model or a world.

    Raises:
        WorldTemplateError: it is no usable name, or SDF keeps it for itself.
    """
    try:
        check_name(name)
    except MessageError as error:
        raise WorldTemplateError(error.message, hint=error.hint) from error
    if name == "world" or (name.startswith("__") and name.endswith("__")):
        raise WorldTemplateError(
            f"{name!r} is a name that SDF keeps for itself.", hint="Choose another name."
        )
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where something is and how it is turned: roll about x, then pitch about y, then yaw."""

    x_m: float = 0.0
    y_m: float = 0.0
    z_m: float = 0.0
    roll_rad: float = 0.0
    pitch_rad: float = 0.0
    yaw_rad: float = 0.0

    @property
    def values(self) -> tuple[float, ...]:
        """The six numbers of an SDF ``<pose>``."""
        return (self.x_m, self.y_m, self.z_m, self.roll_rad, self.pitch_rad, self.yaw_rad)

    @property
    def is_origin(self) -> bool:
        """Whether it need not be written."""
        return not any(self.values)


# Where a thing is that is not moved.
AT_ORIGIN = Placement()
# A cylinder's axis is z; this lays it across the rover, as an axle is.
ACROSS_RAD = -0.5 * math.pi
# And this along it.
ALONG_RAD = 0.5 * math.pi


@dataclass(frozen=True, slots=True)
class BoxShape:
    """A box round its middle."""

    kind: ClassVar[str] = "box"
    x_m: float
    y_m: float
    z_m: float


@dataclass(frozen=True, slots=True)
class CylinderShape:
    """A cylinder round its middle, its axis along z."""

    kind: ClassVar[str] = "cylinder"
    radius_m: float
    length_m: float


@dataclass(frozen=True, slots=True)
class PlaneShape:
    """An endless plane; only its picture has a size."""

    kind: ClassVar[str] = "plane"
    normal: tuple[float, float, float]
    size_m: float


@dataclass(frozen=True, slots=True)
class MeshShape:
    """A mesh file beside the world file."""

    kind: ClassVar[str] = "mesh"
    uri: str


Shape = BoxShape | CylinderShape | PlaneShape | MeshShape
Colour = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visual:
    """A visual of a link."""

    name: str
    shape: Shape
    colour: Colour
    at: Placement = AT_ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Friction:
    """Coulomb friction along two directions of the contact.

    Attributes:
        along: coefficient in the rolling direction, or in every direction.
        across: coefficient along ``axis``.
        axis: in the frame of the collision shape; None: friction is the same everywhere.
    """

    along: float
    across: float
    axis: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """A collision shape of a link."""

    name: str
    shape: Shape
    at: Placement = AT_ORIGIN
    friction: Friction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inertial:
    """Mass, centre of mass and principal moments of a link [kg, kg m^2]."""

    mass_kg: float
    ixx: float
    iyy: float
    izz: float
    at: Placement = AT_ORIGIN


def box_inertial(
    mass_kg: float, size_m: tuple[float, float, float], at: Placement = AT_ORIGIN
) -> Inertial:
    """A solid box round ``at``."""
    x2, y2, z2 = (side * side for side in size_m)
    scale = mass_kg / 12.0
    return Inertial(
        mass_kg=mass_kg,
        ixx=scale * (y2 + z2),
        iyy=scale * (x2 + z2),
        izz=scale * (x2 + y2),
        at=at,
    )


def wheel_inertial(mass_kg: float, radius_m: float, width_m: float) -> Inertial:
    """A solid wheel whose axle lies along y."""
    across = mass_kg * (3.0 * radius_m**2 + width_m**2) / 12.0
    return Inertial(mass_kg=mass_kg, ixx=across, iyy=0.5 * mass_kg * radius_m**2, izz=across)


# Successive hues are this far apart on the circle, so near ids never look alike.
_GOLDEN_RATIO = 0.6180339887498949
_FIRST_HUE = 0.57

BLACK: Colour = (0.04, 0.04, 0.05)
TYRE: Colour = (0.08, 0.08, 0.09)
WHITE: Colour = (0.96, 0.96, 0.96)
STEEL: Colour = (0.55, 0.57, 0.60)
GLASS: Colour = (0.12, 0.16, 0.22)
YELLOW: Colour = (0.95, 0.78, 0.10)
BOARD_GREEN: Colour = (0.05, 0.38, 0.18)
LAMP: Colour = (1.0, 0.95, 0.75)
BRAKE_LAMP: Colour = (0.75, 0.05, 0.05)
ORANGE: Colour = (0.95, 0.42, 0.05)
BRICK: Colour = (0.58, 0.27, 0.20)
WOOD: Colour = (0.72, 0.53, 0.32)
CONCRETE: Colour = (0.62, 0.62, 0.60)
GRASS: Colour = (0.36, 0.46, 0.30)


def rover_colour(number: int) -> Colour:
    """The body colour of rover ``number``."""
    hue = (_FIRST_HUE + _GOLDEN_RATIO * (number - 1)) % 1.0
    value = (0.85, 0.65)[(number - 1) // 12 % 2]
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.80, value)
    return (round(red, 3), round(green, 3), round(blue, 3))


def readable_on(colour: Colour) -> Colour:
    """Black or white, whichever is easier to read on ``colour``."""
    red, green, blue = colour
    return BLACK if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else WHITE


@dataclass(frozen=True, slots=True, kw_only=True)
class SdfLink:
    """A rigid body."""

    name: str
    inertial: Inertial | None = None
    at: Placement = AT_ORIGIN
    visuals: tuple[Visual, ...] = ()
    collisions: tuple[Collision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """A revolute joint.

    Attributes:
        name: and ``parent``, ``child``: of the links.
        axis: in the child's frame.
        limit_rad: how far it turns either way; None: without end.
        effort_nm: the most its motor can do; None: no limit.
        velocity_radps: the fastest it turns; None: no limit.
        damping: torque per rad/s.
        friction: torque that holds it at rest.
    """

    name: str
    parent: str
    child: str
    axis: tuple[float, float, float]
    limit_rad: float | None = None
    effort_nm: float | None = None
    velocity_radps: float | None = None
    damping: float = 0.0
    friction: float = 0.0


class ControlKind(StrEnum):
    """What the plugin makes of a channel."""

    VELOCITY = "VELOCITY"
    POSITION = "POSITION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A channel of the plugin that moves a joint: ``multiplier * (pwm 0..1 - 0.5)``.

    Attributes:
        channel: 0-based, 0 is SERVO1.
        joint: the joint's name.
        kind: velocity [rad/s] or position [rad].
        multiplier: command per unit of pulse width, end to end.
        use_force: torque by PID, or the joint's speed set directly.
        p_gain: and ``i_gain``, ``d_gain``: of the PID.
        i_limit: of the integral part, either way [N m].
        limit: of the torque [N m]; without ``use_force`` the plugin does not apply it.
    """

    channel: int
    joint: str
    kind: ControlKind
    multiplier: float
    use_force: bool
    p_gain: float = 0.0
    i_gain: float = 0.0
    d_gain: float = 0.0
    i_limit: float = 0.0
    limit: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chassis:
    """The mechanical part of a rover: everything but its name, place, sensors and ports."""

    links: tuple[SdfLink, ...]
    joints: tuple[Joint, ...]
    controls: tuple[Control, ...]
    # Joints whose angle the plugin reads.
    watched_joints: tuple[str, ...] = ()
    # Where sensors that look around are mounted.
    mast: Placement = AT_ORIGIN
    nose: Placement = AT_ORIGIN


WHEEL_MASS_SHARE = 0.04
# Friction along the wheel's own axis; in the frame of its cylinder that is z.
AXLE = (0.0, 0.0, 1.0)
# What a rover without a grip limit of its own has: rubber on a dry road.
DEFAULT_GRIP = 0.9
# Commands never ask for more than the top speed; the limit only stops a runaway.
_SPEED_MARGIN = 2.0
# A wide tyre that turns rolls at an unknown place between its edges; a narrow
# contact makes the track what is written.
CONTACT_SHARE = 0.1
_ACROSS = Placement(roll_rad=ACROSS_RAD)


def wheel_mass_kg(spec: RoverSpec) -> float:
    """What one wheel weighs."""
    return WHEEL_MASS_SHARE * spec.mass_kg


def grip(spec: RoverSpec) -> float:
    """Friction coefficient of the tyres."""
    return spec.grip_mu or DEFAULT_GRIP


def top_wheel_radps(spec: RoverSpec) -> float:
    """How fast a wheel turns at top speed."""
    return spec.max_speed / spec.wheel_radius_m


def wheel_link(
    name: str, spec: RoverSpec, at: Placement, friction: Friction, *, contact_y_m: float = 0.0
) -> SdfLink:
    """A wheel whose axle lies along y; it touches the ground ``contact_y_m`` beside itself."""
    radius_m, width_m = spec.wheel_radius_m, spec.wheel_width_m
    tyre = CylinderShape(radius_m, width_m)
    hub = CylinderShape(0.62 * radius_m, 1.04 * width_m)
    spoke = CylinderShape(0.16 * radius_m, 1.10 * width_m)
    spoke_at = Placement(x_m=0.38 * radius_m, roll_rad=ACROSS_RAD)
    return SdfLink(
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


# Which of the segments a..g are lit: a top, b and c right, d bottom, e and f left, g middle.
# A one stands in the middle (h, i), where one looks for it.
_LIT = {
    "0": "abcdef",
    "1": "hi",
    "2": "abged",
    "3": "abgcd",
    "4": "fgbc",
    "5": "afgcd",
    "6": "afgedc",
    "7": "abc",
    "8": "abcdefg",
    "9": "abcdfg",
}
# Middle of each segment in units of (half width, half height), and whether it lies crosswise.
_SEGMENTS = {
    "a": (0.0, 1.0, True),
    "b": (1.0, 0.5, False),
    "c": (1.0, -0.5, False),
    "d": (0.0, -1.0, True),
    "e": (-1.0, -0.5, False),
    "f": (-1.0, 0.5, False),
    "g": (0.0, 0.0, True),
    "h": (0.0, 0.5, False),
    "i": (0.0, -0.5, False),
}
_THICKNESS = 0.22  # of a digit's width
_GAP = 0.45  # between digits, of a digit's width
_ASPECT = 1.9  # height over width, at most
_RELIEF_M = 0.001


def number_visuals(
    number: int, *, center: Placement, length_m: float, width_m: float, colour: Colour
) -> tuple[Visual, ...]:
    """Write ``number`` on a surface of ``length_m`` along x and ``width_m`` along y.

    The top of the digits points forward (+x), so the number reads upright behind the rover.

    Args:
        number: 0 or more.
        center: middle of the surface; only its position is used.
        length_m: room along the rover.
        width_m: room across it.
        colour: of the segments.
    """
    text = str(number)
    slots = len(text) + _GAP * (len(text) - 1)
    digit_m = min(width_m / slots, length_m / 1.2)
    height_m = min(length_m, _ASPECT * digit_m)
    visuals: list[Visual] = []
    for index, digit in enumerate(text):
        # Left to right for the reader is from +y to -y.
        offset_m = digit_m * ((1.0 + _GAP) * index + 0.5 - 0.5 * slots)
        for segment, shape, ahead_m, right_m in _segments(digit, digit_m, height_m):
            at = Placement(
                x_m=center.x_m + ahead_m,
                y_m=center.y_m - offset_m - right_m,
                z_m=center.z_m + 0.5 * _RELIEF_M,
            )
            name = f"number_{index + 1}{segment}"
            visuals.append(Visual(name=name, shape=shape, colour=colour, at=at))
    return tuple(visuals)


def _segments(
    digit: str, width_m: float, height_m: float
) -> Iterator[tuple[str, BoxShape, float, float]]:
    """Each lit segment: its letter, box, and how far ahead and to the right of the middle."""
    thick_m = _THICKNESS * width_m
    half_width_m, half_height_m = 0.5 * (width_m - thick_m), 0.5 * (height_m - thick_m)
    for segment in _LIT[digit]:
        right, ahead, crosswise = _SEGMENTS[segment]
        if crosswise:
            shape = BoxShape(thick_m, width_m, _RELIEF_M)
        else:
            shape = BoxShape(half_height_m + thick_m, thick_m, _RELIEF_M)
        yield segment, shape, ahead * half_height_m, right * half_width_m
