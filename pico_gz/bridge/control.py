"""What the two phases of a step may ask of the bridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.stall import StallRules


class RunControl(Protocol):
    """The bridge, seen from inside a step."""

    rules: StallRules

    def report(self, event: BridgeEvent) -> None:
        """Tell what happened."""

    def now_s(self) -> float:
        """Monotonic wall clock [s]."""

    def stop_requested(self) -> bool:
        """Whether the run is being stopped; every wait asks."""

    def drop_vehicles(self, vehicle_ids: Sequence[int]) -> None:
        """Despawn them at the end of this step (policy ``drop``)."""

    def go_free_running(self) -> None:
        """Go on in FreeRunning after this step (policy ``free_run``)."""
