"""Observers of a run: the list of them, and the trace digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from pico_gz.bridge.published import FleetView
from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP, end_without_memory
from pico_gz.bridge.timeline import Marks
from pico_gz.core.snapshot import HasState
from pico_gz.core.step_records import StepRecords

T = TypeVar("T")


class HookList(Generic[T]):
    """Observers of a run, called one after the other with the same value.

    One that raises is reported and, after three times in a row, removed. One that keeps a
    state (``save_state``, ``load_state``) is part of a snapshot, under its name.

    Attributes:
        calling: the one that runs now, for other threads that ask what costs the time.
    """

    def __init__(self, where: str, on_failure: Callable[[str, Exception], None]) -> None:
        self.calling: Callable[[T], None] | None = None
        self._where = where
        self._on_failure = on_failure
        # Replaced, never changed: a step may be going through them.
        self._hooks: dict[str, Callable[[T], None]] = {}
        self._failures: dict[str, int] = {}

    def add(self, hook: Callable[[T], None], name: str = "") -> None:
        """Call ``hook`` from now on.

        Args:
            hook: the observer.
            name: of its state in snapshots; default: its class, numbered from the second on.
        """
        wanted = name or getattr(hook, "__name__", type(hook).__name__)
        name, number = wanted, 1
        while name in self._hooks:
            number += 1
            name = f"{wanted} {number}"
        self._hooks = {**self._hooks, name: hook}

    def remove(self, hook: Callable[[T], None]) -> None:
        """Call ``hook`` no more; harmless when it is not there."""
        self._hooks = {name: known for name, known in self._hooks.items() if known != hook}

    def stateful(self) -> dict[str, HasState]:
        """Those that keep a state of their own, by name."""
        hooks: dict[str, object] = dict(self._hooks)
        return {name: hook for name, hook in hooks.items() if isinstance(hook, HasState)}

    def __call__(self, value: T) -> None:
        """Call all of them."""
        for name, hook in self._hooks.items():
            self.calling = hook
            try:
                hook(value)
            except Exception as exc:  # an observer must not end a run
                self._failed(name, hook, exc)
            else:
                if self._failures:
                    self._failures.pop(name, None)
        self.calling = None

    def _failed(self, name: str, hook: Callable[[T], None], exc: Exception) -> None:
        end_without_memory(exc)
        self._failures[name] = self._failures.get(name, 0) + 1
        self._on_failure(self._where, exc)
        if self._failures[name] >= FAILURES_BEFORE_GIVING_UP:
            del self._failures[name]
            self.remove(hook)


class TraceDigest:
    """SHA-256 over all that happened. Same seed, fleet and version give the same digest.

    Numbers go in as IEEE 754 bytes (MessagePack), never as rounded text. After a restore it is
    the digest of the restored time line.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = msgspec.msgpack.Encoder()
        self._buffer = bytearray()
        self._marks: Marks[Any] = Marks()

    def __call__(self, view: FleetView) -> None:
        """Add one step."""
        sensors = view.sensors
        commands = list(map(view.commands.get, sensors))
        if isinstance(sensors, StepRecords):
            written = sensors.trace(view.truth, self._encoder.encode(commands))
            if written is not None:
                self._hash.update(written)
                return
        # Column by column: a third of the time of a comprehension for a large fleet.
        truths = map(view.truth.get, sensors)
        step = list(zip(truths, sensors.values(), commands, strict=True))
        self._encoder.encode_into(step, self._buffer)
        self._hash.update(self._buffer)

    def mark(self, moment: str) -> None:
        """Note that a snapshot was taken now."""
        self._marks.note(moment, self._hash.copy())

    def go_back(self, moment: str, time_us: int) -> None:
        """Continue from a snapshot; the digest of one of another process begins with its name."""
        known = self._marks.get(moment)
        self._hash = hashlib.sha256(moment.encode()) if known is None else known.copy()

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._hash.hexdigest()
