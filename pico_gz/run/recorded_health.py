"""The troubles of a recording's vehicles, by its events and records."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.bridge.published import BridgeEvent, BridgeState, FleetView
from pico_gz.run.event_sources import SAYS
from pico_gz.run.health import FleetHealth

_FAILS = re.compile(r": (\w+) fails: (\w+)\.$")
_WORKS = re.compile(r": (\w+) works again\.$")
_FAILSAFE = re.compile(r"((?:\w+ )+failsafe)(: .*)?$")
_CLEARED = " cleared"
_LOST = ("GPS lost", "GPS contradicts")
_BACK = ("GPS is back", "GPS is believed")
_CONTACT_SHOWN_US = 2_000_000  # recordings have no end of a contact


class RecordedHealth(FleetHealth):
    """Finds troubles at the time that is shown, wherever a replay jumps to.

    Args:
        bridge: the replay.
        events: all of the recording, in order of time.
    """

    def __init__(self, bridge: SitlBridge, events: Sequence[BridgeEvent]) -> None:
        super().__init__(bridge, {}, lambda: self._none)
        self._none: Mapping[int, Mapping[str, str]] = {}
        self._events = events
        self._times_us = [event.time_us for event in events]
        self._read = 0
        self._looked_us = -1
        # vehicle id -> (kind, what) -> when it began, why
        self._lasting: dict[int, dict[tuple[str, str], tuple[int, str]]] = {}

    def while_idle(self, _: int) -> None:
        """A recording that is held still jumps."""
        held = self._bridge.state is BridgeState.PAUSED
        if held and self._bridge.view.time_us != self._looked_us:
            self.look(self._bridge.view)

    def look(self, view: FleetView) -> None:
        """Find all troubles at the time that is shown."""
        self._looked_us = view.time_us
        due = bisect_right(self._times_us, view.time_us)
        if due < self._read:
            self._lasting, self._raised, self._read = {}, {}, 0
        for event in self._events[self._read : due]:
            self.note(event)
            self._take(event)
        self._read = due
        super().look(view)

    def _of(
        self, vehicle: VehicleInstance, view: FleetView, failing: Mapping[str, str]
    ) -> Iterator[tuple[str, str, str]]:
        for finding in super()._of(vehicle, view, failing):
            if finding[0] != "silent":  # after a jump the records are still those of before
                yield finding
        for (kind, what), (since_us, why) in self._lasting.get(vehicle.id, {}).items():
            if kind != "contact" or view.time_us - since_us <= _CONTACT_SHOWN_US:
                yield kind, what, why

    def _began_us(self, key: tuple[int, str, str], now_us: int) -> int:
        vehicle_id, kind, what = key
        known = self._lasting.get(vehicle_id, {}).get((kind, what))
        return super()._began_us(key, now_us) if known is None else known[0]

    # --- events -----------------------------------------------------------------------------

    def _take(self, event: BridgeEvent) -> None:
        lasting = self._lasting.setdefault(event.vehicle_id, {})
        if event.kind == "failure":
            if found := _FAILS.search(event.text):
                unit, kind = found.groups()
                why = f"{unit.replace('_', ' ')} fails: {kind}"
                lasting["failure", unit] = event.time_us, why
            elif found := _WORKS.search(event.text):
                lasting.pop(("failure", found.group(1)), None)
        elif event.kind == "contact":
            name = event.text.partition(" touches ")[2].rstrip(".")
            lasting["contact", name] = event.time_us, f"touches {name}"
        elif event.kind == SAYS:
            self._take_text(lasting, event)

    def _take_text(
        self, lasting: dict[tuple[str, str], tuple[int, str]], event: BridgeEvent
    ) -> None:
        text = event.text.partition(": ")[2]
        cleared = text.removesuffix(_CLEARED)
        if text.startswith(_LOST):
            lasting["no_fix", ""] = event.time_us, text
        elif text.startswith(_BACK):
            lasting.pop(("no_fix", ""), None)
        elif cleared != text:
            lasting.pop(("failsafe", cleared), None)
        elif found := _FAILSAFE.match(text):
            kind = "low_battery" if text.startswith("Battery") else "failsafe"
            lasting[kind, found.group(1)] = event.time_us, text
