"""Measured figures, their goals, and where the time goes."""

from __future__ import annotations

import cProfile
import pstats
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from pico_gz.core.compiled_modules import SOURCES


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement.

    Attributes:
        name: short and stable, for programs.
        what: one line, for people.
        value: the measurement.
        unit: of ``value`` and ``goal``.
        goal: what it should reach.
        higher_is_better: whether ``goal`` is a floor or a ceiling.
        pure: the same with nothing compiled; ``None`` where that was not measured.
        detail: further numbers of the same measurement.
    """

    name: str
    what: str
    value: float
    unit: str
    goal: float
    higher_is_better: bool = False
    pure: float | None = None
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


def bare_loop_us() -> float:
    """Microseconds of one turn of a bare loop with a few float operations."""
    turns = 200_000

    def work() -> float:
        x, v = 0.0, 1.0
        for _ in range(turns):
            x += v * 0.01
            v = v * 0.999 + 0.001
        return x

    return best_us(work, turns)


PREFIX = "share_"
_PACKAGE = "pico_gz"
_OTHERS = "others"
# What a profiler calls functions and methods of compiled modules.
_FUNCTION = re.compile(rf"<built-in method ({_PACKAGE}\.[\w.]+)\.\w+>")
_METHOD = re.compile(r"<method '\w+' of '(?:[\w.]+\.)?(\w+)' objects>")
_MIN_PERCENT = 1.0


def shares(work: Callable[[], object]) -> dict[str, float]:
    """Percent of the time of ``work`` by package, largest first, named ``share_<package>``.

    What C code costs is counted for its caller, but compiled modules are packages as others;
    what they call of each other counts for the one that was entered. A profiler makes every
    call dearer, so these are shares, not times.
    """
    profiler = cProfile.Profile()
    profiler.runcall(work)
    spent_s: Counter[str] = Counter()
    compiled = _compiled_classes()
    for (file, _, name), (_, _, own_s, _, callers) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        if (part := _part(file, name, compiled)) != _OTHERS or not callers:
            spent_s[part] += own_s
            continue
        for (caller_file, _, caller), (_, _, for_caller_s, _) in callers.items():
            spent_s[_part(caller_file, caller, compiled)] += for_caller_s
    total_s = sum(spent_s.values()) or 1.0
    percent = {part: 100.0 * own_s / total_s for part, own_s in spent_s.most_common()}
    return {f"{PREFIX}{part}": p for part, p in percent.items() if p >= _MIN_PERCENT}


def explained(figure: Figure, work: Callable[[], object]) -> Figure:
    """A figure that misses its goal, with the shares of the time that it takes."""
    if figure.reached:
        return figure
    return msgspec.structs.replace(figure, detail={**figure.detail, **shares(work)})


def _compiled_classes() -> dict[str, str]:
    """The compiled classes that are imported, by name, with their files."""
    found: dict[str, str] = {}
    for source in SOURCES:
        module = source.removesuffix(".py").replace("/", ".")
        for name, kind in vars(sys.modules.get(module, object)).items():
            if isinstance(kind, type) and kind.__module__ == module:
                found[name] = source
    return found


def _part(file: str, name: str, compiled: Mapping[str, str]) -> str:
    if function := _FUNCTION.fullmatch(name):
        file = f"{function[1].replace('.', '/')}.py"
    elif method := _METHOD.fullmatch(name):
        file = compiled.get(method[1], file)
    parts = PurePath(file).parts
    if _PACKAGE not in parts:
        return _OTHERS
    return PurePath(file).stem if parts[-2] == _PACKAGE else parts[-2]
