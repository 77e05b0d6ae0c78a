"""A rover as MJCF: chassis, wheels, motors, inertial sensors.

Body frame FLU (x ahead, y left, z up) with the origin on the ground at the rover's reference
point, metres, kilograms, radians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.core.vehicle_config import DriveKind, Pose

# Wheels touch the ground and obstacles; bodies touch these and other bodies.
GROUND_BITS = 'contype="1" conaffinity="0"'
_WHEEL_BITS = 'contype="0" conaffinity="1"'
_BODY_BITS = 'contype="2" conaffinity="3"'
_WHEEL_MASS_SHARE = 0.04
_HUB_MASS_SHARE = 0.01
# Rubber on a dry road, for a rover without a grip of its own.
_DEFAULT_GRIP = 0.9
_BODY_FRICTION = 0.3
# What a gear motor's rotor weighs at the tyre, as a share of the rover. Light wheels would chatter:
# within a step of 2 ms friction turns their slip round, and skidding costs them nothing.
_ROTOR_SHARE = 3.0
# The motor controller holds a wheel's speed within this time [s].
_SERVO_S = 0.005
# A motor can spin a wheel that carries half of the rover, and its own rotor faster than that.
_LOAD_SHARE = 0.5
# Speed that such a controller would lose per push [m/s per m/s^2]; its integral part adds it.
SERVO_SAG_S = 0.25 * _SERVO_S / (0.25 + _ROTOR_SHARE)
_SPIN_UP = 2.0
_STEERING_RADPS = 120.0
# Soft tyres: hard ones hop when they skid. The impedance of their contacts grows from the first to
# the second number over this share of the radius; time constant [s] and damping ratio.
_TYRE_SOFT, _TYRE_HARD, _TYRE_SHARE = 0.3, 0.95, 0.1
_TYRE_S, _TYRE_DAMPING = 0.015, 1.5
_CORNERS = (("front_left", 1, 1), ("front_right", 1, -1), ("rear_left", -1, 1),
            ("rear_right", -1, -1))  # fmt: skip
BASE = "base_link"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRover:
    """A rover of a model.

    Attributes:
        vehicle_id: whose it is.
        label: its name, which all names of its parts begin with.
        spec: how it is built.
        pose: where it starts; height and tilt come from the ground.
        looks: geoms that are only seen, as MJCF by the name of the part (``base_link``,
            ``front_left_wheel`` ...); without them the shapes that touch are seen.
    """

    vehicle_id: int
    label: str
    spec: RoverSpec
    pose: Pose
    looks: Mapping[str, str] = field(default_factory=dict)


def grip(spec: RoverSpec) -> float:
    """Friction coefficient of the tyres, the same in every direction."""
    return spec.grip_mu or _DEFAULT_GRIP


def skid_half_track_m(spec: RoverSpec) -> float:
    """What wheel speeds differ by per yaw rate, halved, when four tyres skid through a turn.

    A tyre at (a, b) slides by (v - w b) along and by w a across. Friction that is the same in
    every direction balances the moments of all four at w = v b / (a^2 + b^2), whatever the
    coefficient, the speed and the arc.
    """
    ahead_m, aside_m = 0.5 * spec.axle_distance_m, 0.5 * spec.track_m
    return (ahead_m * ahead_m + aside_m * aside_m) / aside_m


def tyre_sag_m(spec: RoverSpec) -> float:
    """How far the tyres of a standing rover are pressed in.

    There the contact's spring, weighted by its impedance d, carries the weight: d k x = (1 - d) g.
    """
    width_m = _TYRE_SHARE * spec.wheel_radius_m
    stiffness = 1.0 / (_TYRE_HARD * _TYRE_S * _TYRE_DAMPING) ** 2
    low_m, high_m = 0.0, 10.0 * width_m
    for _ in range(60):
        sag_m = 0.5 * (low_m + high_m)
        y = min(sag_m / width_m, 1.0)
        y = 2.0 * y * y if y < 0.5 else 1.0 - 2.0 * (1.0 - y) ** 2
        impedance = _TYRE_SOFT + (_TYRE_HARD - _TYRE_SOFT) * y
        if impedance * stiffness * sag_m < (1.0 - impedance) * GRAVITY_MPS2:
            low_m = sag_m
        else:
            high_m = sag_m
    return low_m


def numbers(*values: float) -> str:
    """Numbers as MJCF wants them."""
    return " ".join(f"{value:.9g}" for value in values)


class _Sizes:
    """Heights and widths of the body [m], as in the worlds for Gazebo."""

    def __init__(self, spec: RoverSpec) -> None:
        radius_m = spec.wheel_radius_m
        self.bottom_m = 0.65 * radius_m
        self.deck_m = max(2.12 * radius_m, 0.70 * spec.height_m)
        self.top_m = self.deck_m + 0.04 * spec.height_m
        self.inner_m = max(spec.track_m - 1.3 * spec.wheel_width_m, 0.3 * spec.track_m)
        # Steered wheels need room: the lower body of a car ends before them.
        self.back_m = spec.center_ahead_m - 0.5 * spec.length_m
        self.front_m = self.back_m + spec.length_m
        if spec.drive is DriveKind.ACKERMANN:
            steer_rad = math.radians(spec.max_steer_deg)
            half_m = 0.5 * (spec.track_m - spec.wheel_width_m) - radius_m * math.sin(steer_rad)
            self.inner_m = max(min(2.0 * half_m, self.inner_m), 0.25 * spec.track_m)


def rover_body(rover: PlacedRover, place: str) -> str:
    """The ``<body>`` of a rover; ``place`` are its position and attitude as attributes."""
    spec, sizes = rover.spec, _Sizes(rover.spec)
    wheels = "".join(_wheel(rover, *corner) for corner in _CORNERS)
    return (
        f'<body name="{rover.label}" {place}><freejoint name="{rover.label}/free"/>'
        f"{_inertial(spec, sizes)}{_shapes(rover, sizes)}{rover.looks.get(BASE, '')}"
        f'<site name="{rover.label}/imu" pos="0 0 0" size="0.005" group="4"/>'
        f"{wheels}</body>\n"
    )


def _inertial(spec: RoverSpec, sizes: _Sizes) -> str:
    share = 1.0 - 4.0 * _WHEEL_MASS_SHARE
    if spec.drive is DriveKind.ACKERMANN:
        share -= 2.0 * _HUB_MASS_SHARE
    mass_kg, height_m = share * spec.mass_kg, sizes.top_m - sizes.bottom_m
    x2, y2, z2 = spec.length_m**2, sizes.inner_m**2, height_m**2
    # Batteries and motors sit low.
    low_m = sizes.bottom_m + (0.4 if spec.drive is DriveKind.SKID else 0.15) * height_m
    inertia = (mass_kg / 12.0 * sums for sums in (y2 + z2, x2 + z2, x2 + y2))
    return (
        f'<inertial pos="{numbers(spec.center_ahead_m, 0.0, low_m)}" mass="{numbers(mass_kg)}"'
        f' diaginertia="{numbers(*inertia)}"/>'
    )


def _shapes(rover: PlacedRover, sizes: _Sizes) -> str:
    """What of the body touches: the tub between the wheels and the deck above them."""
    spec = rover.spec
    seen = 'rgba="0 0 0 0" group="3"' if rover.looks else 'rgba="0.2 0.45 0.7 1" group="1"'
    half_m, ahead_m = 0.5 * spec.length_m, spec.center_ahead_m
    parts = (
        ("tub", sizes.inner_m, sizes.bottom_m, sizes.deck_m),
        ("deck", spec.width_m, sizes.deck_m, sizes.top_m),
    )
    return "".join(
        f'<geom name="{rover.label}/{name}" type="box" {_BODY_BITS} {seen}'
        f' size="{numbers(half_m, 0.5 * wide_m, 0.5 * (high_m - low_m))}"'
        f' pos="{numbers(ahead_m, 0.0, 0.5 * (low_m + high_m))}"'
        f' friction="{numbers(_BODY_FRICTION)} 0.005 0.0001"/>'
        for name, wide_m, low_m, high_m in parts
    )


def _wheel(rover: PlacedRover, corner: str, ahead: int, left: int) -> str:
    spec, name = rover.spec, f"{corner}_wheel"
    middle_m = 0.0 if spec.drive is DriveKind.SKID else 0.5 * spec.axle_distance_m
    at = numbers(
        middle_m + 0.5 * ahead * spec.axle_distance_m,
        0.5 * left * spec.track_m,
        spec.wheel_radius_m - 0.5 * tyre_sag_m(spec),
    )
    if spec.drive is DriveKind.ACKERMANN and ahead > 0:
        mass_kg = _HUB_MASS_SHARE * spec.mass_kg
        turning = numbers(*(0.4 * mass_kg * spec.wheel_radius_m**2,) * 3)
        return (
            f'<body name="{rover.label}/{corner}_hub" pos="{at}"><joint'
            f' name="{rover.label}/{corner}_steering" axis="0 0 1"'
            f' armature="{numbers(_steering_inertia(spec))}"/>'
            f'<inertial pos="0 0 0" mass="{numbers(mass_kg)}" diaginertia="{turning}"/>'
            f"{_wheel_body(rover, name, '0 0 0')}</body>"
        )
    return _wheel_body(rover, name, at)


def _wheel_body(rover: PlacedRover, name: str, at: str) -> str:
    """A wheel that touches the ground in one point, as a narrow tyre does.

    MuJoCo puts a contact into the middle of what is pressed in: the tyre is larger by that much,
    so that a standing wheel rolls on its ``wheel_radius_m``.
    """
    spec = rover.spec
    mass_kg, radius_m = _WHEEL_MASS_SHARE * spec.mass_kg, spec.wheel_radius_m
    tyre_m = radius_m + 0.5 * tyre_sag_m(spec)
    across = mass_kg * (3.0 * radius_m**2 + spec.wheel_width_m**2) / 12.0
    inertia = numbers(across, 0.5 * mass_kg * radius_m**2, across)
    seen = rover.looks.get(name) or (
        f'<geom type="cylinder" contype="0" conaffinity="0" group="2" rgba="0.08 0.08 0.09 1"'
        f' size="{numbers(radius_m, 0.5 * spec.wheel_width_m)}" euler="1.570796327 0 0"/>'
    )
    return (
        f'<body name="{rover.label}/{name}" pos="{at}">'
        f'<joint name="{rover.label}/{name}" axis="0 1 0" armature="{numbers(_rotor(spec))}"/>'
        f'<inertial pos="0 0 0" mass="{numbers(mass_kg)}" diaginertia="{inertia}"/>'
        f'<geom name="{rover.label}/{name}" type="sphere" size="{numbers(tyre_m)}" {_WHEEL_BITS}'
        f' condim="3" priority="1" friction="{numbers(grip(spec))} 0.005 0.0001"'
        f' solref="{numbers(_TYRE_S, _TYRE_DAMPING)}"'
        f' solimp="{numbers(_TYRE_SOFT, _TYRE_HARD, _TYRE_SHARE * radius_m, 0.5, 2.0)}"'
        f' rgba="0 0 0 0" group="3"/>{seen}</body>'
    )


def _rotor(spec: RoverSpec) -> float:
    """Inertia of a motor's rotor behind its gears [kg m^2]."""
    return _ROTOR_SHARE * spec.mass_kg * spec.wheel_radius_m**2


