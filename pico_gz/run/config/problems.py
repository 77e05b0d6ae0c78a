"""Mistakes in a fleet file, and what a key may hold."""

from __future__ import annotations

import dataclasses
import datetime
import types
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from annotated_types import Ge, Gt, Interval

from pico_gz.core.ports import CLASH_HINT
from pico_gz.errors import ConfigError, PortClashError

# A place in the file: names of tables and keys, and indices of [[tables]].
KeyPath = tuple[str | int, ...]

_LONGEST_VALUE = 60


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong.

    Attributes:
        key: where, as ``fleet.count`` or ``vehicle[2].id``.
        message: what was expected.
        value: what stands there, as text; empty when nothing does.
        hint: the nearest spelling or a way out.
        line: in the file, 1-based; 0 when it is not in a file.
        is_clash: two users of one port, which has an exit code of its own.
    """

    key: str
    message: str
    value: str = ""
    hint: str = ""
    line: int = 0
    is_clash: bool = False

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        what = f"{self.key} = {self.value}" if self.value else self.key
        return f"{place}{what}: {self.message}" + (f" {self.hint}" if self.hint else "")


class FleetFileError(ConfigError):
    """A fleet file or option that cannot work; ``problems`` holds all that was found."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        ordered = sorted(problems, key=lambda problem: problem.line or 1 << 30)
        lines = [f"{source}: {problem}" for problem in ordered]
        count = f"{len(ordered)} problems" if len(ordered) > 1 else "1 problem"
        super().__init__("\n".join(lines), hint=f"{count}; nothing was started.")
        self.problems = tuple(ordered)


class Findings:
    """Collects the problems of one fleet, at most one per place."""

    def __init__(self, line_of: Callable[[KeyPath], int] | None = None) -> None:
        self._line_of = line_of or (lambda _: 0)
        self._places: set[KeyPath] = set()
        self.problems: list[Problem] = []

    def add(
        self,
        path: KeyPath,
        message: str,
        *,
        value: Any = None,
        hint: str = "",
        is_clash: bool = False,
    ) -> None:
        """Note that something is wrong at ``path``."""
        if path in self._places:
            return
        self._places.add(path)
        self.problems.append(
            Problem(
                key=dotted(path),
                message=message,
                value="" if value is None else shown(value),
                hint=hint,
                line=self._line_of(path),
                is_clash=is_clash,
            )
        )

    def has(self, *path: str | int) -> bool:
        """Whether something is known to be wrong at ``path``, so that what follows is moot."""
        return path in self._places

    def has_below(self, *path: str | int) -> bool:
        """Whether something is known to be wrong at ``path`` or inside of it."""
        return any(place[: len(path)] == path for place in self._places)

    def raise_if_any(self, source: str) -> None:
        """Refuse the fleet.

        Raises:
            PortClashError: two users of one port, and nothing else is wrong.
            FleetFileError: anything else.
        """
        if self.problems and all(problem.is_clash for problem in self.problems):
            lines = [f"{source}: {problem}" for problem in self.problems]
            raise PortClashError("\n".join(lines), hint=CLASH_HINT)
        if self.problems:
            raise FleetFileError(source, self.problems)


def dotted(path: KeyPath) -> str:
    """Write a place as people do; ``[[vehicle]]`` tables count from 1."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f".{part}" if text else part
    return text


def shown(value: Any) -> str:
    """A value as the file has it, cut short and without control characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value) if not isinstance(value, str) else ascii_quoted(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def ascii_quoted(text: str) -> str:
    """Text in double quotes with what a terminal might obey made visible."""
    visible = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return f'"{visible}"'


_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    datetime.date: 'a date as "2026-01-01"',
}


@cache
def field_types(section: type) -> dict[str, Any]:
    """Name and type of every key of a table."""
    hints = get_type_hints(section, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(section)}


def resolve(section: type, path: KeyPath) -> tuple[KeyPath, Any]:
    """The longest part of ``path`` that is a place in a table, and its type.

    Checkers append their own names to a place (``time.speed.float``); those are cut off.
    """
    known: KeyPath = ()
    current: Any = section
    for part in path:
        step = _step_into(current, part)
        if step is None:
            break
        known, current = (*known, part), step
    return known, current


def _step_into(current: Any, part: str | int) -> Any:
    if get_origin(current) in (Union, types.UnionType):
        steps = (_step_into(option, part) for option in get_args(current))
        return next((step for step in steps if step is not None), None)
    if dataclasses.is_dataclass(current) and isinstance(current, type):
        return field_types(current).get(str(part))
    origin = get_origin(current)
    if origin is tuple and isinstance(part, int):
        return get_args(current)[0]
    if origin is dict and isinstance(part, str):
        return get_args(current)[1]
    return None


def key_names(kind: Any) -> list[str]:
    """The keys that a table of this type knows."""
    is_table = isinstance(kind, type) and dataclasses.is_dataclass(kind)
    return list(field_types(kind)) if is_table else []


def choices(kind: Any) -> list[str]:
    """The words that are allowed, when only some are."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    origin = get_origin(kind)
    if origin is Literal:
        return [str(word) for word in get_args(kind)]
    if origin in (Union, types.UnionType):
        return [word for part in get_args(kind) for word in choices(part)]
    return []


def expectation(kind: Any) -> str:
    """What is allowed, as ``a whole number, 1..255`` or ``one of "line", "grid"``."""
    if kind in _WORDS:
        return _WORDS[kind]
    origin = get_origin(kind)
    if origin is Annotated:
        base, *limits = get_args(kind)
        return expectation(base) + "".join(f", {_limit(limit)}" for limit in limits)
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part is not type(None)]
        return " or ".join(expectation(part) for part in parts)
    words = choices(kind)
    if words:
        quoted = ", ".join(f'"{word}"' for word in words)
        return f"one of {quoted}" if len(words) > 1 else quoted
    if origin is tuple:
        item, *others = get_args(kind)
        if dataclasses.is_dataclass(item):
            return "[[tables]]"
        length = "" if Ellipsis in others else f"{1 + len(others)} "
        return f"a list of {length}numbers" if item is float else f"a list of {length}texts"
    return "a table"


def _limit(limit: Any) -> str:
    if isinstance(limit, Gt):
        return f"above {limit.gt}"
    if isinstance(limit, Ge):
        return f"{limit.ge} or more"
    if isinstance(limit, Interval):
        if limit.gt is not None:
            return f"above {limit.gt} and at most {limit.le}"
        return f"{limit.ge}..{limit.le}"
    raise TypeError(f"no words for the limit {limit!r}")
