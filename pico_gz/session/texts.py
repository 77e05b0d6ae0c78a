"""What autopilots say, told as events: one source for recordings, views and the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from pico_gz.autopilot.api import StatusText
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.view import FleetView

SAYS = "says"
WARNING = 4
INFORMATION = 6
# A warning that is only repeated, as by somebody who tries to arm again and again, is no news.
REPEAT_US = 5_000_000
_LOOK_EVERY_US = 100_000


class Speaker(Protocol):
    """An autopilot that can be listened to."""

    def listen(self, listener: Callable[[StatusText], None]) -> None:
        """Hear what it says, and what it has said and nobody has taken."""


class TextReporter:
    """Reports what autopilots say, on the thread that runs them."""

    def __init__(self, bridge: SitlBridge, speakers: Mapping[int, Speaker]) -> None:
        self._bridge = bridge
        # vehicle id -> warning -> when it was told, since the last thing that was no warning.
        self._warned_us: dict[int, dict[str, int]] = {}
        # Known now: who is taken out of the run may still say something.
        self._names = {i: bridge.get_vehicle(i).config.label for i in speakers}
        for vehicle_id, speaker in speakers.items():
            speaker.listen(self._listener(vehicle_id))

    def _listener(self, vehicle_id: int) -> Callable[[StatusText], None]:
        return lambda said: self.tell(vehicle_id, said)

    def tell(self, vehicle_id: int, said: StatusText) -> None:
        """Report one text, unless it is a warning repeated."""
        now_us = self._bridge.sim_time_us()
        if said.severity > WARNING:
            self._warned_us.pop(vehicle_id, None)
        else:
            warned_us = self._warned_us.setdefault(vehicle_id, {})
            if now_us - warned_us.get(said.text, now_us - REPEAT_US) < REPEAT_US:
                return
            warned_us[said.text] = now_us
        _report(self._bridge, vehicle_id, self._names[vehicle_id], said)


class ScriptListener:
    """Reports what scripts say; they keep only their newest message, so they are asked for it."""

    def __init__(self, bridge: SitlBridge, vehicle_ids: Iterable[int]) -> None:
        self._bridge = bridge
        self._said = dict.fromkeys(vehicle_ids, "")
        self._next_look_us = 0

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
    bridge.report(
        BridgeEvent(
            time_us=bridge.sim_time_us(),
            kind=SAYS,
            text=f"{name}: {said.text}",
            vehicle_id=vehicle_id,
            severity=said.severity,
        )
    )
