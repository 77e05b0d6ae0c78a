"""Drives a fleet open loop on one simulator and notes where it goes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep
from pico_gz.bridge.view import FleetView
from pico_gz.comparison.open_loop import PHASES, OpenLoopDriver, total_s
from pico_gz.comparison.tracks import Place, Track, unwrapped
from pico_gz.config import FleetConfig
from pico_gz.frames import yaw_from_quat
from pico_gz.session.adapters import choose_adapters, make_adapters
from pico_gz.session.options import RunOptions
from pico_gz.units import seconds_from_us, us_from_seconds

SAMPLE_US = 100_000


class TrackRecorder:
    """An observer that notes every vehicle's place ten times a second, from time 0 on."""

    def __init__(self, fleet: FleetConfig) -> None:
        self._places: dict[int, list[Place]] = {plan.id: [] for plan in fleet.vehicles}
        self._next_us = 0

    def __call__(self, view: FleetView) -> None:
        """Note the places of a step, if it is time."""
        if view.time_us < self._next_us:
            return
        self._next_us = view.time_us - view.time_us % SAMPLE_US + SAMPLE_US
        for vehicle_id, truth in view.truth.items():
            places = self._places[vehicle_id]
            yaw_rad = yaw_from_quat(truth.quat_wxyz)
            if places:
                yaw_rad = unwrapped(yaw_rad, places[-1].yaw_rad)
            place = Place(seconds_from_us(view.time_us), truth.north_m, truth.east_m, yaw_rad)
            places.append(place)

    def tracks(self) -> dict[int, Track]:
        """What was noted, by vehicle id."""
        return {vehicle_id: tuple(places) for vehicle_id, places in self._places.items()}


def duration_s(fleet: FleetConfig) -> float:
    """How long the longest schedule of the fleet takes [s]."""
    return max(total_s(PHASES[plan.rover.drive]) for plan in fleet.vehicles)


def drive_open_loop(fleet: FleetConfig, adapter: str) -> Mapping[int, Track]:
    """Drive the whole schedule on one simulator.

    Args:
        fleet: the fleet; who drives it otherwise does not matter.
        adapter: name of the simulator for all its vehicles.

    Raises:
        MissingProgramError: that simulator is not here.
    """
    names = {plan.id: adapter for plan in fleet.vehicles}
    fleet, _ = choose_adapters(fleet.with_adapters(names))
    recorder = TrackRecorder(fleet)
    bridge = SitlBridge(Lockstep(fleet.time.step_us))
    with contextlib.closing(bridge):
        for simulator in make_adapters(fleet, RunOptions()):
            bridge.register_adapter(simulator)
        for plan in fleet.vehicles:
            drive = plan.rover.drive
            bridge.spawn_vehicle(plan.config, OpenLoopDriver(PHASES[drive]), drive=drive)
        bridge.after_step.add(recorder)
        bridge.run(us_from_seconds(duration_s(fleet)))
    return recorder.tracks()
