"""Contacts, autopilot messages and SIM_* changes, watched every step."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.core.ground_control import StatusText
from pico_gz.core.snapshot import Snapshot
from pico_gz.errors import PicoGzError
from pico_gz.run.commands import ReportsContacts, adapter_of, report_event


class ContactReporter:
    """After each step, reports which vehicles began to touch something."""

    def __init__(self, bridge: SitlBridge, adapters: Sequence[ReportsContacts]) -> None:
        self._bridge = bridge
        self._adapters = list(adapters)

    def __call__(self, view: FleetView) -> None:
        """Report what is new."""
        for adapter in self._adapters:
            for contact in adapter.drain_contacts():
                name = self._bridge.get_vehicle(contact.vehicle_id).config.label
                other = contact.other
                what = f"vehicle {other}" if isinstance(other, int) else str(other)
                if contact.force_n is not None:
                    what += f" with {contact.force_n:.3g} N"
                self._bridge.events.add(
                    BridgeEvent(
                        time_us=contact.time_us,
                        kind="contact",
                        text=f"{name} touches {what}.",
                        vehicle_id=contact.vehicle_id,
                        adapter=adapter.name,
                    )
                )


SAYS = "says"
WARNING: Final = 4
INFORMATION: Final = 6
# A warning that is only repeated, as when arming is tried again and again, is no news.
REPEAT_US: Final = 5_000_000
_LOOK_EVERY_US: Final = 100_000


class Speaker(Protocol):
    """An autopilot that can be listened to."""

    def listen(self, listener: Callable[[StatusText], None]) -> None:
        """Pass on what it says, and what it has said and was not taken."""


class TextReporter(Snapshot):
    """Reports what autopilots say, on the thread that runs them."""

    _state_fields = ("_warned_us",)

    def __init__(self, bridge: SitlBridge, speakers: Mapping[int, Speaker]) -> None:
        self._bridge = bridge
        # vehicle id -> warning -> when it was reported, since the last text that was no warning.
        self._warned_us: dict[int, dict[str, int]] = {}
        # Known now: who is taken out of the run may still say something.
        self._names: dict[int, str] = {}
        for vehicle_id, speaker in speakers.items():
            self.add(vehicle_id, speaker)

    def add(self, vehicle_id: int, speaker: Speaker) -> None:
        """Report what this one says too."""
        self._names[vehicle_id] = self._bridge.get_vehicle(vehicle_id).config.label
        speaker.listen(self._listener(vehicle_id))

    def _listener(self, vehicle_id: int) -> Callable[[StatusText], None]:
        return lambda said: self.report(vehicle_id, said)

    def report(self, vehicle_id: int, said: StatusText) -> None:
        """Report one text, unless it is a warning repeated."""
        now_us = self._bridge.view.time_us
        if said.severity > WARNING:
            self._warned_us.pop(vehicle_id, None)
        else:
            warned_us = self._warned_us.setdefault(vehicle_id, {})
            if now_us - warned_us.get(said.text, now_us - REPEAT_US) < REPEAT_US:
                return
            warned_us[said.text] = now_us
        _report(self._bridge, vehicle_id, self._names[vehicle_id], said)


class ScriptListener(Snapshot):
    """Reports what scripts say; they keep only their newest message, so they are asked for it."""

    _state_fields = ("_next_look_us", "_said")

    def __init__(self, bridge: SitlBridge, vehicle_ids: Iterable[int]) -> None:
        self._bridge = bridge
        self._said = dict.fromkeys(vehicle_ids, "")
        self._next_look_us = 0

    def add(self, vehicle_id: int) -> None:
        """Report what this one says too."""
        self._said[vehicle_id] = ""

    def __call__(self, view: FleetView) -> None:
        """Ask all of them, ten times a simulated second."""
        if view.time_us < self._next_look_us:
            return
        self._next_look_us = view.time_us + _LOOK_EVERY_US
        present = set(self._bridge.list_vehicles())
        for vehicle_id, before in self._said.items():
            if vehicle_id not in present:
                continue
            vehicle = self._bridge.get_vehicle(vehicle_id)
            text = vehicle.status().last_message
            if text and text != before:
                self._said[vehicle_id] = text
                said = StatusText(INFORMATION, text)
                _report(self._bridge, vehicle_id, vehicle.config.label, said)


def _report(bridge: SitlBridge, vehicle_id: int, name: str, said: StatusText) -> None:
    report_event(bridge, SAYS, f"{name}: {said.text}", vehicle_id, severity=said.severity)


log = logging.getLogger(__name__)
_RC_FAIL = "SIM_RC_FAIL"
_RC_KINDS = ("ok", "off", "wrong")  # by its number


class HasSimParameters(Protocol):
    """An autopilot that keeps parameters of the simulator."""

    def drain_sim_changes(self) -> dict[str, float]:
        """Take what was set since the last call."""


class SimParameterSync(Snapshot):
    """Hands changed ``SIM_*`` parameters to the adapter, ten times a simulated second."""

    _state_fields = ("_next_look_us",)

    def __init__(
        self,
        bridge: SitlBridge,
        vehicles: Mapping[int, HasSimParameters],
        fail: Callable[[int, str, str], None],
    ) -> None:
        self._bridge = bridge
        self._fail = fail
        self._vehicles = vehicles  # may grow and shrink between steps
        self._next_look_us = 0

    def __call__(self, now_us: int) -> None:
        """Look whether anything was set."""
        if now_us < self._next_look_us:
            return
        self._next_look_us = now_us + _LOOK_EVERY_US
        for vehicle_id, vehicle in self._vehicles.items():
            for name, value in vehicle.drain_sim_changes().items():
                self._set(vehicle_id, name, value)

    def _set(self, vehicle_id: int, name: str, value: float) -> None:
        try:
            if name == _RC_FAIL:
                self._fail(vehicle_id, "rc", _RC_KINDS[int(value)])
            else:
                adapter_of(self._bridge, vehicle_id).set_environment(vehicle_id, name, value)
                label = self._bridge.get_vehicle(vehicle_id).config.label
                report_event(
                    self._bridge, "environment", f"{label}: {name} is {value:g}.", vehicle_id
                )
        except PicoGzError as exc:
            log.warning("Vehicle %d: %s = %g has no effect: %s", vehicle_id, name, value, exc)
