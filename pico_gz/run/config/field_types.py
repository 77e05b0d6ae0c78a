"""What a key of the fleet file may hold, in English."""

from __future__ import annotations

import dataclasses
import datetime
import types
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Interval

from pico_gz.run.config.problems import KeyPath

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
