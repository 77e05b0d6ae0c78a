"""Finds the line of a key in TOML text."""

from __future__ import annotations

import re

from pico_gz.run.config.problems import KeyPath

_KEY = re.compile(r"""\s*("(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)\s*([.=\]]?)""")
# What matters inside a value: strings and comments hide brackets, brackets span lines.
_TOKEN = re.compile(
    r'''"""|\'\'\'|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#.*|[\[{]|[\]}]''',
)


class KeyLines:
    """Finds the line of a key, or of the nearest table around it.

    Made for files that ``tomllib`` has read, so it need not find errors itself.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self._table: KeyPath = ()
        self._counts: dict[KeyPath, int] = {}
        self._depth = 0
        self._quote = ""
        for number, line in enumerate(text.splitlines(), start=1):
            self._read(line, number)

    def find(self, path: KeyPath) -> int:
        """The line of ``path`` or of its nearest known parent; 0 when there is none."""
        for length in range(len(path), 0, -1):
            line = self._lines.get(path[:length])
            if line:
                return line
        return 0

    def _read(self, line: str, number: int) -> None:
        if self._depth or self._quote:
            self._skip_value(line)
            return
        stripped = line.strip()
        if stripped.startswith("[["):
            self._open_table(_split_key(stripped[2:])[0], number, is_array=True)
        elif stripped.startswith("["):
            self._open_table(_split_key(stripped[1:])[0], number, is_array=False)
        elif stripped and not stripped.startswith("#"):
            names, rest = _split_key(line)
            for length in range(1, len(names) + 1):
                self._lines.setdefault((*self._table, *names[:length]), number)
            self._skip_value(rest)

    def _open_table(self, names: list[str], number: int, *, is_array: bool) -> None:
        path: KeyPath = ()
        for name in names[:-1]:
            path = (*path, name)
            # A table inside the newest [[element]].
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        path = (*path, *names[-1:])
        self._lines.setdefault(path, number)
        if is_array:
            self._counts[path] = self._counts.get(path, 0) + 1
            path = (*path, self._counts[path] - 1)
        self._table = path
        self._lines[path] = number

    def _skip_value(self, text: str) -> None:
        """Follow brackets and long strings that continue in the next line."""
        position = 0
        while True:
            if self._quote:
                end = text.find(self._quote, position)
                if end < 0:
                    return
                position, self._quote = end + 3, ""
            token = _TOKEN.search(text, position)
            if token is None:
                return
            position = token.end()
            mark = token.group()
            if mark in ('"""', "'''"):
                self._quote = mark
            elif mark in "[{":
                self._depth += 1
            elif mark in "]}":
                self._depth -= 1


def _split_key(text: str) -> tuple[list[str], str]:
    """The names of a dotted key, and what stands behind it."""
    names: list[str] = []
    position = 0
    while match := _KEY.match(text, position):
        names.append(match.group(1).strip("\"'"))
        position = match.end()
        if match.group(2) != ".":
            break
    return names, text[position:]
