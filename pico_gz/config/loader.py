"""Reads a fleet file and lists everything that is wrong with it at once."""

from __future__ import annotations

import copy
import datetime
import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pico_gz.config import explain
from pico_gz.config.adapter_options import OPTIONS
from pico_gz.config.assemble import assemble
from pico_gz.config.fleet import FleetConfig
from pico_gz.config.lines import KeyLines
from pico_gz.config.only import only_wanted
from pico_gz.config.overrides import FleetOverrides
from pico_gz.config.problems import Findings, KeyPath
from pico_gz.config.settings import FleetFile, RoverSection
from pico_gz.errors import ConfigError, did_you_mean

LARGEST_FILE = 1_000_000  # bytes; 255 vehicles with every key need a tenth of it

_UNKNOWN_KEY = "unexpected_keyword_argument"


def read_fleet(path: Path, overrides: FleetOverrides, environ: Mapping[str, str]) -> FleetConfig:
    """Read, check and assemble; see ``pico_gz.config.load_fleet``."""
    text = _read_text(path)
    raw = _parse(path, text)
    findings = Findings(KeyLines(text).find)
    rover_changes = _take_rover_changes(raw)
    _check_adapter_options(raw, findings)
    file = _check_against(FleetFile, raw, (), findings)
    fleet = assemble(
        file,
        rover_changes=rover_changes,
        source=path,
        overrides=overrides,
        environ=environ,
        findings=findings,
    )
    return only_wanted(fleet, environ)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(
            f"Fleet file {path} cannot be read: {reason}.", hint="pico-gz init writes a new one."
        ) from error
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"{path} is no fleet file: it is larger than {LARGEST_FILE} bytes.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}: line {line}: is not UTF-8 text.") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and numbers too long to read
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(f"{path}: is not valid TOML: {reason}.") from error


def _take_rover_changes(raw: dict[str, Any]) -> dict[str, Any]:
    """Move the rover's own fields out of ``[rover]``; they are checked by the rover itself."""
    table = raw.get("rover")
    if not isinstance(table, dict):
        return {}
    known = explain.key_names(RoverSection)
    return {key: table.pop(key) for key in list(table) if key not in known}


def _check_adapter_options(raw: dict[str, Any], findings: Findings) -> None:
    tables = raw.get("adapters")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if isinstance(table, dict):
            section = OPTIONS.get(str(table.get("type", name)))
            options = {key: value for key, value in table.items() if key != "type"}
            if section is not None:
                _check_against(section, options, ("adapters", name), findings)


@cache
def _checker(section: type) -> TypeAdapter[Any]:
    return TypeAdapter(section)


def _check_against(section: type, raw: Any, place: KeyPath, findings: Findings) -> Any:
    """Note every error, drop what is wrong, and return what is left with defaults."""
    rest = copy.deepcopy(raw)
    # Dropping a value cannot make another one wrong, so this ends; the bound is for bugs.
    for _ in range(10):
        try:
            # JSON mode is strict about types and still takes tables for classes.
            return _checker(section).validate_json(json.dumps(rest, default=_plain), strict=True)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_context=False):
                if not detail["loc"]:
                    raise ConfigError("The fleet file is nested too deeply.") from error
                path, kind = explain.resolve(section, detail["loc"])
                if detail["type"] == _UNKNOWN_KEY:
                    path = detail["loc"]
                    _note_unknown_key(section, path, place, findings)
                else:
                    _note_bad_value(kind, path, place, _get(raw, path), findings)
                _drop(rest, path)
    raise ConfigError("The fleet file is broken in a way that cannot be told apart.")


def _note_unknown_key(section: type, path: KeyPath, place: KeyPath, findings: Findings) -> None:
    table = explain.resolve(section, path[:-1])[1]
    hint = did_you_mean(str(path[-1]), explain.key_names(table))
    what = "unknown key." if len(path) > 1 or place else "unknown table."
    findings.add((*place, *path), what, hint=hint)


def _note_bad_value(
    kind: Any, path: KeyPath, place: KeyPath, value: Any, findings: Findings
) -> None:
    words = explain.choices(kind)
    hint = did_you_mean(value, words) if isinstance(value, str) and words else ""
    hint = hint if hint.startswith("Did") else ""
    message = f"expected {explain.expectation(kind)}."
    findings.add((*place, *path), message, value=value, hint=hint)


def _get(raw: Any, path: KeyPath) -> Any:
    for part in path:
        raw = raw[part]
    return raw


def _drop(raw: dict[str, Any], path: KeyPath) -> None:
    """Take a wrong value out; a wrong element of a list of values takes the list with it."""
    owner, key = raw, path[0]
    current: Any = raw
    for part in path:
        if isinstance(current, dict):
            if part not in current:
                return  # gone already, with another element of its list
            owner, key = current, part
        current = current[part]
    owner.pop(str(key))


def _plain(value: Any) -> str:
    """Dates and times, which TOML has and JSON has not."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    raise TypeError(f"{value!r} cannot come from TOML")
