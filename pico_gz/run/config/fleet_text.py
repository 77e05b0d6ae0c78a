"""Fleet files from keywords of a Python program."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pico_gz.errors import ConfigError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.vehicle.own_autopilots import name_for

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
    return [f"{key} = {json.dumps(_plain(value), default=str)}" for key, value in content.items()]


def _plain(value: Any) -> Any:
    """An autopilot's class stands in the file by its name."""
    return name_for(value) if callable(value) else value


def fleet_from_keywords(file: str | Path | None, tables: Mapping[str, Any]) -> FleetConfig:
    """The fleet of a file, or of keywords (see ``fleet_toml``); one rover when neither says more.

    Raises:
        ConfigError: both are given, or something cannot work.
    """
    from pico_gz.run.config.loader import parse_fleet, read_fleet

    if file is not None:
        if tables:
            raise ConfigError("Give a fleet file, or keywords, not both.")
        return read_fleet(Path(file), FleetOverrides(), os.environ)
    some = {} if {"rovers", "count", "vehicle"} & tables.keys() else {"rovers": 1}
    return parse_fleet(fleet_toml(**some, **tables), None, FleetOverrides(), os.environ)
