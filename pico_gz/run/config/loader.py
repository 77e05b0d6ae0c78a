"""Reads a fleet file and lists every mistake with its line."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pico_gz.errors import ConfigError, UnknownVehicleError, did_you_mean
from pico_gz.run.config import field_types
from pico_gz.run.config.assemble import assemble
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.settings import (
    OPTIONS,
    FleetFile,
    PresetSection,
    RoverSection,
    VehicleSection,
)
from pico_gz.run.config.toml_lines import KeyLines

ONLY_VARIABLE = "PICO_GZ_ONLY"


def vehicle_subset(fleet: FleetConfig, environ: Mapping[str, str]) -> FleetConfig:
    """The fleet with only the vehicles that ``PICO_GZ_ONLY`` names (``1,2,7``); all without it.

    Each keeps its id, its place and its ports, so that the parts fit together.

    Raises:
        ConfigError: that is no list of ids of this fleet.
    """
    text = environ.get(ONLY_VARIABLE, "")
    if not text:
        return fleet
    try:
        wanted = {int(word) for word in text.split(",")}
    except ValueError:
        raise ConfigError(f"{ONLY_VARIABLE}={text} is no list of ids, as 1,2,7.") from None
    known = [plan.id for plan in fleet.vehicles]
    for vehicle_id in sorted(wanted - set(known)):
        raise UnknownVehicleError(vehicle_id, known)
    return dataclasses.replace(
        fleet, vehicles=tuple(plan for plan in fleet.vehicles if plan.id in wanted)
    )


_MAX_FILE_BYTES = 1_000_000  # bytes; 255 vehicles with every key need a tenth of it

_UNKNOWN_KEY = "unexpected_keyword_argument"
# How tomllib writes the name of a table: ('wind',) or ('adapters', 'a').
_NAME = r"""(?:'[^']*'|"[^"]*")"""
_TABLE_NAME = re.compile(rf"\({_NAME}(?:, {_NAME})*,?\)")


def read_fleet(path: Path, overrides: FleetOverrides, environ: Mapping[str, str]) -> FleetConfig:
    """Read, check and assemble; see ``pico_gz.run.config.load_fleet``."""
    return parse_fleet(_read_text(path), path, overrides, environ)


def parse_fleet(
    text: str, source: Path | None, overrides: FleetOverrides, environ: Mapping[str, str]
) -> FleetConfig:
    """Check and assemble the text of a fleet file; without a source, paths are of this folder."""
    raw = _parse(source or Path("fleet"), text)
    findings = Findings(KeyLines(text).find)
    rover_fields = _take_rover_fields(raw)
    _check_adapter_options(raw, findings)
    file = check_against(FleetFile, raw, (), findings)
    fleet = assemble(
        file,
        rover_fields=rover_fields,
        source=source,
        overrides=overrides,
        environ=environ,
        findings=findings,
    )
    return vehicle_subset(fleet, environ)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(
            f"Fleet file {path} cannot be read: {reason}.", hint="pico-gz init writes a new one."
        ) from error
    if len(data) > _MAX_FILE_BYTES:
        raise ConfigError(f"{path} is no fleet file: it is larger than {_MAX_FILE_BYTES} bytes.")
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
        reason = _TABLE_NAME.sub(_in_brackets, reason)
        raise ConfigError(f"{path}: is not valid TOML: {reason}.") from error


def _in_brackets(name: re.Match[str]) -> str:
    return f"[{'.'.join(part[1:-1] for part in re.findall(_NAME, name[0]))}]"


def _take_rover_fields(raw: dict[str, Any]) -> dict[KeyPath, dict[str, Any]]:
    """Move a rover's fields out of the tables that take them; the rover itself checks them."""
    found: dict[KeyPath, dict[str, Any]] = {}
    for path, table, section in _rover_tables(raw):
        if isinstance(table, dict):
            known = field_types.key_names(section)
            found[path] = {key: table.pop(key) for key in list(table) if key not in known}
    return found


def _rover_tables(raw: dict[str, Any]) -> Iterator[tuple[KeyPath, Any, type]]:
    yield ("rover",), raw.get("rover"), RoverSection
    presets, vehicles = raw.get("presets"), raw.get("vehicle")
    for name, table in presets.items() if isinstance(presets, dict) else ():
        yield ("presets", name), table, PresetSection
    for place, table in enumerate(vehicles) if isinstance(vehicles, list) else ():
        yield ("vehicle", place), table, VehicleSection


def _check_adapter_options(raw: dict[str, Any], findings: Findings) -> None:
    tables = raw.get("adapters")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if isinstance(table, dict):
            section = OPTIONS.get(str(table.get("type", name)))
            options = {key: value for key, value in table.items() if key != "type"}
            if section is not None:
                check_against(section, options, ("adapters", name), findings)


@cache
def _checker(section: type) -> TypeAdapter[Any]:
    return TypeAdapter(section)


def check_against(section: type, raw: Any, place: KeyPath, findings: Findings) -> Any:
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
                path, kind = field_types.resolve(section, detail["loc"])
                if detail["type"] == _UNKNOWN_KEY:
                    path = detail["loc"]
                    _note_unknown_key(section, path, place, findings)
                else:
                    _note_bad_value(kind, path, place, _get(raw, path), findings)
                _drop(rest, path)
    raise ConfigError("The fleet file is broken in a way that cannot be explained.")


def _note_unknown_key(section: type, path: KeyPath, place: KeyPath, findings: Findings) -> None:
    table = field_types.resolve(section, path[:-1])[1]
    hint = did_you_mean(str(path[-1]), field_types.key_names(table))
    what = "unknown key." if len(path) > 1 or place else "unknown table."
    findings.add((*place, *path), what, hint=hint)


def _note_bad_value(
    kind: Any, path: KeyPath, place: KeyPath, value: Any, findings: Findings
) -> None:
    words = field_types.choices(kind)
    hint = did_you_mean(value, words) if isinstance(value, str) and words else ""
    hint = hint if hint.startswith("Did") else ""
    message = f"expected {field_types.expectation(kind)}."
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
