"""Whether a run reached its goal, and for each rover why not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from math import hypot, inf

import msgspec

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.bridge.timeline import Marks
from pico_gz.core.autopilot import AutopilotStatus
from pico_gz.core.frames import LocalFrame
from pico_gz.core.ground_control import GcsVehicle
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.units import us_from_seconds
from pico_gz.core.vehicle_config import WORLD_HEIGHT_M, WORLD_RADIUS_M
from pico_gz.errors import ConfigError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.missions import mission_time_s, script_time_s
from pico_gz.run.vehicle_setup import BUILT_IN, SCRIPT_PREFIX, MissionStarter, has_mission

# The limit of --until-done without --timeout or --duration.
LIMIT_FACTOR = 3.0
LIMIT_MARGIN_S = 60.0
OWN_AUTOPILOT_S = 180.0  # nothing is known of what it is to do
_STANDS_MPS = 0.03
_GAVE_UP = "gave up"  # how a script reports that it cannot make its moves


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One reason why a run failed; ``vehicle_id`` 0 is the run as a whole."""

    vehicle_id: int
    name: str
    reason: str


class Verdict:
    """Watches a run and says at its end what went wrong.

    Attributes:
        impossible: vehicle id -> why it can never be done, as things stand at the start.
    """

    def __init__(self, bridge: SitlBridge, fleet: Callable[[], FleetConfig]) -> None:
        self._bridge = bridge
        self._fleet = fleet
        self._raised: dict[int, list[str]] = {}
        self._touched: dict[int, str] = {}
        self._expected_s: dict[int, float] = {}  # at cruise speed
        self._not_started: Callable[[], frozenset[int]] = frozenset
        self._not_begun: Callable[[], frozenset[int]] = frozenset
        self.impossible: dict[int, str] = {}
        self._marks: Marks[tuple[dict[int, list[str]], dict[int, str]]] = Marks()
        bridge.events.listen(self._note)
        bridge.timeline.add_past(self)

    def mark(self, moment: str) -> None:
        """Note that a snapshot was taken now."""
        raised = {vehicle_id: list(texts) for vehicle_id, texts in self._raised.items()}
        self._marks.note(moment, (raised, dict(self._touched)))

    def go_back(self, moment: str, time_us: int) -> None:
        """Forget what happened after a snapshot."""
        raised, touched = self._marks.get(moment, ({}, {}))
        self._raised = {vehicle_id: list(texts) for vehicle_id, texts in raised.items()}
        self._touched = dict(touched)

    def _note(self, event: BridgeEvent) -> None:
        if event.kind == "contact":
            self._touched[event.vehicle_id] = event.text
        elif event.kind == "failed" or (event.kind == "error" and not event.adapter):
            self._raised.setdefault(event.vehicle_id, []).append(event.text)

    # --- before the run -----------------------------------------------------------------------

    def require_end(self) -> None:
        """Refuse to wait for vehicles that never report that they are done.

        Raises:
            ConfigError: nothing drives any of them, or one cannot report its end.
        """
        kinds = {plan.config.label: plan.config.autopilot for plan in self._fleet().vehicles}
        if all(kind == "none" for kind in kinds.values()):
            raise ConfigError(
                "--until-done with autopilot 'none' has nothing to wait for.",
                hint="Use --duration S, or another --autopilot.",
            )
        for name, kind in kinds.items():
            if kind == "external":
                raise ConfigError(
                    f"--until-done cannot see when {name} is done: its autopilot is external.",
                    hint="Use --duration S, and check the mission over MAVLink.",
                )

    def expect(
        self, commanded: Mapping[int, GcsVehicle], starter: MissionStarter, frame: LocalFrame
    ) -> None:
        """Work out how long the vehicles take, and which of them can never be done."""
        for plan in self._fleet().vehicles:
            pilot, autopilot = commanded.get(plan.id), plan.config.autopilot
            if pilot is not None and has_mission(pilot):
                self._expected_s[plan.id] = mission_time_s(pilot, frame, plan.config.pose)
            elif autopilot == BUILT_IN:
                self.impossible[plan.id] = "it has no mission"
            elif autopilot.startswith(SCRIPT_PREFIX):
                self._expected_s[plan.id] = script_time_s(autopilot, plan.rover.drive)
            elif not plan.config.is_external and autopilot != "none":
                self._expected_s[plan.id] = OWN_AUTOPILOT_S
            if self._expected_s.get(plan.id) == inf:
                del self._expected_s[plan.id]
                self.impossible[plan.id] = "what it is to do has no end"
        ids = {id(pilot): vehicle_id for vehicle_id, pilot in commanded.items()}
        self._not_started = lambda: frozenset(ids[id(pilot)] for pilot in starter.waiting())

    def expect_started(
        self,
        vehicle_ids: Collection[int],
        expected_s: Mapping[int, float],
        waiting: Callable[[], frozenset[int]],
    ) -> None:
        """Take how long the ArduRovers with a mission need [s]; the others can never be done.

        ``waiting`` gives those whose mission has not started yet.
        """
        self._not_begun = waiting
        for vehicle_id in vehicle_ids:
            seconds = expected_s.get(vehicle_id)
            if seconds is None:
                self.impossible[vehicle_id] = "it has no mission"
            elif seconds == inf:
                self.impossible[vehicle_id] = "what it is to do has no end"
            else:
                self._expected_s[vehicle_id] = seconds

    def limit_s(self) -> float:
        """Three times the longest mission at cruise speed, and a minute [s]."""
        return LIMIT_FACTOR * max(self._expected_s.values(), default=0.0) + LIMIT_MARGIN_S

    # --- at the end -----------------------------------------------------------------------------

    def is_done(self, view: FleetView) -> bool:
        """Whether every vehicle that is still in the run is done."""
        return all(vehicle.status().done for vehicle in self._bridge.vehicles)

    def problems(self, *, until_done: bool, limit_s: float | None = None) -> list[Problem]:
        """What went wrong so far.

        Args:
            until_done: also every mission that is not completed.
            limit_s: the time that they had; a run that ends before it was stopped.
        """
        found = [*self._errors(), *self._lost()]
        if until_done:
            known = {problem.vehicle_id for problem in found}
            stopped = limit_s is None or self._bridge.view.time_us < us_from_seconds(limit_s)
            found += (p for p in self._unfinished(stopped=stopped) if p.vehicle_id not in known)
        return sorted(found, key=lambda problem: problem.vehicle_id)

    def _problem(self, vehicle_id: int, reason: str) -> Problem:
        name = self._fleet().vehicle(vehicle_id).config.label if vehicle_id else "the run"
        return Problem(vehicle_id=vehicle_id, name=name, reason=reason)

    def _errors(self) -> Iterator[Problem]:
        for vehicle_id, texts in self._raised.items():
            known = any(plan.id == vehicle_id for plan in self._fleet().vehicles)
            times = f" ({len(texts)} times)" if len(texts) > 1 else ""
            yield self._problem(vehicle_id if known else 0, texts[0] + times)

    def _lost(self) -> Iterator[Problem]:
        for vehicle_id, truth in self._bridge.view.truth.items():
            if not _is_in_world(truth) and vehicle_id in self._bridge.list_vehicles():
                where = f"north {truth.north_m:.3g} m, east {truth.east_m:.3g} m"
                yield self._problem(vehicle_id, f"it left the world: {where}")

    def _unfinished(self, *, stopped: bool) -> Iterator[Problem]:
        present = set(self._bridge.list_vehicles())
        for plan in self._fleet().vehicles:
            if plan.config.autopilot == "none":
                continue
            if plan.id not in present:
                yield self._problem(plan.id, "it was taken out of the run")
                continue
            status = self._bridge.get_vehicle(plan.id).status()
            if plan.id in self.impossible and not status.armed and not status.done:
                yield self._problem(plan.id, self.impossible[plan.id])
            elif status.done and status.last_message.startswith(_GAVE_UP):
                yield self._problem(plan.id, f"it {status.last_message}")
            elif not status.done:
                yield self._problem(plan.id, self._why_not_done(plan.id, status, stopped))

    def _why_not_done(self, vehicle_id: int, status: AutopilotStatus, stopped: bool) -> str:
        time_s = self._bridge.view.time_us / 1e6
        said = f": {status.last_message}" if status.last_message else ""
        to = f" on the way to waypoint {status.waypoint}" if status.waypoint >= 0 else ""
        if vehicle_id in self._not_started() | self._not_begun():
            return f"its mission did not start within {time_s:.0f} s{said}"
        if not status.armed:
            return f"it was disarmed{to}{said}"
        is_built_in = self._fleet().vehicle(vehicle_id).config.autopilot == BUILT_IN
        if is_built_in and status.mode and status.mode != "AUTO":
            return f"it is in {status.mode} instead of AUTO{to}{said}"
        truth = self._bridge.view.truth.get(vehicle_id)
        if truth is not None and hypot(*truth.velocity_ned_mps[:2]) < _STANDS_MPS:
            touched = f": {self._touched[vehicle_id]}" if vehicle_id in self._touched else ""
            place = f"north {truth.north_m:.1f} m, east {truth.east_m:.1f} m"
            return f"it is stuck at {place}{to}{touched or said}"
        if stopped:
            return f"the run was stopped after {time_s:.0f} s, with it{to or ' under way'}{said}"
        return f"it was not done within {time_s:.0f} s{to}{said}"


def _is_in_world(truth: VehicleTruth) -> bool:
    """Whether the place of a vehicle is a place; false for not-a-number too."""
    away_m = hypot(truth.north_m, truth.east_m)
    return away_m <= WORLD_RADIUS_M and abs(truth.down_m) <= WORLD_HEIGHT_M
