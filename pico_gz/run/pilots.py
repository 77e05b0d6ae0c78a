"""The autopilots of a run that a ground station can command."""

from __future__ import annotations

from typing import Any

from pico_gz.core.ground_control import GcsVehicle
from pico_gz.run.event_sources import HasSimParameters, TextReporter
from pico_gz.run.health import Alarmed


class Pilots:
    """They come and go while the run goes on; observers keep these dictionaries and look again.

    Attributes:
        commanded: all of them.
        alarmed: those that know what is wrong with their vehicle.
        sim_parameters: the parameters of those that keep some of the simulator.
        texts: reports what they say; set once the recording is open, which keeps that.
    """

    def __init__(self) -> None:
        self.commanded: dict[int, GcsVehicle] = {}
        self.alarmed: dict[int, Alarmed] = {}
        self.sim_parameters: dict[int, HasSimParameters] = {}
        self.texts: TextReporter | None = None

    def add(self, vehicle_id: int, pilot: GcsVehicle) -> None:
        """Take one in."""
        offers: Any = pilot
        self.commanded[vehicle_id] = pilot
        if hasattr(offers, "alarms"):
            self.alarmed[vehicle_id] = offers
        if hasattr(offers.params, "drain_sim_changes"):
            self.sim_parameters[vehicle_id] = offers.params
        if self.texts is not None and hasattr(offers, "listen"):
            self.texts.add(vehicle_id, offers)

    def remove(self, vehicle_id: int) -> None:
        """Forget one; nothing for a vehicle that cannot be commanded."""
        for known in (self.commanded, self.alarmed, self.sim_parameters):
            known.pop(vehicle_id, None)

    def report_texts(self, texts: TextReporter) -> None:
        """Report what they say from now on."""
        self.texts = texts
        for vehicle_id, pilot in self.commanded.items():
            offers: Any = pilot
            if hasattr(offers, "listen"):
                texts.add(vehicle_id, offers)
