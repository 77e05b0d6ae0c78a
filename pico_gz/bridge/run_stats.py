"""What the bridge counts while it runs: steps, pace, latencies."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from pico_gz.bridge.published import LatencySummary
from pico_gz.core.snapshot import Snapshot

# Buckets grow by 5 %, from 1 us to beyond 100 s: percentiles are right to a few per cent.
_GROWTH: Final = 1.05
_LOG_GROWTH = math.log(_GROWTH)
_BUCKETS: Final = 400


class LatencyHistogram:
    """Counts durations in buckets of growing width.

    Attributes:
        sum_s: of all durations of the run [s].
    """

    __slots__ = ("_counts", "_max_s", "_total", "sum_s")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self._total = 0
        self._max_s = 0.0
        self.sum_s = 0.0

    def add(self, duration_s: float) -> None:
        """Count one duration [s]."""
        duration_us = duration_s * 1e6
        bucket = int(math.log(duration_us) / _LOG_GROWTH) if duration_us > 1.0 else 0
        self._counts[bucket if bucket < _BUCKETS else _BUCKETS - 1] += 1
        self._total += 1
        self.sum_s += duration_s
        if duration_s > self._max_s:
            self._max_s = duration_s

    def copy(self) -> LatencyHistogram:
        """What was counted so far."""
        twin = LatencyHistogram()
        twin._counts, twin._max_s, twin.sum_s = self._counts.copy(), self._max_s, self.sum_s
        twin._total = sum(twin._counts)
        return twin

    def since(self, earlier: LatencyHistogram) -> LatencyHistogram:
        """What was counted after ``earlier``, a copy; maximum and sum are those of the run."""
        later = self.copy()
        later._counts = [b - a for a, b in zip(earlier._counts, later._counts, strict=True)]
        later._total -= earlier._total
        return later

    def percentile_ms(self, fraction: float) -> float:
        """The duration [ms] below which this fraction of the steps lies."""
        wanted = fraction * self._total
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(_GROWTH ** (bucket + 1) / 1000.0, self._max_s * 1000.0)
        return 0.0

    def summary(self) -> LatencySummary:
        """The percentiles that are reported."""
        return LatencySummary(
            p50=self.percentile_ms(0.5),
            p99=self.percentile_ms(0.99),
            p999=self.percentile_ms(0.999),
            max=self._max_s * 1000.0,
        )


class RunStats(Snapshot):
    """What the bridge counts while it runs."""

    _state_fields = ("steps", "lost_steps")

    def __init__(self) -> None:
        self.steps = 0
        self.lost_steps = 0
        self.latency = LatencyHistogram()
        self.wall_s = 0.0
        self.sim_us = 0

    @property
    def real_time_factor(self) -> float:
        """Simulated over wall seconds since the run began; pauses are not counted."""
        return self.sim_us / 1e6 / self.wall_s if self.wall_s > 0.0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {
            "steps": self.steps,
            "lost_steps": self.lost_steps,
            "rtf": self.real_time_factor,
            "latency_ms": msgspec.to_builtins(self.latency.summary()),
        }
