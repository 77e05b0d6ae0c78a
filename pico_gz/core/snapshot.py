"""Saves and restores objects as plain values.

A class lists the attributes that change while it runs in ``_state_fields``. Snapshots hold
plain values only (numbers, text, bytes, lists, dicts): loading one runs no foreign code.

A field that keeps a state of its own, or a list or dictionary of such parts, is loaded in place.
Every other field is restored as the kind of value that it holds at that time. Where that does
not say enough (``GpsData | None``, a list of records), ``_state_types`` names its type.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Protocol, runtime_checkable

import msgspec

from pico_gz.errors import ConfigError

_ARRAY_KEY = "__array__"


@runtime_checkable
class HasState(Protocol):
    """Something that can be saved and continued."""

    def save_state(self) -> dict[str, Any]:
        """Return everything needed to continue from here, as plain values."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave."""


class Snapshot:
    """Mixin: ``save_state`` and ``load_state`` by a list of attribute names."""

    __slots__ = ()

    _state_fields: ClassVar[tuple[str, ...]] = ()
    _state_types: ClassVar[Mapping[str, Any]] = {}

    def save_state(self) -> dict[str, Any]:
        """Return the listed attributes as plain values."""
        return {name: to_plain(getattr(self, name)) for name in self._state_fields}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Set the listed attributes from what ``save_state`` gave."""
        missing = [name for name in self._state_fields if name not in state]
        if missing:
            raise ConfigError(f"Snapshot of {type(self).__name__} lacks {', '.join(missing)}.")
        for name in self._state_fields:
            saved, current = state[name], getattr(self, name)
            if name in self._state_types:
                typed = msgspec.convert(saved, self._state_types[name])
                is_deque = isinstance(current, deque)
                setattr(self, name, deque(typed, current.maxlen) if is_deque else typed)
            elif not _load_parts(saved, current):
                setattr(self, name, from_plain(saved, current))


def _load_parts(saved: Any, current: Any) -> bool:
    """Load a part, or a list or dictionary of parts, in place; false for plain values."""
    if isinstance(current, HasState):
        current.load_state(saved)
        return True
    if isinstance(current, dict) and any(isinstance(p, HasState) for p in current.values()):
        for key, part in current.items():
            part.load_state(saved[key])
        return True
    if isinstance(current, list) and any(isinstance(part, HasState) for part in current):
        for part, part_saved in zip(current, saved, strict=True):
            part.load_state(part_saved)
        return True
    return False


def to_plain(value: Any) -> Any:
    """Turn a value into what MessagePack can hold without loss."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return [to_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(to_plain(item) for item in value)
    return _object_to_plain(value)


def _object_to_plain(value: Any) -> Any:
    if isinstance(value, HasState):
        return value.save_state()
    if np := sys.modules.get("numpy"):  # who has an array has imported it
        if isinstance(value, np.ndarray):
            return {_ARRAY_KEY: [value.dtype.str, list(value.shape), value.tobytes()]}
        if isinstance(value, np.generic):
            return value.item()
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, builtin_types=(bytes,))
    raise ConfigError(
        f"A snapshot cannot hold a {type(value).__name__}.",
        hint="It needs save_state and load_state, as pico_gz.Snapshot has them.",
    )


def from_plain(saved: Any, like: Any) -> Any:
    """Turn a plain value back into the kind of value that ``like`` is."""
    if isinstance(saved, Mapping) and _ARRAY_KEY in saved:
        import numpy as np

        dtype, shape, data = saved[_ARRAY_KEY]
        return np.frombuffer(data, dtype=np.dtype(dtype)).reshape(shape).copy()
    if isinstance(like, Enum):
        return type(like)(saved)
    if isinstance(like, msgspec.Struct) and saved is not None:
        return msgspec.convert(saved, type(like))
    if isinstance(like, deque):
        return deque((_revive_plain(item) for item in saved), maxlen=like.maxlen)
    if isinstance(like, tuple) and saved is not None:
        return tuple(_revive_plain(item) for item in saved)
    if isinstance(like, (set, bytearray)):
        return type(like)(saved)
    return _revive_plain(saved)


def _revive_plain(saved: Any) -> Any:
    if isinstance(saved, Mapping):
        return (
            from_plain(saved, None)
            if _ARRAY_KEY in saved
            else {k: _revive_plain(v) for k, v in saved.items()}
        )
    if isinstance(saved, list):
        return [_revive_plain(item) for item in saved]
    return saved
