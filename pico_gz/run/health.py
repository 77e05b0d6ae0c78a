"""Which vehicles are in trouble, since when and why.

One ``FleetHealth`` per run looks at the fleet four times a simulated second, on the simulation
thread. The browser view, ``/api/state``, ``/metrics`` and ``ctl status`` read what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import dist
from typing import Any, Protocol

import msgspec

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.run.control_socket import Command
from pico_gz.run.overload import Pace, plain_pace

# Every kind of trouble, the gravest first.
KINDS = (
    "raised", "stalled", "silent", "failsafe", "failure", "stuck", "contact", "no_fix",
    "low_battery",
)  # fmt: skip

_LOOK_EVERY_US = 250_000
# A rover is stuck when its motors are driven this hard for this long and it does not move.
_DRIVEN = 0.2
_STILL_M = 0.1
_TURNS_RADPS = 0.3
_STUCK_US = 3_000_000
_SILENT_US = 1_000_000
# A rover that bounces off a wall touches it again and again.
_CONTACT_LASTS_US = 1_000_000
_LOW_BATTERY = 0.15
_RAISED = ("error", "failed")  # kinds of events


class Trouble(msgspec.Struct, frozen=True):
    """One thing that is wrong with one vehicle.

    Attributes:
        kind: one of ``KINDS``.
        since_us: simulation time at which it began [us].
        why: a few words.
    """

    kind: str
    since_us: int
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the time in seconds."""
        return {"kind": self.kind, "since_s": round(self.since_us / 1e6, 2), "why": self.why}


Troubles = Mapping[int, tuple[Trouble, ...]]
# vehicle id -> unit -> kind of failure, those that are on.
Failures = Mapping[int, Mapping[str, str]]
# (kind, what of this kind, why): two failing units are two troubles.
_Finding = tuple[str, str, str]


class Alarmed(Protocol):
    """An autopilot that knows what is wrong with its vehicle."""

    def alarms(self) -> Sequence[tuple[str, str]]:
        """(kind, reason), with ``failsafe``, ``no_fix`` and ``low_battery`` as kinds."""


