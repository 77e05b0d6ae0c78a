"""Observers of a run. One that raises is reported and, after three in a row, let go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP
from pico_gz.state import HasState

T = TypeVar("T")


class HookList(Generic[T]):
    """Callables that are told the same thing, one after the other."""

    def __init__(self, where: str, on_failure: Callable[[str, Exception], None]) -> None:
        self._where = where
        self._on_failure = on_failure
        self._hooks: list[Callable[[T], None]] = []
        self._failures: dict[Callable[[T], None], int] = {}

    def add(self, hook: Callable[[T], None]) -> None:
        """Tell ``hook`` from now on."""
        self._hooks = [*self._hooks, hook]

    def remove(self, hook: Callable[[T], None]) -> None:
        """Tell ``hook`` no more; harmless when it is not there."""
        self._hooks = [known for known in self._hooks if known != hook]

    def stateful(self) -> dict[str, HasState]:
        """Those that keep a state of their own, by class; they are part of a snapshot."""
        hooks: list[object] = list(self._hooks)
        return {type(hook).__name__: hook for hook in hooks if isinstance(hook, HasState)}

    def __call__(self, value: T) -> None:
        """Tell all of them."""
        for hook in self._hooks:
            try:
                hook(value)
            except Exception as exc:  # an observer must not end a run
                self._failed(hook, exc)
            else:
                if self._failures:
                    self._failures.pop(hook, None)

    def _failed(self, hook: Callable[[T], None], exc: Exception) -> None:
        self._failures[hook] = self._failures.get(hook, 0) + 1
        self._on_failure(self._where, exc)
        if self._failures[hook] >= FAILURES_BEFORE_GIVING_UP:
            self.remove(hook)
