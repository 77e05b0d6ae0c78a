"""How the run goes right now: real-time factor and latency of the last moments."""

from __future__ import annotations

from typing import Any

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import speed_of


class Figures:
    """Compares the run's counters with those of the last call."""

    def __init__(self, bridge: SitlBridge) -> None:
        self._bridge = bridge
        self._latency = bridge.stats.latency.copy()
        self._sim_us = bridge.stats.sim_us
        self._at_s: float | None = None

    def take(self, now_s: float) -> dict[str, Any]:
        """The figures since the last call; ``now_s`` is monotonic wall time [s]."""
        bridge, stats = self._bridge, self._bridge.stats
        recent = stats.latency.since(self._latency)
        self._latency = stats.latency.copy()
        elapsed_s = 0.0 if self._at_s is None else now_s - self._at_s
        advanced_us = stats.sim_us - self._sim_us
        self._at_s, self._sim_us = now_s, stats.sim_us
        return {
            "steps": stats.steps,
            "lost_steps": stats.lost_steps,
            "rtf": round(advanced_us / 1e6 / elapsed_s, 3) if elapsed_s > 0.0 else 0.0,
            "rtf_mean": round(stats.real_time_factor, 3),
            "latency_p50_ms": round(recent.percentile_ms(0.5), 3),
            "latency_p99_ms": round(recent.percentile_ms(0.99), 3),
            "paused": bridge.is_paused(),
            "speed": speed_of(bridge.time_mode) or "max",
        }
