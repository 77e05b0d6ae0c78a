"""The past of a run, which goes back with a restored snapshot.

Two kinds of things stand beside adapters and vehicles:

- what has a small state of its own (``save_state``, ``load_state``): its state is part of the
  snapshot, under its name;
- what collects the past (histories, recordings, digests): it notes where it stands when a
  snapshot is taken, and returns there when that snapshot is restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar

from pico_gz.core.snapshot import HasState


class PastKeeper(Protocol):
    """Collects what happened."""

    def mark(self, moment: str) -> None:
        """Note that a snapshot was taken now, under the name ``moment``."""

    def go_back(self, moment: str, time_us: int) -> None:
        """Return to a snapshot; one of another process is unknown, and nothing came before it."""


T = TypeVar("T")


class Marks(dict[str, T], Generic[T]):
    """What a ``PastKeeper`` noted at each snapshot; beyond ``limit`` the oldest are forgotten."""

    def __init__(self, limit: int = 1000) -> None:
        super().__init__()
        self._limit = limit

    def note(self, moment: str, value: T) -> None:
        """Keep a value for a snapshot."""
        self[moment] = value
        while len(self) > self._limit:
            del self[next(iter(self))]


class Timeline:
    """What a bridge saves and brings back beside its adapters and vehicles."""

    def __init__(self) -> None:
        self._parts: dict[str, HasState] = {}
        self._keepers: list[PastKeeper] = []

    def add_state(self, name: str, part: HasState) -> None:
        """Make a part's state a part of snapshots."""
        self._parts[name] = part

    def add_past(self, keeper: PastKeeper) -> None:
        """Let a collection of the past go back with the run."""
        self._keepers.append(keeper)

    def remove_past(self, keeper: PastKeeper) -> None:
        """Leave a collection alone from now on; harmless when it is not there."""
        self._keepers = [known for known in self._keepers if known is not keeper]

    def save(self) -> dict[str, Any]:
        """The states of all parts."""
        return {name: part.save_state() for name, part in self._parts.items()}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Load the parts that the snapshot and this run both have."""
        for name, part in self._parts.items():
            if name in saved:
                part.load_state(saved[name])

    def mark(self, data: bytes) -> None:
        """Note where everything stands at a snapshot."""
        moment = moment_of(data)
        for keeper in self._keepers:
            keeper.mark(moment)

    def go_back(self, data: bytes, time_us: int) -> None:
        """Return to where everything stood at a snapshot."""
        moment = moment_of(data)
        for keeper in self._keepers:
            keeper.go_back(moment, time_us)


def moment_of(data: bytes) -> str:
    """The name of a snapshot."""
    return blake2b(data, digest_size=16).hexdigest()
