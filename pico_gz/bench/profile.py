"""Where the time of a run goes, by part of the kit: it shows why a figure is what it is."""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter
from collections.abc import Callable
from pathlib import PurePath

PREFIX = "share_"
_PACKAGE = "pico_gz"
_OTHERS = "others"
_LEAST_PERCENT = 1.0


def shares(work: Callable[[], object]) -> dict[str, float]:
    """Percent of the time of ``work`` by package, largest first, named ``share_<package>``.

    What C code costs is counted for whoever called it. A profiler makes every call dearer, so
    these are shares, not times.
    """
    profiler = cProfile.Profile()
    profiler.runcall(work)
    spent_s: Counter[str] = Counter()
    for (file, _, _), (_, _, own_s, _, callers) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        if (part := _part(file)) != _OTHERS or not callers:
            spent_s[part] += own_s
            continue
        for (caller_file, _, _), (_, _, for_caller_s, _) in callers.items():
            spent_s[_part(caller_file)] += for_caller_s
    total_s = sum(spent_s.values()) or 1.0
    percent = {part: 100.0 * own_s / total_s for part, own_s in spent_s.most_common()}
    return {f"{PREFIX}{part}": p for part, p in percent.items() if p >= _LEAST_PERCENT}


def _part(file: str) -> str:
    parts = PurePath(file).parts
    if _PACKAGE not in parts:
        return _OTHERS
    place = len(parts) - 1 - parts[::-1].index(_PACKAGE)
    return parts[place + 1].removesuffix(".py")
