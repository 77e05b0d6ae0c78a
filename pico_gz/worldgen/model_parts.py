"""What an SDF model is put together from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pico_gz.worldgen.inertia import Inertial
from pico_gz.worldgen.shapes import AT_ORIGIN, Collision, Placement, Visual


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
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
        limit_rad: how far it turns either way; None: for ever.
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

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    controls: tuple[Control, ...]
    # Joints whose angle the plugin reads.
    watched_joints: tuple[str, ...] = ()
    # Where sensors that look around are mounted.
    mast: Placement = AT_ORIGIN
    nose: Placement = AT_ORIGIN
