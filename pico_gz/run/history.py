"""What every vehicle of a run has done so far."""

from __future__ import annotations

from collections.abc import Callable

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.published import BridgeEvent, FleetView
from pico_gz.bridge.timeline import Marks
from pico_gz.core.messages import VehicleTruth


class History:
    """An observer that keeps every step's truth, every change of mode and every contact.

    After a restore it is that of the restored time line; a snapshot of another process has none.

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
        self._marks: Marks[Callable[[], None]] = Marks()
        bridge.after_step.add(self)
        bridge.events.listen(self._note_event)
        bridge.timeline.add_past(self)

    def __call__(self, view: FleetView) -> None:
        """Keep one step."""
        for vehicle_id, truth in view.truth.items():
            self.truth.setdefault(vehicle_id, []).append(truth)
        for vehicle in self._bridge.vehicles:
            mode = vehicle.status().mode
            changes = self.modes.setdefault(vehicle.id, [])
            if not changes or changes[-1][1] != mode:
                changes.append((view.time_us, mode))

    def mark(self, moment: str) -> None:
        """Note how much there is; lists only grow, or are replaced, so lengths are enough."""
        truth = {i: (kept, len(kept)) for i, kept in self.truth.items()}
        modes = {i: (kept, len(kept)) for i, kept in self.modes.items()}
        contacts, count = self.contacts, len(self.contacts)

        def put_back() -> None:
            self.truth = {i: kept[:length] for i, (kept, length) in truth.items()}
            self.modes = {i: kept[:length] for i, (kept, length) in modes.items()}
            self.contacts = contacts[:count]

        self._marks.note(moment, put_back)

    def go_back(self, moment: str, time_us: int) -> None:
        """Forget what is not on the time line of a snapshot."""
        if moment in self._marks:
            self._marks[moment]()
            return
        self.truth = {i: [] for i in self.truth}
        self.modes = {i: [] for i in self.modes}
        self.contacts = []

    def _note_event(self, event: BridgeEvent) -> None:
        if event.kind == "contact":
            self.contacts.append(event)