def _steering_inertia(spec: RoverSpec) -> float:
    """Of a servo and its linkage, seen at the wheel [kg m^2]."""
    return 0.02 * spec.mass_kg * spec.wheel_radius_m**2


def rover_actuators(rover: PlacedRover) -> str:
    """Speed-controlled motors with a torque limit; position-controlled steering."""
    spec, label = rover.spec, rover.label
    radius_m, mass_kg = spec.wheel_radius_m, spec.mass_kg
    gain = (0.25 * mass_kg * radius_m**2 + _rotor(spec)) / _SERVO_S
    most_mps2 = max(grip(spec) * GRAVITY_MPS2, spec.accel_limit_mps2, spec.brake_limit_mps2)
    torque_nm = (
        _LOAD_SHARE * mass_kg * most_mps2 * radius_m
        + _SPIN_UP * _rotor(spec) * most_mps2 / radius_m
    )
    text = "".join(
        f'<velocity name="{label}/{corner}_motor" joint="{label}/{corner}_wheel"'
        f' kv="{numbers(gain)}" forcerange="{numbers(-torque_nm, torque_nm)}"/>'
        for corner, _, _ in _CORNERS
    )
    if spec.drive is DriveKind.ACKERMANN:
        inertia = _steering_inertia(spec)
        text += "".join(
            f'<position name="{label}/front_{side}_servo" joint="{label}/front_{side}_steering"'
            f' kp="{numbers(inertia * _STEERING_RADPS**2)}"'
            f' kv="{numbers(1.6 * inertia * _STEERING_RADPS)}"/>'
            for side in ("left", "right")
        )
    return text + "\n"


def rover_sensors(rover: PlacedRover) -> str:
    """The accelerometer and the gyro of a rover."""
    site = f'site="{rover.label}/imu"'
    return (
        f'<accelerometer name="{rover.label}/accel" {site}/>'
        f'<gyro name="{rover.label}/gyro" {site}/>\n'
    )
