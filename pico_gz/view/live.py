"""A running run as a source for the view."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

from pico_gz import __version__
from pico_gz.bridge.published import BridgeEvent, BridgeState, FleetView
from pico_gz.bridge.timeline import Marks
from pico_gz.run.commands import status_of
from pico_gz.run.overload import plain_pace
from pico_gz.run.view_access import FLEET_CHANGES, RunHandle
from pico_gz.view.details import PlanReader, details_message, recorded_estimates
from pico_gz.view.metrics import Figures, Health, metrics_text
from pico_gz.view.source import FIELDS, KEPT, Changes, EventTail, FleetSampler, Row, make_rows
from pico_gz.view.welcome import describe_run, encode_frame

# All trails together have this many points; a page keeps its own, longer ones.
BUDGET = 16_000
_MAX_POINTS = 800
SPACING_M = 0.2
# A fast vehicle's points are this far apart in time, so that the trail of an aircraft is long, too.
SPACING_S = 0.2
# What a vehicle's state has of its details; positions north and east [m].
_STATE_DETAILS = (
    "estimate", "target", "distance_m", "cross_track_m", "heading_error_deg", "throttle_percent",
    "motors", "servos",
)  # fmt: skip


class Trails:
    """The last points of every vehicle, in centimetres, some way apart."""

    def __init__(self) -> None:
        self._points: dict[int, deque[tuple[int, int]]] = {}
        self._lock = threading.Lock()  # copied by the simulation thread

    def add(self, view: FleetView) -> None:
        """Take the places of one step."""
        with self._lock:
            self._add(view)

    def _add(self, view: FleetView) -> None:
        points_each = min(_MAX_POINTS, BUDGET // max(1, len(view.truth)))
        for vehicle_id, truth in view.truth.items():
            points = self._points.setdefault(vehicle_id, deque(maxlen=points_each))
            north, east = round(truth.north_m * 100.0), round(truth.east_m * 100.0)
            if points:
                was_north, was_east = points[-1]
                speed_mps = max(map(abs, truth.velocity_ned_mps))
                spacing_cm = 100.0 * max(SPACING_M, SPACING_S * speed_mps)
                if abs(north - was_north) < spacing_cm and abs(east - was_east) < spacing_cm:
                    continue
            points.append((north, east))

    def copy(self) -> Trails:
        """The trails as they are now."""
        twin = Trails()
        with self._lock:
            twin._points = {i: points.copy() for i, points in self._points.items()}
        return twin

    def flat(self) -> dict[int, list[int]]:
        """Vehicle id -> north, east, north, east ... [cm], oldest first."""
        return {i: [c for point in points for c in point] for i, points in self._points.items()}


ROWS_PERIOD_S = 0.25
FIGURES_PERIOD_S = 0.5
# For programs autopilots are read at most this often, however often they ask.
READ_AGAIN_S = 1.0
# So long the end of a run waits for browsers to take its last moment.
END_LIMIT_S = 0.5


class LiveSource:
    """Reads what the bridge publishes and what the sampler collects on the simulation thread."""

    def __init__(self, run: RunHandle) -> None:
        self._run = run
        self.frame, self.frame_number = b"", 0
        self.figures: Mapping[str, Any] = {}
        self.figures_number = 0
        self.restarts = 0
        self.rows: Changes[int, Row] = Changes()
        self.plans: Changes[int, dict[str, Any]] = Changes()
        self.events = EventTail()
        self.commands = run.commands
        self._describe()
        self._sampler = FleetSampler(run.pilots)
        self._reader = PlanReader(run.frame)
        self._trails = Trails()
        self._figures = Figures(run.bridge, run.pace)
        self._marks: Marks[Trails] = Marks(50)
        self._health = Health(run.bridge)
        self._watchers = 0
        self.ended: Mapping[str, Any] | None = None
        self._ending = False
        self._read_due_s = 0.0
        self._shown_view: FleetView | None = None
        self._shown_state = BridgeState.IDLE
        self.plans.update({i: self._reader.plan_of(*x) for i, x in run.recorded_items.items()})
        self._recorded_us = [event.time_us for event in run.recorded_events]
        self._noted = 0
        self._rows_due_s = self._figures_due_s = 0.0
        self._listen()

    def _describe(self) -> None:
        """Make the first message; again when a vehicle has joined or left."""
        run = self._run
        self._names = {plan.id: plan.config.label for plan in run.fleet.vehicles}
        self._description = describe_run(run)

    def _listen(self) -> None:
        bridge = self._run.bridge
        for event in tuple(bridge.events.recent):
            self._note(event)
        bridge.events.listen(self._note)
        bridge.after_step.add(self._sampler.after_step)
        bridge.while_idle.add(self._sampler.while_idle)
        bridge.timeline.add_past(self)

    def close(self) -> None:
        """Stop reading the run."""
        bridge = self._run.bridge
        bridge.after_step.remove(self._sampler.after_step)
        bridge.while_idle.remove(self._sampler.while_idle)
        bridge.timeline.remove_past(self)

    # --- for the simulation thread ----------------------------------------------------------

    def mark(self, moment: str) -> None:
        """Note the trails at a snapshot."""
        self._marks.note(moment, self._trails.copy())

    def go_back(self, moment: str, time_us: int) -> None:
        """Show the time line of a restored snapshot; browsers get a new hello."""
        known = self._marks.get(moment)
        self._trails = Trails() if known is None else known.copy()
        self._sampler.forget()
        if not self._recorded_us:  # those of a recording follow the time that is shown
            self.events.clear()
            for event in tuple(self._run.bridge.events.recent):
                self._note(event)
        self.restarts += 1

    def end(self) -> None:
        """Show the last moment and that it is the last; returns when all browsers have it."""
        self._ending = True
        end_s = time.monotonic() + END_LIMIT_S
        while self._watchers and time.monotonic() < end_s:
            time.sleep(0.01)

    def read_autopilots(self) -> None:
        """Read all of them now, for programs; waits for the moment between two steps."""
        if self._watchers or time.monotonic() < self._read_due_s:
            return
        self._read_due_s = math.inf  # one at a time: a step may hang
        try:
            self._run.bridge.at_step_boundary(self._sampler.read_all)
        finally:
            self._read_due_s = time.monotonic() + READ_AGAIN_S

    # --- for the server thread --------------------------------------------------------------

    def hello(self) -> dict[str, Any]:
        return {**self._description, "trails": self._trails.flat()}

    def set_watchers(self, count: int, selected: Collection[int]) -> None:
        self._watchers = count
        self._sampler.selected = frozenset(selected)
        self._sampler.watched = count > 0

    def refresh(self, now_s: float) -> None:
        ending = self._ending
        if self._recorded_us:
            self._refresh_recorded_events()
        if self._watchers:
            self._refresh_frame()
            if now_s >= self._rows_due_s or ending:
                self._rows_due_s = now_s + ROWS_PERIOD_S
                self._refresh_rows()
        if now_s >= self._figures_due_s:
            self._figures_due_s = now_s + FIGURES_PERIOD_S
            self._health.check(now_s)
            self._trails.add(self._run.bridge.view)
            self.figures = self._figures.take(now_s)
            self.figures_number += 1
        if ending and self.ended is None:
            view, failed = self._run.bridge.view, self._run.bridge.state is BridgeState.FAILED
            self.ended = {"t": "ended", "time_s": view.time_us / 1e6, "failed": failed}

    def details(self, vehicle_id: int) -> dict[str, Any] | None:
        view = self._run.bridge.view
        if vehicle_id not in view.truth:
            return None
        message = details_message(
            vehicle_id, view, self._sampler.snapshots.get(vehicle_id), self._reader
        )
        sample = self._run.sample_of(vehicle_id)
        return message if sample is None else message | recorded_estimates(sample)

    def state(self) -> dict[str, Any]:
        self._refresh_rows()
        run, view, status = self._run, self._run.bridge.view, status_of(self._run.bridge)
        plans, rows = self.plans.values(), self._table()
        for name, vehicle in status["vehicles"].items():
            vehicle_id = int(name)
            details, truth = self.details(vehicle_id) or {}, view.truth.get(vehicle_id)
            vehicle |= {
                **{name: details.get(name) for name in _STATE_DETAILS},
                "plan": plans.get(vehicle_id),
                **rows.get(vehicle_id, {}),
                "speed_mps": truth and round(math.hypot(*truth.velocity_ned_mps[:2]), 3),
            }
        return {
            "version": __version__,
            "fleet": run.fleet.name,
            "seed": run.fleet.seed,
            **status,
            "slow": plain_pace(run.pace()),
            "figures": self.figures,
        }

    def metrics(self) -> str:
        self._refresh_rows()
        snapshots = {i: one.telemetry for i, one in self._sampler.snapshots.copy().items()}
        return metrics_text(
            self._run.bridge,
            watchers=self._watchers,
            rtf=float(self.figures.get("rtf", 0.0)),
            rows=self._table(),
            troubles=self._run.troubles(),
            estimates={
                i: self._reader.point(now.lat_e7, now.lon_e7)
                for i, now in snapshots.items()
                if now.position_valid
            },
            pace=self._run.pace(),
        )

    def _table(self) -> dict[int, dict[str, Any]]:
        return {i: dict(zip(FIELDS, row, strict=True)) for i, row in self.rows.values().items()}

    def problems(self, now_s: float) -> list[str]:
        return self._health.problems(now_s)

    # --- parts ------------------------------------------------------------------------------

    def _refresh_frame(self) -> None:
        bridge = self._run.bridge
        view = bridge.view
        state = bridge.state
        # Compared by identity: views are immutable, and equality would compare everything.
        if self._shown_view is not view or self._shown_state is not state:
            self._shown_view, self._shown_state = view, state
            self.frame, self.frame_number = encode_frame(view, state), self.frame_number + 1

    def _refresh_rows(self) -> None:
        run, snapshots = self._run, dict(self._sampler.snapshots)
        views = list(self._sampler.views) or [run.bridge.view]
        vehicles, troubles = list(run.bridge.vehicles), run.troubles()
        self.rows.update(make_rows(vehicles, views, snapshots, run.failures(), troubles))
        self.plans.update({i: self._reader.plan(i, one) for i, one in snapshots.items()})

    def _refresh_recorded_events(self) -> None:
        """Show those of a recording up to the time that is shown, wherever it has jumped to."""
        due = bisect_right(self._recorded_us, self._run.bridge.view.time_us)
        if due < self._noted:
            self.events.clear()
            self._noted = 0
        for event in self._run.recorded_events[max(self._noted, due - KEPT) : due]:
            self._note(event)
        self._noted = due

    def _note(self, event: BridgeEvent) -> None:
        """Keep an event; called by the thread that caused it."""
        if self._recorded_us and event.kind == "restore":
            return  # of the replay, not of the run
        if event.kind in FLEET_CHANGES:
            self._describe()
            self.restarts += 1
        # The name stands beside every event in the view.
        name = self._names.get(event.vehicle_id, "")
        self.events.add(event, event.text.removeprefix(f"{name}: "))
