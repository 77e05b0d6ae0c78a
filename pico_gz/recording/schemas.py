"""What the messages of a recording look like, as JSON Schemas that plotting tools read.

Where Foxglove has a schema of its own it is used under its name; all other messages are the
kit's own, with the schema made from their class.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import inspect as types

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER: dict[str, Any] = {"type": "number"}
_TEXT: dict[str, Any] = {"type": "string"}
_WHOLE: dict[str, Any] = {"type": "integer"}


def _object(title: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties}


_TIME = _object("time", sec=_WHOLE, nsec=_WHOLE)
_XYZ = {"x": _NUMBER, "y": _NUMBER, "z": _NUMBER}

FOXGLOVE: dict[str, dict[str, Any]] = {
    "foxglove.PoseInFrame": _object(
        "foxglove.PoseInFrame",
        timestamp=_TIME,
        frame_id=_TEXT,
        pose=_object(
            "foxglove.Pose",
            position=_object("foxglove.Vector3", **_XYZ),
            orientation=_object("foxglove.Quaternion", **_XYZ, w=_NUMBER),
        ),
    ),
    "foxglove.LocationFix": _object(
        "foxglove.LocationFix",
        timestamp=_TIME,
        frame_id=_TEXT,
        latitude=_NUMBER,
        longitude=_NUMBER,
        altitude=_NUMBER,
        position_covariance={"type": "array", "items": _NUMBER, "minItems": 9, "maxItems": 9},
        position_covariance_type=_WHOLE,
    ),
    "foxglove.Log": _object(
        "foxglove.Log",
        timestamp=_TIME,
        level=_WHOLE,
        message=_TEXT,
        name=_TEXT,
        file=_TEXT,
        line=_WHOLE,
        kind=_TEXT,
        vehicle_id=_WHOLE,
        adapter=_TEXT,
        severity=_WHOLE,
        time_us=_WHOLE,
    ),
}


def schema_bytes(name: str, message: type[msgspec.Struct] | None = None) -> bytes:
    """The schema of this name; made from ``message`` where it is the kit's own."""
    schema = FOXGLOVE[name] if message is None else _of(types.type_info(message))
    return json.dumps(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    ).encode()


def _of(kind: types.Type) -> dict[str, Any]:
    """Plain enough for every reader: no references, no alternatives, one kind of item."""
    if isinstance(kind, types.StructType):
        fields = {field.encode_name: _of(field.type) for field in kind.fields}
        return _object(f"pico_gz.{kind.cls.__name__}", **fields)
    if isinstance(kind, types.UnionType):
        return _of(next(part for part in kind.types if not isinstance(part, types.NoneType)))
    if isinstance(kind, types.TupleType):
        return {"type": "array", "items": _of(kind.item_types[0])}
    if isinstance(kind, types.VarTupleType):
        return {"type": "array", "items": _of(kind.item_type)}
    if isinstance(kind, types.FloatType):
        return _NUMBER
    if isinstance(kind, types.BoolType):
        return {"type": "boolean"}
    if isinstance(kind, types.StrType):
        return _TEXT
    if isinstance(kind, types.IntType | types.EnumType):
        return _WHOLE
    raise TypeError(f"A recording cannot hold {kind!r}.")
