"""Checks generated SDF against the elements the generator writes.

One line per element: its attributes (``@``), then its children; ``*`` marks those that may come
more than once. ``parent/child`` is for an element that differs by its parent. Elements without a
line hold text only. What is inside a ``<plugin>`` is the plugin's own affair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from xml.parsers import expat

from pico_gz.errors import WorldTemplateError

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


_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class SdfProblem:
    """Something that does not belong into SDF, and its line."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


def require_sdf(text: str, name: str) -> None:
    """Refuse generated text that Gazebo would not take as it is meant.

    Raises:
        WorldTemplateError: it is no XML, or has unknown, repeated or misplaced elements.
    """
    problems = check_sdf(text)
    if problems:
        told = "; ".join(map(str, problems[:_MOST_TOLD]))
        raise WorldTemplateError(f"{name} would not be valid SDF: {told}.")


def check_sdf(text: str) -> list[SdfProblem]:
    """Everything that is wrong with a text, in the order of its lines."""
    return _Checker().check(text)


class _Open:
    """An element whose end has not been seen yet."""

    __slots__ = ("children", "names", "rule", "tag", "text")

    def __init__(self, tag: str, rule: Element) -> None:
        self.tag = tag
        self.rule = rule
        self.children: set[str] = set()
        self.names: set[str] = set()
        self.text = ""


class _Checker:
    """Walks through the elements once."""

    def __init__(self) -> None:
        self.problems: list[SdfProblem] = []
        self._table = elements()
        self._special = {name.partition("/")[2] for name in self._table if "/" in name}
        self._stack: list[_Open] = []
        self._in_plugin = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.StartDoctypeDeclHandler = self._doctype

    def check(self, text: str) -> list[SdfProblem]:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            self.problems.append(SdfProblem(error.lineno, f"no XML: {error}"))
        return self.problems

    def _doctype(self, *_: object) -> None:
        self._add("a document type has no place in SDF")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._in_plugin:
            self._in_plugin += 1
            return
        parent = self._stack[-1] if self._stack else None
        if tag == "plugin":
            self._in_plugin = 1
            if parent and tag not in parent.rule.children:
                self._add(f"<plugin> does not belong into <{parent.tag}>")
            return
        if parent is None and tag != "sdf":
            self._add(f"the outermost element is <sdf>, not <{tag}>")
        rule = self._rule(tag, parent)
        if attributes:
            for name in attributes.keys() - rule.attributes:
                self._add(f"<{tag}> has no attribute {name!r}")
        if parent:
            self._check_place(tag, attributes.get("name"), parent)
        self._stack.append(_Open(tag, rule))

    def _rule(self, tag: str, parent: _Open | None) -> Element:
        if tag in self._special and parent:
            special = self._table.get(f"{parent.tag}/{tag}")
            if special is not None:
                return special
        return self._table.get(tag, TEXT_ONLY)

    def _check_place(self, tag: str, name: str | None, parent: _Open) -> None:
        if tag not in parent.rule.children:
            self._add(f"<{tag}> does not belong into <{parent.tag}>")
        elif tag in parent.children and tag not in parent.rule.repeated:
            self._add(f"<{parent.tag}> has a second <{tag}>")
        parent.children.add(tag)
        if name is not None:
            # Unique among all children, whatever they are: Gazebo's own checker insists.
            if not name or name in parent.names:
                self._add(f"<{parent.tag}> has two children named {name!r}, or an empty name")
            parent.names.add(name)

    def _data(self, text: str) -> None:
        if not self._in_plugin and self._stack:
            self._stack[-1].text += text

    def _end(self, tag: str) -> None:
        if self._in_plugin:
            self._in_plugin -= 1
            return
        closed = self._stack.pop()
        counts = NUMBER_COUNTS.get(tag)
        if counts and not closed.children and not _holds_numbers(closed.text, counts):
            amount = " or ".join(map(str, counts))
            self._add(f"<{tag}> holds {amount} finite number(s), not {closed.text.strip()!r}")

    def _add(self, message: str) -> None:
        self.problems.append(SdfProblem(self._parser.CurrentLineNumber, message))


def _holds_numbers(text: str, counts: tuple[int, ...]) -> bool:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return False
    return len(numbers) in counts and all(map(math.isfinite, numbers))
