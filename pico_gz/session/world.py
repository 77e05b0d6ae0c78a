"""The world of a fleet file, as the simulators understand it."""

from __future__ import annotations

from pico_gz.config import FleetConfig
from pico_gz.config.ground import make_terrain
from pico_gz.local_frame import LocalFrame
from pico_gz.simulator.wind import WindConfig
from pico_gz.simulator.world import World


def local_frame(fleet: FleetConfig) -> LocalFrame:
    """The fleet's geodetic origin."""
    return LocalFrame(fleet.origin.lat_deg, fleet.origin.lon_deg, fleet.origin.alt_m)


def make_world(fleet: FleetConfig, *, contacts: bool = True) -> World:
    """Everything around the vehicles."""
    wind = fleet.wind
    return World(
        origin=local_frame(fleet),
        date=fleet.origin.date,
        terrain=make_terrain(fleet.terrain),
        obstacles=fleet.obstacles,
        wind=WindConfig(
            north_mps=wind.north_mps,
            east_mps=wind.east_mps,
            gust_mps=wind.gust_mps,
            tau_s=wind.tau_s,
        ),
        contacts=contacts,
    )
