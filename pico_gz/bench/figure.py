"""One measured figure and its goal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement.

    Attributes:
        name: short and stable, for programs.
        what: one line, for people.
        value: the measurement.
        unit: of ``value`` and ``goal``.
        goal: what it should reach.
        higher_is_better: whether ``goal`` is a floor or a ceiling.
        detail: further numbers of the same measurement.
    """

    name: str
    what: str
    value: float
    unit: str
    goal: float
    higher_is_better: bool = False
    detail: dict[str, float] = {}

    @property
    def reached(self) -> bool:
        """Whether the goal is met."""
        return self.value >= self.goal if self.higher_is_better else self.value <= self.goal

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**msgspec.to_builtins(self), "reached": self.reached}


def best_us(work: Callable[[], object], count: int, rounds: int = 5) -> float:
    """Microseconds of processor time per unit of the fastest round; the others were disturbed.

    Processor time, because what else a machine does shall not count. It still stretches while
    others use the caches, so compare figures only with the bare loop of the same run.

    Args:
        work: does ``count`` units.
        count: how many units one call does.
        rounds: how often it is called.
    """
    fastest_s = float("inf")
    for _ in range(rounds):
        started_s = time.process_time()
        work()
        fastest_s = min(fastest_s, time.process_time() - started_s)
    return fastest_s / count * 1e6
