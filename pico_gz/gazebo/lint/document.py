"""What rules see and report: a file with its includes, traps, findings."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pico_gz.core.frames import quat_from_euler
from pico_gz.core.vehicle_config import NAME_PATTERN
from pico_gz.gazebo.sdf import Node, SdfError, parse_sdf


class Severity(StrEnum):
    """Severity of a finding."""

    ERROR = "error"  # it does not work, or something else happens than is written
    WARNING = "warning"  # it works by luck, or not as well as it could
    NOTE = "note"  # good to know


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes:
        line: in the file, from 1.
        severity: how bad it is.
        rule: short name of the rule, to look it up.
        message: what is there.
        why: what follows from it.
        fix: what to write instead.
    """

    line: int
    severity: Severity
    rule: str
    message: str
    why: str
    fix: str


Angles = tuple[float, float, float]

ROLLED: Angles = (math.pi, 0.0, 0.0)
# Such an angle, infinity and NaN say nothing about an attitude.
_ABSURD_ANGLE = 1e9


def pose_angles(node: Node | None) -> Angles | None:
    """Roll, pitch and yaw of a pose [rad]; None: not given, or not to be understood."""
    if node is None:
        return None
    words = node.text.split()
    if len(words) != 6:
        return None
    try:
        roll, pitch, yaw = (float(word) for word in words[3:])
    except ValueError:
        return None
    if not all(abs(angle) < _ABSURD_ANGLE for angle in (roll, pitch, yaw)):
        return None
    if _in_degrees(node):
        return math.radians(roll), math.radians(pitch), math.radians(yaw)
    return roll, pitch, yaw


def looks_like_degrees(node: Node | None) -> bool:
    """Whether a pose has angles beyond a full turn in radians: 180 was hardly meant so."""
    angles = pose_angles(node)
    if node is None or angles is None or _in_degrees(node):
        return False
    return any(abs(angle) > 2.0 * math.pi for angle in angles)


def angle_between(first: Angles, second: Angles) -> float:
    """The angle of the turn that leads from one attitude to the other [rad]."""
    a, b = quat_from_euler(*first), quat_from_euler(*second)
    cosine = abs(sum(x * y for x, y in zip(a, b, strict=True)))
    return 2.0 * math.acos(min(1.0, cosine))


def _in_degrees(node: Node) -> bool:
    return node.attributes.get("degrees", "").lower() in ("true", "1")


RESOURCE_VARIABLES = ("GZ_SIM_RESOURCE_PATH", "SDF_PATH")
_MAX_NESTING = 8


@dataclass(frozen=True, slots=True)
class Seen:
    """An element and its line to report: that of the include for what lies in another file.

    Attributes:
        node: the element.
        line: in the file under lint.
        own: whether it stands in that file itself.
    """

    node: Node
    line: int
    own: bool = True


@dataclass(slots=True)
class SdfScene:
    """A file and what it includes.

    Attributes:
        root: of the file.
        included: the root of each included model by include; those not found are absent.
        in_container: the world will run in a container.
    """

    root: Node
    included: dict[Node, Node] = field(default_factory=dict)
    in_container: bool = False
    # Every element asked about once: its descendants by kind.
    _indexes: dict[Node, dict[str, list[Seen]]] = field(default_factory=dict)

    def find(self, tag: str, below: Node | None = None) -> Iterator[Seen]:
        """All elements of a kind, also those of included models, in the order of the file.

        Args:
            tag: the kind.
            below: where to look; default: in the whole file.
        """
        start = self.root if below is None else below
        index = self._indexes.get(start)
        if index is None:
            index = self._indexes[start] = {}
            for seen in self._walk(start):
                index.setdefault(seen.node.tag, []).append(seen)
        return iter(index.get(tag, ()))

    def own(self, tag: str) -> Iterator[Node]:
        """The elements of a kind that stand in the file itself."""
        return (seen.node for seen in self.find(tag) if seen.own)

    def is_complete(self, below: Node | None = None) -> bool:
        """Whether every included model was found."""
        includes = self.find("include", below)
        return all(seen.node in self.included for seen in includes)

    def worlds(self) -> list[Node]:
        """The worlds of the file."""
        return list(self.root.all("world"))

    def _walk(self, start: Node) -> Iterator[Seen]:
        waiting: list[tuple[Node, int]] = [(start, 0)]
        while waiting:
            node, line = waiting.pop()
            yield Seen(node, line or node.line, line == 0)
            model = self.included.get(node)
            if model is not None:
                waiting.append((model, line or node.line))
            waiting.extend((child, line) for child in reversed(node.children))


def open_scene(
    text: str,
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    in_container: bool = False,
) -> SdfScene:
    """Read a file and the models it includes that lie on this machine.

    Raises:
        SdfError: the file itself cannot be read; included ones are then absent.
    """
    scene = SdfScene(parse_sdf(text), in_container=in_container)
    folders = _search_path(path, os.environ if environ is None else environ)
    _resolve(scene, scene.root, folders, _MAX_NESTING)
    return scene


def _resolve(scene: SdfScene, root: Node, folders: Sequence[Path], depth: int) -> None:
    if depth == 0:
        return
    for node in root.walk():
        if node.tag != "include" or node in scene.included:
            continue
        model = _load(node.value("uri"), folders)
        if model is not None:
            scene.included[node] = model
            _resolve(scene, model, folders, depth - 1)


def _search_path(path: Path | None, environ: Mapping[str, str]) -> list[Path]:
    """Where models are looked for: round the file, then as Gazebo does."""
    folders: list[Path] = []
    if path is not None:
        here = path.resolve().parent
        folders = [here, here / "models", here.parent, here.parent / "models"]
    for variable in RESOURCE_VARIABLES:
        folders += [Path(folder) for folder in environ.get(variable, "").split(":") if folder]
    return folders


def _load(uri: str, folders: Sequence[Path]) -> Node | None:
    """The ``<model>`` of an include, if it is here; never anything from the network."""
    name = uri.removeprefix("model://").removeprefix("file://").strip("/")
    if "://" in name or not NAME_PATTERN.fullmatch(name):
        return None
    for folder in folders:
        file = folder / name / "model.sdf"
        try:
            root = parse_sdf(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, SdfError):
            continue
        return root.child("model") or root
    return None


Rule = Callable[[SdfScene], Iterator[Finding]]
NodeRule = Callable[[SdfScene, Node], Iterator[Finding]]


def for_each(nodes: Callable[[SdfScene], Iterable[Node]], rules: Sequence[NodeRule]) -> list[Rule]:
    """Rules about single elements as rules about a file that hold for each of ``nodes``."""

    def whole(rule: NodeRule) -> Rule:
        return lambda scene: (found for node in nodes(scene) for found in rule(scene, node))

    return [whole(rule) for rule in rules]


def each_world(*rules: NodeRule) -> list[Rule]:
    """Rules about each world of a file."""
    return for_each(SdfScene.worlds, rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """The fixed part of a finding."""

    name: str
    severity: Severity
    why: str
    fix: str

    def at(self, line: int, message: str, *, severity: Severity | None = None) -> Finding:
        """The trap, sprung at a line; ``severity`` when it is milder there."""
        return Finding(
            line=line,
            severity=severity or self.severity,
            rule=self.name,
            message=message,
            why=self.why,
            fix=self.fix,
        )
