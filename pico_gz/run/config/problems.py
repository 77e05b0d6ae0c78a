"""Mistakes in a fleet file, each with its key and line."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.core.ports import CLASH_HINT
from pico_gz.errors import ConfigError, PortClashError

# A place in the file: names of tables and keys, and indices of [[tables]].
KeyPath = tuple[str | int, ...]

_MAX_VALUE_CHARS = 60
_OPTION_PREFIX = "--"
_VARIABLE_PREFIX = "PICO_GZ_"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong.

    Attributes:
        key: where, as ``fleet.count``, ``vehicle[2].id``, ``--rovers`` or ``PICO_GZ_BIND``.
        message: what was expected.
        value: what stands there, as its writer would write it; empty when nothing does.
        hint: the nearest spelling or a way out.
        line: in the file, 1-based; 0 when it is not in a file.
        is_clash: two users of one port, which has an exit code of its own.
        is_mission: a mission that can be read and never be completed: empty, or refused.
    """

    key: str
    message: str
    value: str = ""
    hint: str = ""
    line: int = 0
    is_clash: bool = False
    is_mission: bool = False

    @property
    def is_in_file(self) -> bool:
        """Whether a fleet file can be changed to solve it, not an option or a variable."""
        return not self.key.startswith((_OPTION_PREFIX, _VARIABLE_PREFIX))

    def within(self, source: Path | None) -> str:
        """The problem, after the fleet file it is in."""
        return f"{source}: {self}" if source and self.is_in_file else str(self)

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        equals = " = " if self.is_in_file else "="
        equals = " " if self.key.startswith(_OPTION_PREFIX) else equals
        what = f"{self.key}{equals}{self.value}" if self.value else self.key
        return f"{place}{what}: {self.message}" + (f" {self.hint}" if self.hint else "")


class FleetFileError(ConfigError):
    """A fleet file or option that cannot work; ``problems`` holds all that was found."""

    def __init__(self, source: Path | None, problems: Sequence[Problem]) -> None:
        ordered = sorted(problems, key=lambda problem: problem.line or 1 << 30)
        lines = [problem.within(source) for problem in ordered]
        count = f"{len(ordered)} problems" if len(ordered) > 1 else "1 problem"
        super().__init__("\n".join(lines), hint=f"{count}; nothing was started.")
        self.problems = tuple(ordered)


class MissionRefusedError(FleetFileError):
    """Nothing is wrong but missions: they hold nothing to drive to, or no rover takes them."""


class Findings:
    """Collects the problems of one fleet, at most one per place, and its warnings."""

    def __init__(self, line_of: Callable[[KeyPath], int] | None = None) -> None:
        self._line_of = line_of or (lambda _: 0)
        self._places: set[KeyPath] = set()
        self.problems: list[Problem] = []
        self.warnings: list[str] = []

    def add(
        self,
        path: KeyPath,
        message: str,
        *,
        value: Any = None,
        hint: str = "",
        is_clash: bool = False,
        is_mission: bool = False,
    ) -> None:
        """Note that something is wrong at ``path``."""
        if path in self._places:
            return
        self._places.add(path)
        self.problems.append(
            Problem(
                key=dotted(path),
                message=message,
                value=_written(path, value),
                hint=hint,
                line=self._line_of(path),
                is_clash=is_clash,
                is_mission=is_mission,
            )
        )

    def warn(self, path: KeyPath, message: str, *, value: Any = None) -> None:
        """Note what people should know about ``path``, which works all the same."""
        line = self._line_of(path)
        written = _written(path, value)
        warning = str(Problem(key=dotted(path), message=message, value=written, line=line))
        if warning not in self.warnings:
            self.warnings.append(warning)

    def written(self, first: KeyPath, *others: KeyPath) -> KeyPath:
        """Of keys that are wrong together, one that stands in the file; ``first`` if none does."""
        for path in (first, *others):
            if self._line_of(path) not in (0, self._line_of(path[:-1])):
                return path
        return first

    def has(self, *path: str | int) -> bool:
        """Whether something is known to be wrong at ``path``, so that what follows is moot."""
        return path in self._places

    def has_below(self, *path: str | int) -> bool:
        """Whether something is known to be wrong at ``path`` or inside of it."""
        return any(place[: len(path)] == path for place in self._places)

    def raise_if_any(self, source: Path | None) -> None:
        """Refuse the fleet.

        Raises:
            PortClashError: two users of one port, and nothing else is wrong.
            MissionRefusedError: missions cannot be completed, and nothing else is wrong.
            FleetFileError: anything else.
        """
        if self.problems and all(problem.is_clash for problem in self.problems):
            lines = [problem.within(source) for problem in self.problems]
            raise PortClashError("\n".join(lines), hint=CLASH_HINT)
        if self.problems:
            only_missions = all(problem.is_mission for problem in self.problems)
            raise (MissionRefusedError if only_missions else FleetFileError)(source, self.problems)


def dotted(path: KeyPath) -> str:
    """Write a place as people do; ``[[vehicle]]`` tables count from 1."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f".{part}" if text else part
    return text


def _written(path: KeyPath, value: Any) -> str:
    """A value as it is written at ``path``, cut short and without control characters."""
    if value is None:
        return ""
    if Problem(key=dotted(path), message="").is_in_file:
        text = as_toml(value)
    else:
        text = shlex.quote(_visible(f"{value:g}" if isinstance(value, float) else str(value)))
    return text if len(text) <= _MAX_VALUE_CHARS else text[: _MAX_VALUE_CHARS - 3] + "..."


def as_toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{_visible(value)}"'
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {as_toml(one)}" for key, one in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return str(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else as_toml(name)


def _visible(text: str) -> str:
    """Text with what a terminal might obey made visible."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
