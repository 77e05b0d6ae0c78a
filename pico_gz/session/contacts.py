"""Contacts of the Lightweight simulator, told as events."""

from __future__ import annotations

from collections.abc import Sequence

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.view import FleetView


class ContactReporter:
    """After each step, tells which vehicles began to touch something."""

    def __init__(self, bridge: SitlBridge, adapters: Sequence[LightweightAdapter]) -> None:
        self._bridge = bridge
        self._adapters = list(adapters)

    def __call__(self, view: FleetView) -> None:
        """Report what is new."""
        for adapter in self._adapters:
            for contact in adapter.drain_contacts():
                name = self._bridge.get_vehicle(contact.vehicle_id).config.label
                other = contact.other
                what = f"vehicle {other}" if isinstance(other, int) else str(other)
                self._bridge.report(
                    BridgeEvent(
                        time_us=contact.time_us,
                        kind="contact",
                        text=f"{name} touches {what}.",
                        vehicle_id=contact.vehicle_id,
                        adapter=adapter.name,
                    )
                )
