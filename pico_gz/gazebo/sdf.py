"""SDF as a tree, and the elements that generated files may have."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from xml.parsers import expat

from pico_gz.errors import WorldTemplateError

MAX_BYTES = 8_000_000
MAX_DEPTH = 64
# How a comment starts and ends.
COMMENT = re.compile("<!--"), "-->"


class SdfError(ValueError):
    """A text that is not read any further, and the line where that became clear."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Node:
    """An element."""

    __slots__ = ("attributes", "children", "line", "parent", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, parent: Node | None):
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.parent = parent
        self.children: list[Node] = []
        self.text = ""

    @property
    def name(self) -> str:
        """Its ``name`` attribute."""
        return self.attributes.get("name", "")

    def child(self, tag: str) -> Node | None:
        """The first child of a kind."""
        return next((node for node in self.children if node.tag == tag), None)

    def all(self, tag: str) -> Iterator[Node]:
        """The children of a kind."""
        return (node for node in self.children if node.tag == tag)

    def value(self, tag: str, default: str = "") -> str:
        """The text of the first child of a kind."""
        node = self.child(tag)
        return default if node is None else node.text.strip()

    def number(self, tag: str, default: float) -> float:
        """The same as a number; ``default`` also when it is none."""
        try:
            return float(self.value(tag) or default)
        except ValueError:
            return default

    def inside(self, tag: str) -> Node | None:
        """The nearest element of a kind around this one."""
        node = self.parent
        while node is not None and node.tag != tag:
            node = node.parent
        return node

    def walk(self) -> Iterator[Node]:
        """This element and everything below it, in the order of the file."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def parse_sdf(text: str, limit: int = MAX_BYTES) -> Node:
    """Read a text of at most ``limit`` characters.

    Raises:
        SdfError: it is no XML, has a document type or entities, or is too large or too deep.
    """
    if len(text) > limit:
        raise SdfError(f"the file is larger than {limit // 1_000_000} MB", 1)
    # Gazebo's own parser takes dashes in comments and anything before the first element; expat
    # takes neither. Only the lines are kept of both.
    plain = blank_out(text, *COMMENT)
    start = max(plain.find("<"), 0)
    return _Reader(plain.count("\n", 0, start)).read(plain[start:])


def blank_out(text: str, start: re.Pattern[str], end: str) -> str:
    """Remove all parts from ``start`` to ``end`` but their line breaks, in one pass."""
    kept: list[str] = []
    place = 0
    while opened := start.search(text, place):
        closed = text.find(end, opened.end())
        if closed < 0:
            break
        closed += len(end)
        kept += [text[place : opened.start()], "\n" * text.count("\n", opened.start(), closed)]
        place = closed
    return "".join([*kept, text[place:]])


class _Reader:
    """Builds the tree; refuses what could keep a parser busy without end."""

    def __init__(self, skipped_lines: int) -> None:
        self._skipped = skipped_lines
        self._root: Node | None = None
        self._open: list[Node] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.EntityDeclHandler = self._refuse_doctype
        self._parser = parser

    def read(self, text: str) -> Node:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise SdfError(
                f"no well-formed XML: {expat.ErrorString(error.code)}", error.lineno + self._skipped
            ) from error
        except ValueError as error:  # text that is no Unicode
            if isinstance(error, SdfError):
                raise
            raise SdfError(f"no text: {error}", 1) from error
        if self._root is None:
            raise SdfError("the file is empty", 1)
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise SdfError(f"more than {MAX_DEPTH} elements inside each other", self._line)
        parent = self._open[-1] if self._open else None
        node = Node(tag, attributes, self._line, parent)
        if parent is None:
            self._root = node
        else:
            parent.children.append(node)
        self._open.append(node)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _data(self, text: str) -> None:
        self._open[-1].text += text

    def _refuse_doctype(self, *_: object) -> None:
        raise SdfError("a document type or entity, which SDF does not have", self._line)

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._skipped


# One line per element: its attributes (``@``), then its children; ``*`` marks those that may come
# more than once. ``parent/child`` is for an element that differs by its parent. Elements without a
# line hold text only. What is inside a ``<plugin>`` is up to the plugin.
_TABLE = """
sdf @version @xmlns:gz: world model
world @name: gz:policies physics gravity magnetic_field spherical_coordinates plugin* scene light* model*
gz:policies: parallel_postupdates
physics @name @type: max_step_size max_contacts real_time_factor
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
    "max_step_size max_contacts real_time_factor latitude_deg longitude_deg elevation heading_deg"
    " mass ixx iyy izz radius length mu mu2 lower upper effort velocity damping update_rate mean"
    " stddev bias_mean bias_stddev reference_altitude samples resolution min_angle max_angle min"
    " max horizontal_fov width height near far"
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
    # A colon ends the head; the one of ``gz:policies`` has no blank or end behind it.
    head, _, tail = f"{line} ".partition(": ")
    name, *attributes = head.split()
    children = tail.split()
    return name, Element(
        frozenset(attribute.removeprefix("@") for attribute in attributes),
        frozenset(child.removesuffix("*") for child in children),
        frozenset(child.removesuffix("*") for child in children if child.endswith("*")),
    )


_MAX_REPORTED = 5


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
        listed = "; ".join(map(str, problems[:_MAX_REPORTED]))
        raise WorldTemplateError(f"{name} would not be valid SDF: {listed}.")


def check_sdf(text: str) -> list[SdfProblem]:
    """Everything that is wrong with a text, in the order of its lines."""
    try:
        root = parse_sdf(text, limit=len(text))
    except SdfError as error:
        return [SdfProblem(error.line, error.message)]
    found = []
    if root.tag != "sdf":
        found.append(SdfProblem(root.line, f"the outermost element is <sdf>, not <{root.tag}>"))
    found += _check_element(root, _rule(root))
    return sorted(found, key=lambda problem: problem.line)


def _rule(node: Node) -> Element:
    table = elements()
    special = table.get(f"{node.parent.tag}/{node.tag}") if node.parent else None
    return special or table.get(node.tag, TEXT_ONLY)


def _check_element(node: Node, rule: Element) -> Iterator[SdfProblem]:
    """An element, its place among its siblings left aside, and everything below it."""
    for name in sorted(node.attributes.keys() - rule.attributes):
        yield SdfProblem(node.line, f"<{node.tag}> has no attribute {name!r}")
    counts = NUMBER_COUNTS.get(node.tag)
    if counts and not node.children and not _holds_numbers(node.text, counts):
        amount, text = " or ".join(map(str, counts)), node.text.strip()
        yield SdfProblem(node.line, f"<{node.tag}> holds {amount} finite number(s), not {text!r}")
    tags: set[str] = set()
    names: set[str] = set()
    for child in node.children:
        if child.tag not in rule.children:
            yield SdfProblem(child.line, f"<{child.tag}> does not belong into <{node.tag}>")
        elif child.tag in tags and child.tag not in rule.repeated:
            yield SdfProblem(child.line, f"<{node.tag}> has a second <{child.tag}>")
        tags.add(child.tag)
        if child.tag == "plugin":
            continue
        if "name" in child.attributes:
            # Unique among all children, of any kind: Gazebo's own checker insists.
            if not child.name or child.name in names:
                what = f"two children named {child.name!r}, or an empty name"
                yield SdfProblem(child.line, f"<{node.tag}> has {what}")
            names.add(child.name)
        yield from _check_element(child, _rule(child))


def _holds_numbers(text: str, counts: tuple[int, ...]) -> bool:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return False
    return len(numbers) in counts and all(map(math.isfinite, numbers))