class FleetHealth:
    """Finds the troubles of every vehicle.

    Args:
        bridge: the run.
        pilots: autopilots that report alarms themselves; the others are judged by their sensors.
        failures: returns the failures that are switched on; replaced, never changed.
        touching: returns the contacts that last, (vehicle id, id or name of the other).

    Attributes:
        troubles: vehicle id -> its troubles, gravest first; only vehicles that have some.
            Replaced, never changed, so that any thread may read it.
    """

    def __init__(
        self,
        bridge: SitlBridge,
        pilots: Mapping[int, Alarmed],
        failures: Callable[[], Failures],
        touching: Callable[[], Collection[tuple[int, int | str]]] = tuple,
    ) -> None:
        self.troubles: Troubles = {}
        self._bridge = bridge
        self._pilots = pilots
        self._failures = failures
        self._touching = touching
        self._seen_failures: Failures = {}
        self._next_us = self._last_us = 0
        self._raised: dict[int, tuple[int, str]] = {}  # when first, what last
        self._driven: dict[int, tuple[int, tuple[float, float]]] = {}  # since when, and where
        self._touched: dict[int, dict[int | str, int]] = {}  # what, and when last
        self._fixes: dict[int, bool] = {}
        self._charges: dict[int, float] = {}
        self._since_us: dict[tuple[int, str, str], int] = {}  # by vehicle, kind and what

    def watch(self) -> None:
        """Look after steps, and while time is held; snapshots bring back what was found."""
        self._bridge.timeline.add_state("health", self)
        self._bridge.events.listen(self.note)
        self._bridge.after_step.add(self.after_step)
        self._bridge.while_idle.add(self.while_idle)

    def note(self, event: BridgeEvent) -> None:
        """Keep that an autopilot raised; called by the thread that caused the event."""
        if event.vehicle_id and event.kind in _RAISED:
            first_us, _ = self._raised.get(event.vehicle_id, (event.time_us, ""))
            self._raised = {**self._raised, event.vehicle_id: (first_us, event.text)}

    def after_step(self, view: FleetView) -> None:
        """Look, when it is time to."""
        if len(self._pilots) < len(view.sensors):
            self._read_sensors(view.sensors)
        jumped_back = view.time_us < self._last_us
        if jumped_back:
            self._forget_after(view.time_us)
        self._last_us = view.time_us
        if view.time_us >= self._next_us or jumped_back or self._switched():
            self.look(view)

    def while_idle(self, _: int) -> None:
        """Failures are switched and snapshots restored while time is held, too."""
        if self._switched() or not self._next_us:
            self.look(self._bridge.view)

    def look(self, view: FleetView) -> None:
        """Find all troubles now."""
        now_us = view.time_us
        self._next_us = now_us + _LOOK_EVERY_US
        self._seen_failures = failures = self._failures()
        for vehicle_id, other in self._touching():
            self._touched.setdefault(vehicle_id, {})[other] = now_us
        since_us: dict[tuple[int, str, str], int] = {}
        found: dict[int, tuple[Trouble, ...]] = {}
        for vehicle in self._bridge.vehicles:
            here = []
            for kind, what, why in self._of(vehicle, view, failures.get(vehicle.id, {})):
                key = (vehicle.id, kind, what)
                before_us = self._since_us.get(key)
                since_us[key] = self._began_us(key, now_us) if before_us is None else before_us
                here.append(Trouble(kind, since_us[key], why))
            if here:
                here.sort(key=_gravity)
                found[vehicle.id] = tuple(here)
        self._since_us = since_us
        self.troubles = found

    def save_state(self) -> dict[str, Any]:
        """When everything began, as plain values."""
        return {
            "since": [[*key, us] for key, us in self._since_us.items()],
            "raised": [[i, *raised] for i, raised in self._raised.items()],
            "driven": [[i, us, *place] for i, (us, place) in self._driven.items()],
            "touched": [
                [i, o, us] for i, all_of in self._touched.items() for o, us in all_of.items()
            ],
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave."""
        self._since_us = {(i, kind, what): us for i, kind, what, us in state["since"]}
        self._raised = {i: (us, text) for i, us, text in state["raised"]}
        self._driven = {i: (us, (north, east)) for i, us, north, east in state["driven"]}
        self._touched = {}
        for vehicle_id, other, us in state["touched"]:
            self._touched.setdefault(vehicle_id, {})[other] = us
        self._next_us = self._last_us = 0

    # --- parts ------------------------------------------------------------------------------

    def _switched(self) -> bool:
        return self._failures() is not self._seen_failures

    def _forget_after(self, now_us: int) -> None:
        """Time went back: what began later has not happened."""
        self._since_us = {key: us for key, us in self._since_us.items() if us <= now_us}
        self._raised = {i: raised for i, raised in self._raised.items() if raised[0] <= now_us}
        self._driven.clear()
        self._touched.clear()

    def _began_us(self, key: tuple[int, str, str], now_us: int) -> int:
        """When a trouble that was just found began."""
        vehicle_id, kind, _ = key
        if kind == "raised":
            return self._raised[vehicle_id][0]
        return self._driven[vehicle_id][0] if kind == "stuck" else now_us

    def _read_sensors(self, sensors: Mapping[int, SensorData]) -> None:
        """Keep what slow sensors of vehicles without alarms of their own measured last."""
        for vehicle_id, record in sensors.items():
            if vehicle_id in self._pilots:
                continue
            if record.gps is not None:
                self._fixes[vehicle_id] = record.gps.fix_type > 0
            if record.battery is not None:
                self._charges[vehicle_id] = record.battery.remaining

    def _of(
        self, vehicle: VehicleInstance, view: FleetView, failing: Mapping[str, str]
    ) -> Iterator[_Finding]:
        vehicle_id, now_us = vehicle.id, view.time_us
        if vehicle_id in self._raised:
            yield "raised", "", self._raised[vehicle_id][1]
        if vehicle.stalled:
            yield "stalled", "", "Its autopilot does not answer"
        record = view.sensors.get(vehicle_id)
        # Before the first steps none has a state.
        if now_us - (0 if record is None else record.timestamp_us) > _SILENT_US:
            new = "" if record is None else "new "
            yield "silent", "", f"No {new}states from its simulator"
        for unit, kind in failing.items():
            yield "failure", unit, f"{unit.replace('_', ' ')} fails: {kind}"
        if self._is_stuck(view.commands.get(vehicle_id), view.truth.get(vehicle_id), now_us):
            yield "stuck", "", "Its motors are driven, but it does not move"
        if vehicle_id in self._touched:
            yield from self._contacts(vehicle_id, now_us)
        yield from self._alarms(vehicle_id)

    def _alarms(self, vehicle_id: int) -> Iterator[_Finding]:
        pilot = self._pilots.get(vehicle_id)
        if pilot is not None:
            for kind, why in pilot.alarms():
                yield kind, why if kind == "failsafe" else "", why
            return
        if not self._fixes.get(vehicle_id, True):
            yield "no_fix", "", "The GPS receiver has no fix"
        charge = self._charges.get(vehicle_id, 1.0)
        if charge <= _LOW_BATTERY:
            yield "low_battery", "", f"{100.0 * _LOW_BATTERY:.0f} % or less are left"

    def _contacts(self, vehicle_id: int, now_us: int) -> Iterator[_Finding]:
        touched = self._touched[vehicle_id]
        for other, last_us in list(touched.items()):
            if now_us - last_us > _CONTACT_LASTS_US:
                del touched[other]
                continue
            name = self._label(other) if isinstance(other, int) else other
            yield "contact", name, f"touches {name}"
        if not touched:
            del self._touched[vehicle_id]

    def _label(self, vehicle_id: int) -> str:
        present = vehicle_id in self._bridge.list_vehicles()
        return self._bridge.get_vehicle(vehicle_id).config.label if present else str(vehicle_id)

    def _is_stuck(
        self, command: ActuatorCommands | None, truth: VehicleTruth | None, now_us: int
    ) -> bool:
        """Whether it is driven and stays where it is; one that rocks at a wall is stuck, too."""
        if command is None or truth is None:
            return False
        vehicle_id, here = truth.vehicle_id, (truth.north_m, truth.east_m)
        if max(map(abs, command.motors), default=0.0) < _DRIVEN:
            self._driven.pop(vehicle_id, None)
            return False
        since_us, place = self._driven.setdefault(vehicle_id, (now_us, here))
        if dist(place, here) > _STILL_M or abs(truth.rates_frd_radps[2]) > _TURNS_RADPS:
            self._driven[vehicle_id] = (now_us, here)
            return False
        return now_us - since_us >= _STUCK_US


def _gravity(trouble: Trouble) -> tuple[int, int]:
    return KINDS.index(trouble.kind), trouble.since_us


def with_health(command: Command, health: FleetHealth, pace: Callable[[], Pace | None]) -> Command:
    """The same command, whose status reply has the troubles of each vehicle and the overload."""

    def answer(request: Mapping[str, Any]) -> Any:
        reply = command(request)
        if isinstance(reply, dict) and "vehicles" in reply:
            for vehicle_id, vehicle in reply["vehicles"].items():
                vehicle["troubles"] = plain(health.troubles.get(int(vehicle_id), ()))
            reply["slow"] = plain_pace(pace())
        return reply

    return answer


def plain(troubles: Sequence[Trouble]) -> list[dict[str, Any]]:
    """Troubles as plain values, for JSON."""
    return [trouble.as_dict() for trouble in troubles]


def trouble_lines(status: Mapping[str, Any]) -> list[str]:
    """The overload and the troubles in a status reply, one line each; none when all is well."""
    slow = status.get("slow")
    return ([slow["text"]] if slow else []) + [
        f"{vehicle['name']}: {trouble['kind'].replace('_', ' ')} since {trouble['since_s']:.1f} s: "
        f"{trouble['why']}"
        for vehicle in status["vehicles"].values()
        for trouble in vehicle.get("troubles", ())
    ]
