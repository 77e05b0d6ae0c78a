"""Values by key, with the moment each of them changed last: what is new for whom."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Changes(Generic[K, V]):
    """Keeps the newest value per key and counts changes.

    Every reader remembers the ``version`` it has seen and asks for what came ``after`` it, so a
    slow reader skips what is outdated and nothing is queued for it.
    """

    def __init__(self) -> None:
        self.version = 0
        self._values: dict[K, V] = {}
        self._changed: dict[K, int] = {}

    def update(self, values: Mapping[K, V]) -> None:
        """Take the newest values of some keys."""
        for key, value in values.items():
            if key not in self._values or self._values[key] != value:
                self.version += 1
                self._values[key] = value
                self._changed[key] = self.version

    def after(self, version: int) -> dict[K, V]:
        """What changed since ``version``; everything for 0."""
        if version >= self.version:
            return {}
        return {key: self._values[key] for key, at in self._changed.items() if at > version}

    def values(self) -> Mapping[K, V]:
        """Everything."""
        return self._values
