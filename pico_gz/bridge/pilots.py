"""Who drives the vehicles, as the bridge sees it: in this process, or across a wire.

A group drives some vehicles of the fleet. The bridge hands every group the new records, then
collects from all of them: nobody waits for another group's vehicles before getting its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pico_gz.messages import ActuatorCommands, SensorData, VehicleTruth


class PilotGroup(Protocol):
    """Drives several vehicles. Called on the simulation thread only."""

    # Whether it wants truth handed over; in-process autopilots must never see it.
    needs_truth: bool

    def vehicle_ids(self) -> tuple[int, ...]:
        """The vehicles it drives, in id order."""

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        """Give its vehicles this step's state. Never blocks."""

    def unanswered(self) -> tuple[int, ...]:
        """Connected vehicles that were handed a record and have not answered it yet."""

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """Commands that arrived since ``hand_over`` and were not collected yet.

        Returns as soon as every vehicle in ``waiting_for`` (default: all that are connected)
        has answered, and after ``timeout_s`` at the latest; may be called again for the rest.
        A vehicle that never connected counts as answered: it stands in neutral.
        """

    def service(self) -> None:
        """Keep peers alive while the run is paused. Never blocks."""

    def close(self) -> None:
        """Let go of sockets and threads; harmless when called twice."""
