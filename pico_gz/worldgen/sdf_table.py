"""The SDF 1.9 elements that the generator writes: who may stand in whom.

One line per element: its attributes (``@``), then its children; ``*`` marks those that may come
more than once. ``parent/child`` is for an element that differs by its parent. Elements without a
line hold text only. What is inside a ``<plugin>`` is the plugin's own affair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_TABLE = """
sdf @version: world model
world @name: physics gravity magnetic_field spherical_coordinates plugin* scene light* model*
physics @name @type: max_step_size real_time_factor
spherical_coordinates: surface_model world_frame_orientation latitude_deg longitude_deg elevation heading_deg
scene: ambient background grid
light @name @type: pose cast_shadows diffuse specular direction
model @name: pose static link* joint* plugin*
link @name: pose inertial collision* visual* sensor*
pose @degrees:
inertial: pose mass inertia
inertia: ixx iyy izz
collision @name: pose geometry surface
visual @name: pose geometry material
geometry: box cylinder plane mesh
box: size
cylinder: radius length
plane: normal size
mesh: uri
material: ambient diffuse
surface: friction
friction: ode
ode: mu mu2 fdir1
joint @name @type: parent child axis
axis: xyz limit dynamics
limit: lower upper effort velocity
dynamics: damping friction
dynamics/friction:
sensor @name @type: pose topic always_on update_rate imu magnetometer air_pressure lidar camera
imu: angular_velocity linear_acceleration
angular_velocity: x y z
linear_acceleration: x y z
magnetometer: x y z
x: noise
y: noise
z: noise
noise @type: mean stddev bias_mean bias_stddev
air_pressure: reference_altitude pressure
pressure: noise
lidar: scan range
scan: horizontal
horizontal: samples resolution min_angle max_angle
range: min max resolution
camera: horizontal_fov image clip
image: width height format
clip: near far
"""  # noqa: E501

# How many numbers the text of an element holds.
_COUNTS = {
    "pose": 6, "gravity": 3, "magnetic_field": 3, "xyz": 3, "normal": 3, "fdir1": 3,
    "direction": 3, "ambient": 4, "diffuse": 4, "specular": 4, "background": 4,
}  # fmt: skip
_SINGLE_NUMBERS = (
    "max_step_size real_time_factor latitude_deg longitude_deg elevation heading_deg mass ixx iyy"
    " izz radius length mu mu2 lower upper effort velocity damping update_rate mean stddev"
    " bias_mean bias_stddev reference_altitude samples resolution min_angle max_angle min max"
    " horizontal_fov width height near far"
)
NUMBER_COUNTS: dict[str, tuple[int, ...]] = {
    **{tag: (count,) for tag, count in _COUNTS.items()},
    **dict.fromkeys(_SINGLE_NUMBERS.split(), (1,)),
    "size": (2, 3),
}


@dataclass(frozen=True, slots=True)
class Element:
    """What an element may hold."""

    attributes: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()


TEXT_ONLY = Element()


@cache
def elements() -> dict[str, Element]:
    """The table by element name, or by ``parent/child``."""
    return dict(_parsed(line) for line in _TABLE.strip().splitlines())


def _parsed(line: str) -> tuple[str, Element]:
    head, _, tail = line.partition(":")
    name, *attributes = head.split()
    children = tail.split()
    return name, Element(
        frozenset(attribute.removeprefix("@") for attribute in attributes),
        frozenset(child.removesuffix("*") for child in children),
        frozenset(child.removesuffix("*") for child in children if child.endswith("*")),
    )
