"""A running run as a source for the view."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import speed_of
from pico_gz.bridge.published import BridgeEvent, BridgeState, FleetView
from pico_gz.run.commands import status_of
from pico_gz.run.view_access import RunHandle
from pico_gz.view.details import PlanReader, focus_message, recorded_belief
from pico_gz.view.metrics import metrics_text
from pico_gz.view.source import FIELDS, KEPT, Changes, EventTail, FleetSampler, Row, make_rows
from pico_gz.view.welcome import describe_run, encode_frame


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


# All trails together have this many points; a page keeps its own, longer ones.
BUDGET = 16_000
MOST_POINTS = 800
SPACING_M = 0.2


class Trails:
    """The last points of every vehicle, in centimetres, at least ``SPACING_M`` apart."""

    def __init__(self) -> None:
        self._points: dict[int, deque[tuple[int, int]]] = {}

    def add(self, view: FleetView) -> None:
        """Take the places of one step."""
        most = min(MOST_POINTS, BUDGET // max(1, len(view.truth)))
        spacing_cm = SPACING_M * 100.0
        for vehicle_id, truth in view.truth.items():
            points = self._points.setdefault(vehicle_id, deque(maxlen=most))
            north, east = round(truth.north_m * 100.0), round(truth.east_m * 100.0)
            if points:
                was_north, was_east = points[-1]
                if abs(north - was_north) < spacing_cm and abs(east - was_east) < spacing_cm:
                    continue
            points.append((north, east))

    def clear(self) -> None:
        """Forget all."""
        self._points.clear()

    def flat(self) -> dict[int, list[int]]:
        """Vehicle id -> north, east, north, east ... [cm], oldest first."""
        return {i: [c for point in points for c in point] for i, points in self._points.items()}


SILENT_AFTER_S = 5.0


class Health:
    """Watches the step counter; ``look`` is called a few times per second."""

    def __init__(self, bridge: SitlBridge) -> None:
        self._bridge = bridge
        self._steps = -1
        self._moved_s = 0.0

    def look(self, now_s: float) -> None:
        """Note whether the run has moved; ``now_s`` is monotonic wall time [s]."""
        steps = self._bridge.stats.steps
        if steps != self._steps or self._bridge.is_paused():
            self._steps, self._moved_s = steps, now_s

    def problems(self, now_s: float) -> list[str]:
        """What is wrong, one sentence each; nothing when all is well."""
        self.look(now_s)
        bridge, found = self._bridge, []
        if bridge.state is BridgeState.FAILED:
            found.append("The run has failed.")
        elif not bridge.stats.steps and not bridge.is_paused():
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


ROWS_PERIOD_S = 0.25
FIGURES_PERIOD_S = 0.5


class LiveSource:
    """Reads what the bridge publishes and what the sampler collects on the simulation thread."""

    def __init__(self, run: RunHandle) -> None:
        self._run = run
        self.frame, self.frame_number = b"", 0
        self.figures: Mapping[str, Any] = {}
        self.figures_number = 0
        self.rows: Changes[int, Row] = Changes()
        self.plans: Changes[int, dict[str, Any]] = Changes()
        self.events = EventTail()
        self.commands = run.commands
        self._description = describe_run(run)
        self._sampler = FleetSampler(run.pilots)
        self._reader = PlanReader(run.frame)
        self._trails = Trails()
        self._figures = Figures(run.bridge)
        self._health = Health(run.bridge)
        self._watchers = 0
        self._shown_view: FleetView | None = None
        self._shown_state = BridgeState.IDLE
        self.plans.update({i: self._reader.plan_of(*x) for i, x in run.recorded_items.items()})
        self._names = {plan.id: plan.config.label for plan in run.fleet.vehicles}
        self._recorded_us = [event.time_us for event in run.recorded_events]
        self._told = 0
        self._rows_due_s = self._figures_due_s = 0.0
        self._listen()

    def _listen(self) -> None:
        bridge = self._run.bridge
        for event in tuple(bridge.events.recent):
            self._note(event)
        bridge.events.listen(self._note)
        bridge.after_step.add(self._sampler.after_step)
        bridge.while_idle.add(self._sampler.while_idle)

    def close(self) -> None:
        """Look no more."""
        bridge = self._run.bridge
        bridge.after_step.remove(self._sampler.after_step)
        bridge.while_idle.remove(self._sampler.while_idle)

    # --- for the server thread --------------------------------------------------------------

    def hello(self) -> dict[str, Any]:
        """What stands still, and the trails so far."""
        return {**self._description, "trails": self._trails.flat()}

    def set_audience(self, watchers: int, focused: Collection[int]) -> None:
        """Let the simulation thread know for whom it keeps references."""
        self._watchers = watchers
        self._sampler.focused = frozenset(focused)
        self._sampler.watched = watchers > 0

    def refresh(self, now_s: float) -> None:
        """Bring up to date what is due."""
        if self._recorded_us:
            self._refresh_recorded_events()
        if self._watchers:
            self._refresh_frame()
            if now_s >= self._rows_due_s:
                self._rows_due_s = now_s + ROWS_PERIOD_S
                self._refresh_rows()
        if now_s >= self._figures_due_s:
            self._figures_due_s = now_s + FIGURES_PERIOD_S
            self._health.look(now_s)
            self._trails.add(self._run.bridge.view)
            self.figures = self._figures.take(now_s)
            self.figures_number += 1

    def focus(self, vehicle_id: int) -> dict[str, Any] | None:
        """Everything about one vehicle."""
        view = self._run.bridge.view
        if vehicle_id not in view.truth:
            return None
        message = focus_message(
            vehicle_id, view, self._sampler.beliefs.get(vehicle_id), self._reader
        )
        sample = self._run.sample_of(vehicle_id)
        return message if sample is None else message | recorded_belief(sample)

    def state(self) -> dict[str, Any]:
        """The run's status, its fleet and everything the view knows."""
        self._refresh_rows()
        status = status_of(self._run.bridge)
        for vehicle_id, row in self.rows.values().items():
            if str(vehicle_id) in status["vehicles"]:
                status["vehicles"][str(vehicle_id)] |= dict(zip(FIELDS, row, strict=True))
        fleet = self._run.fleet
        return {"fleet": fleet.name, "seed": fleet.seed, **status, "figures": self.figures}

    def metrics(self) -> str:
        """The figures as Prometheus text."""
        rtf = float(self.figures.get("rtf", 0.0))
        return metrics_text(self._run.bridge, watchers=self._watchers, rtf=rtf)

    def problems(self, now_s: float) -> list[str]:
        """Why the run is not well."""
        return self._health.problems(now_s)

    # --- parts ------------------------------------------------------------------------------

    def _refresh_frame(self) -> None:
        bridge = self._run.bridge
        view = bridge.view
        state = BridgeState.PAUSED if bridge.is_paused() else bridge.state
        # Compared by identity: views are immutable, and equality would compare everything.
        if self._shown_view is not view or self._shown_state is not state:
            self._shown_view, self._shown_state = view, state
            self.frame, self.frame_number = encode_frame(view, state), self.frame_number + 1

    def _refresh_rows(self) -> None:
        run, beliefs = self._run, dict(self._sampler.beliefs)
        views = list(self._sampler.views) or [run.bridge.view]
        self.rows.update(make_rows(run.bridge.vehicles(), views, beliefs, run.failures()))
        self.plans.update({i: self._reader.plan(i, belief) for i, belief in beliefs.items()})

    def _refresh_recorded_events(self) -> None:
        """Show those of a recording up to the time that is shown, wherever it has jumped to."""
        told = bisect_right(self._recorded_us, self._run.bridge.view.time_us)
        if told < self._told:
            self.events.clear()
            self._told = 0
        for event in self._run.recorded_events[max(self._told, told - KEPT) : told]:
            self._note(event)
        self._told = told

    def _note(self, event: BridgeEvent) -> None:
        """Called by whichever thread caused the event."""
        # The name stands beside every event in the view.
        name = self._names.get(event.vehicle_id, "")
        self.events.add(event, event.text.removeprefix(f"{name}: "))
