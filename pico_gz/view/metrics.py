"""How a run performs: figures, health, Prometheus text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import speed_of
from pico_gz.bridge.published import BridgeState
from pico_gz.view.source import lag_s

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SILENT_AFTER_S = 5.0
_QUANTILES = (0.5, 0.99, 0.999)

Samples = Iterable[tuple[Mapping[str, object], float]]


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
            "paused": bridge.state is BridgeState.PAUSED,
            "speed": speed_of(bridge.time_mode) or "max",
        }


class Health:
    """Watches the step counter; ``check`` is called a few times per second."""

    def __init__(self, bridge: SitlBridge) -> None:
        self._bridge = bridge
        self._steps = -1
        self._moved_s = 0.0

    def check(self, now_s: float) -> None:
        """Note whether the run has moved; ``now_s`` is monotonic wall time [s]."""
        steps = self._bridge.stats.steps
        if steps != self._steps or self._bridge.state is BridgeState.PAUSED:
            self._steps, self._moved_s = steps, now_s

    def problems(self, now_s: float) -> list[str]:
        """What is wrong, one sentence each; nothing when all is well."""
        self.check(now_s)
        bridge, found = self._bridge, []
        if bridge.state is BridgeState.FAILED:
            found.append("The run has failed.")
        elif not bridge.stats.steps and bridge.state is not BridgeState.PAUSED:
            found.append("The run has not begun.")
        elif now_s - self._moved_s > self._patience_s():
            found.append(f"No step for {now_s - self._moved_s:.0f} s.")
        view = bridge.view
        silent = [str(i) for i in bridge.list_vehicles() if i not in view.sensors]
        if silent:
            found.append(f"No states of vehicle {', '.join(silent)}.")
        return found

    def _patience_s(self) -> float:
        """A slow-motion run may take seconds for one step."""
        mode = self._bridge.time_mode
        return max(SILENT_AFTER_S, 3.0 * mode.step_size_us / 1e6 / (speed_of(mode) or 1.0))


def metrics_text(bridge: SitlBridge, *, watchers: int, rtf: float) -> str:
    """All metrics; ``rtf`` is the real-time factor of the last moments."""
    stats, view = bridge.stats, bridge.view
    latency = [({"quantile": q}, stats.latency.percentile_ms(q) / 1000.0) for q in _QUANTILES]
    state = bridge.state
    lags = [({"vehicle": i}, lag_s(view, i)) for i in bridge.list_vehicles()]
    parts = [
        _metric("step_latency_seconds", "summary", "Sensors handed over to actuators sent.",
                latency, count=stats.steps),
        _metric("real_time_factor", "gauge", "Simulated over wall seconds, just now.",
                [({}, rtf)]),
        _metric("real_time_factor_mean", "gauge", "The same over the whole run, without pauses.",
                [({}, stats.real_time_factor)]),
        _metric("steps_total", "counter", "Finished steps of the fleet.", [({}, stats.steps)]),
        _metric("lost_steps_total", "counter", "Steps in which a vehicle had no fresh record.",
                [({}, stats.lost_steps)]),
        _metric("sim_time_seconds", "gauge", "Simulation time.", [({}, view.time_us / 1e6)]),
        _metric("run_state", "gauge", "1 for the state the run is in.",
                [({"state": s.value}, float(s is state)) for s in BridgeState]),
        _metric("vehicles", "gauge", "Vehicles in the fleet.", [({}, len(lags))]),
        _metric("vehicle_lag_seconds", "gauge", "Age of a vehicle's newest record, simulated.",
                [(labels, lag) for labels, lag in lags if lag is not None]),
        _metric("vehicle_armed", "gauge", "1 for an armed vehicle.",
                [({"vehicle": v.id}, float(v.status().armed)) for v in bridge.vehicles]),
        _metric("events_total", "counter", "What happened, by kind.",
                [({"kind": k}, n) for k, n in sorted(bridge.events.counts.copy().items())]),
        _metric("view_clients", "gauge", "Browsers that watch.", [({}, watchers)]),
    ]  # fmt: skip
    return "".join(parts)


def _metric(name: str, kind: str, text: str, samples: Samples, *, count: int | None = None) -> str:
    full = f"pico_gz_{name}"
    lines = [f"# HELP {full} {text}", f"# TYPE {full} {kind}"]
    lines += [f"{full}{_labels(labels)} {value:.9g}" for labels, value in samples]
    if count is not None:
        lines.append(f"{full}_count {count}")
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, object]) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())
    return "{" + pairs + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
