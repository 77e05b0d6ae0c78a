"""The JSON Schema of the fleet file.

``python -m pico_gz.run.config.schema > docs/fleet.schema.json`` writes it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
from pydantic import TypeAdapter

from pico_gz.core.rover_spec import PRESETS, RoverSpec
from pico_gz.run.config.rover_settings import CHANNEL_MAPS, ROVER_KEYS
from pico_gz.run.config.settings import (
    OPTIONS,
    FleetFile,
    LightweightOptions,
    PresetSection,
    RoverSection,
    SensorFigures,
    VehicleSection,
)

_ADAPTER_TYPE = {"type": "string", "description": "Type of the simulator."}
_ROVER_TABLES = (RoverSection, PresetSection, VehicleSection)
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def fleet_schema() -> dict[str, Any]:
    """The schema of a whole fleet file."""
    schema = _cleaned(TypeAdapter(FleetFile).json_schema(mode="validation"))
    _add_rover_fields(schema["$defs"])
    _bound_presets(schema)
    _add_adapter_options(schema)
    _describe_figures(schema["$defs"])
    return {"$schema": _DIALECT, "title": "pico_gz fleet file", **schema}


def schema_text() -> str:
    """The schema as it is shipped."""
    return json.dumps(fleet_schema(), indent=2, allow_nan=False) + "\n"


def _add_rover_fields(definitions: dict[str, Any]) -> None:
    """``[rover]``, ``[[vehicle]]`` and presets take every field of a rover beside their own."""
    _, components = msgspec.json.schema_components([RoverSpec], ref_template="#/$defs/{name}")
    fields = components.pop("RoverSpec")["properties"]
    for name, component in components.items():
        definitions[name] = _cleaned(component)
    for table in _ROVER_TABLES:
        section = definitions[table.__name__]["properties"]
        for name in (name for name in ROVER_KEYS if name not in section):
            section[name] = _cleaned(fields[name])
            section[name].pop("default", None)  # the preset decides
        section["channels"] = {
            "anyOf": [{"enum": list(CHANNEL_MAPS)}, {"$ref": "#/$defs/ChannelMap"}]
        }


def _bound_presets(schema: dict[str, Any]) -> None:
    """Without presets of its own, a file knows the built-in ones alone."""
    known = {"properties": {"preset": {"enum": list(PRESETS)}}}
    tables = {"rover": known, "vehicle": {"type": "array", "items": known}}
    schema["if"] = {"not": {"required": ["presets"]}}
    schema["then"] = {"properties": tables}


def _add_adapter_options(schema: dict[str, Any]) -> None:
    """``[adapters.NAME]`` holds the options of its type, which is its name when not given."""
    tables, rules = {}, []
    for kind, section in OPTIONS.items():
        name = section.__name__
        options = _cleaned(TypeAdapter(section).json_schema(mode="validation"))
        options["properties"] = {"type": _ADAPTER_TYPE, **options["properties"]}
        schema["$defs"][name] = options
        reference = {"$ref": f"#/$defs/{name}"}
        tables[kind] = reference
        is_kind = {"properties": {"type": {"const": kind}}, "required": ["type"]}
        rules.append({"if": is_kind, "then": reference})
    # A plugin takes what it likes.
    other = {"type": "object", "properties": {"type": _ADAPTER_TYPE}, "allOf": rules}
    schema["properties"]["adapters"] |= {"properties": tables, "additionalProperties": other}


def _describe_figures(definitions: dict[str, Any]) -> None:
    """Pydantic does not inherit the descriptions of a base class."""
    figures = TypeAdapter(SensorFigures).json_schema()["properties"]
    for section in (*_ROVER_TABLES, LightweightOptions):
        for name, figure in figures.items():
            key = definitions[section.__name__]["properties"][name]
            key.setdefault("description", figure["description"])


def _cleaned(node: Any) -> Any:
    """Leave out made-up titles, nulls (TOML has none) and defaults that no file can hold."""
    if isinstance(node, list):
        return [_cleaned(item) for item in node]
    if not isinstance(node, dict):
        return node
    cleaned = {
        key: _cleaned(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str)) and key != "default"
    }
    default = node.get("default")
    if isinstance(default, str | int | float) and _is_finite(default):
        cleaned["default"] = default
    options = cleaned.get("anyOf")
    if isinstance(options, list):
        options = [option for option in options if option != {"type": "null"}]
        del cleaned["anyOf"]
        cleaned |= options[0] if len(options) == 1 else {"anyOf": options}
    return cleaned


def _is_finite(value: str | float) -> bool:
    """Whether JSON has a way to write it."""
    return isinstance(value, str) or value - value == 0


if __name__ == "__main__":
    sys.stdout.write(schema_text())
