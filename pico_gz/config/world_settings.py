"""The world's tables of the fleet file: ground, wind and obstacles (see ``settings``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from annotated_types import Interval

from pico_gz.config.types import CHECKING, Degrees, Distance, Positive


class TerrainKind(StrEnum):
    """What the ground is like."""

    FLAT = "flat"
    RAMP = "ramp"
    HEIGHTMAP = "heightmap"


class ObstacleKind(StrEnum):
    """What stands in the way."""

    DISC = "disc"
    WALL = "wall"
    BOX = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class TerrainSection:
    """The ground, the same for Lightweight and for the Gazebo world."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    kind: TerrainKind = TerrainKind.FLAT
    """flat, ramp (one slope) or heightmap (a grid of heights)."""
    slope_deg: Annotated[float, Interval(ge=-60, le=60)] | None = None
    """ramp: how steep it is [degrees]; default 10."""
    direction_deg: Degrees | None = None
    """ramp: where it rises to, clockwise from north [degrees]; default 0."""
    start_m: Distance | None = None
    """ramp: how far along direction_deg it begins [m]; default 0."""
    length_m: Annotated[float, Interval(ge=0, le=1_000_000)] | None = None
    """ramp: its length in the ground plan [m], level behind it; default 0 = endless both ways."""
    file: str | None = None
    """heightmap: .csv or .npy of heights [m], southernmost row first, columns eastward."""
    cell_m: Positive | None = None
    """heightmap: distance between two heights [m]; default 1."""
    north_m: Distance | None = None
    """heightmap: where its southern row lies [m]; default: its middle at the origin."""
    east_m: Distance | None = None
    """heightmap: where its western column lies [m]; default: its middle at the origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindSection:
    """Steady wind and gusts."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    north_mps: Annotated[float, Interval(ge=-100, le=100)] = 0.0
    """Where the air moves to, north [m/s]."""
    east_mps: Annotated[float, Interval(ge=-100, le=100)] = 0.0
    """Where the air moves to, east [m/s]."""
    gust_mps: Annotated[float, Interval(ge=0, le=100)] = 0.0
    """Standard deviation of the gusts [m/s]."""
    tau_s: Positive = 5.0
    """How long a gust lasts [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObstacleSection:
    """Something that stands in the way; its place is the middle, or the start of a wall."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    kind: ObstacleKind = ObstacleKind.DISC
    """disc, wall or box."""
    north_m: Distance = 0.0
    """North of the origin [m]."""
    east_m: Distance = 0.0
    """East of the origin [m]."""
    radius_m: Positive | None = None
    """disc: its radius [m]; default 0.5."""
    north2_m: Distance | None = None
    """wall: where it ends, north [m]; required."""
    east2_m: Distance | None = None
    """wall: where it ends, east [m]; required."""
    thickness_m: Positive | None = None
    """wall: how thick it is [m]; default 0.1."""
    size_n_m: Positive | None = None
    """box: its size along north before turning [m]; default 1."""
    size_e_m: Positive | None = None
    """box: its size along east before turning [m]; default 1."""
    yaw_deg: Degrees | None = None
    """box: how far it is turned, clockwise [degrees]; default 0."""
    height_m: Positive = 0.5
    """How high it stands in the Gazebo world [m]."""
