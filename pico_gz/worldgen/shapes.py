"""Primitive shapes and where they are; everything here is in Gazebo's frames.

World ENU (x east, y north, z up), body FLU (x forward, y left, z up), metres and radians.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar


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
    """Something to see."""

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
    """Something to bump into."""

    name: str
    shape: Shape
    at: Placement = AT_ORIGIN
    friction: Friction | None = None
