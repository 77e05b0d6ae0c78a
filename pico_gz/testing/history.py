"""What the vehicles of a test have done so far; the assertions read this."""

from __future__ import annotations

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.view import FleetView
from pico_gz.messages import VehicleTruth


class History:
    """An observer that keeps every step's truth, every change of mode and every contact.

    Attributes:
        truth: vehicle id -> where it was, step by step.
        modes: vehicle id -> (time [us], mode) whenever the mode changed.
        contacts: everything that was touched.
    """

    def __init__(self, bridge: SitlBridge) -> None:
        self.truth: dict[int, list[VehicleTruth]] = {i: [] for i in bridge.list_vehicles()}
        self.modes: dict[int, list[tuple[int, str]]] = {i: [] for i in bridge.list_vehicles()}
        self.contacts: list[BridgeEvent] = []
        self._bridge = bridge
        bridge.after_step.add(self)
        bridge.events.listen(self._note_event)

    def __call__(self, view: FleetView) -> None:
        """Keep one step."""
        for vehicle_id, truth in view.truth.items():
            self.truth.setdefault(vehicle_id, []).append(truth)
        for vehicle in self._bridge.vehicles():
            mode = vehicle.status().mode
            changes = self.modes.setdefault(vehicle.id, [])
            if not changes or changes[-1][1] != mode:
                changes.append((view.time_us, mode))

    def _note_event(self, event: BridgeEvent) -> None:
        if event.kind == "contact":
            self.contacts.append(event)
