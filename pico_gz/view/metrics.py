"""The figures of a run as Prometheus text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeState
from pico_gz.view.source import lag_s

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_QUANTILES = (0.5, 0.99, 0.999)

Samples = Iterable[tuple[Mapping[str, object], float]]


def metrics_text(bridge: SitlBridge, *, watchers: int, rtf: float) -> str:
    """All metrics; ``rtf`` is the real-time factor of the last moments."""
    stats, view = bridge.stats, bridge.view
    latency = [({"quantile": q}, stats.latency.percentile_ms(q) / 1000.0) for q in _QUANTILES]
    paused = bridge.is_paused()
    state = BridgeState.PAUSED if paused else bridge.state
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
                [({"vehicle": v.id}, float(v.status().armed)) for v in bridge.vehicles()]),
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
