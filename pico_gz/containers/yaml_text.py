"""Plain values as YAML, readable and without another dependency."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_./][\w./-]*")
# Words that a YAML reader takes for something else than text.
_NOT_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n", "."})


def yaml_text(value: Mapping[str, Any]) -> str:
    """Return a mapping of mappings, lists, texts, numbers and booleans as block YAML."""
    return "\n".join(_block(value, "")) + "\n"


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(key)}:", item, indent + "  ")
    else:
        for item in value:
            first, *rest = _item_lines(item, indent + "  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    if (isinstance(item, Mapping) and item) or (_is_list(item) and item and not _is_short(item)):
        yield head
        yield from _block(item, indent)
    else:
        yield f"{head} {_flow(item)}"


def _item_lines(item: Any, indent: str) -> list[str]:
    return list(_block(item, indent)) if isinstance(item, Mapping) and item else [_flow(item)]


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if _is_list(value):
        return "[" + ", ".join(_scalar(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    # JSON is YAML, and quotes keep "10001:10001" from being a number to base 60.
    return json.dumps(value, ensure_ascii=False)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_short(items: Sequence[Any]) -> bool:
    return len(items) <= 4 and all(isinstance(item, str | int) for item in items)
