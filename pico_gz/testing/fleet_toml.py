"""Fleet files written from keywords, so that a test can describe its fleet in one call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

# Keywords that are keys of [fleet]; all others are tables of the fleet file.
_FLEET_KEYS = ("name", "count", "adapter", "autopilot", "seed", "allow_gcs_sysid")


def fleet_toml(**tables: Any) -> str:
    """The text of a fleet file.

    Args:
        **tables: keys of ``[fleet]`` (``count=2``), tables (``rover={"noise": "off"}``) and
            lists of tables (``obstacle=[{"kind": "disc", ...}]``). ``rovers`` is ``count``.
    """
    if "rovers" in tables:
        tables["count"] = tables.pop("rovers")
    fleet = {key: tables.pop(key) for key in _FLEET_KEYS if tables.get(key) is not None}
    tables["fleet"] = {**fleet, **tables.get("fleet", {})}
    return "\n".join(_table(name, content) for name, content in tables.items())


def _table(name: str, content: Any) -> str:
    if isinstance(content, Mapping):
        own = {key: value for key, value in content.items() if not isinstance(value, Mapping)}
        inner = [
            _table(f"{name}.{key}", value)
            for key, value in content.items()
            if isinstance(value, Mapping)
        ]
        return "\n".join([f"[{name}]", *_lines(own), *inner])
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "\n".join("\n".join([f"[[{name}]]", *_lines(entry)]) for entry in content)
    raise TypeError(f"{name} is a table of the fleet file: give it a dict, or a list of dicts.")


def _lines(content: Mapping[str, Any]) -> list[str]:
    # Strings, numbers, booleans and lists of them are written alike in JSON and TOML.
    return [f"{key} = {json.dumps(value, default=str)}" for key, value in content.items()]
