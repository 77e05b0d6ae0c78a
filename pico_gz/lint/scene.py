"""A file under lint together with the models that it includes, as far as they are here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pico_gz.lint.document import Node, SdfError, parse_sdf
from pico_gz.messages.vehicle import NAME_PATTERN

RESOURCE_VARIABLES = ("GZ_SIM_RESOURCE_PATH", "SDF_PATH")
_MAX_NESTING = 8


@dataclass(frozen=True, slots=True)
class Seen:
    """An element, and the line to tell: that of the include for what lies in another file.

    Attributes:
        node: the element.
        line: in the file under lint.
        own: whether it stands in that file itself.
    """

    node: Node
    line: int
    own: bool = True


@dataclass(slots=True)
class Scene:
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
            node, told = waiting.pop()
            yield Seen(node, told or node.line, told == 0)
            model = self.included.get(node)
            if model is not None:
                waiting.append((model, told or node.line))
            waiting.extend((child, told) for child in reversed(node.children))


def open_scene(
    text: str,
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    in_container: bool = False,
) -> Scene:
    """Read a file and the models it includes that lie on this machine.

    Raises:
        SdfError: the file itself cannot be read; included ones are then simply not there.
    """
    scene = Scene(parse_sdf(text), in_container=in_container)
    folders = _search_path(path, os.environ if environ is None else environ)
    _resolve(scene, scene.root, folders, _MAX_NESTING)
    return scene


def _resolve(scene: Scene, root: Node, folders: Sequence[Path], depth: int) -> None:
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
