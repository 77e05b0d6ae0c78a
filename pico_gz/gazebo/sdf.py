"""SDF as a tree of elements with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

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
