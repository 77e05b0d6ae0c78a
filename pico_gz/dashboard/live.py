"""A run that goes on, as a source for the view."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from typing import Any

from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.view import BridgeState, FleetView
from pico_gz.dashboard.changes import Changes
from pico_gz.dashboard.event_tail import KEPT, EventTail
from pico_gz.dashboard.figures import Figures
from pico_gz.dashboard.focus import focus_message, recorded_belief
from pico_gz.dashboard.frames import encode_frame
from pico_gz.dashboard.health import Health
from pico_gz.dashboard.metrics import metrics_text
from pico_gz.dashboard.plans import PlanReader
from pico_gz.dashboard.rows import FIELDS, Row, make_rows
from pico_gz.dashboard.sampler import FleetSampler
from pico_gz.dashboard.trails import Trails
from pico_gz.dashboard.welcome import describe_run
from pico_gz.session.control_commands import status_of
from pico_gz.session.dashboard import RunHandle

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
