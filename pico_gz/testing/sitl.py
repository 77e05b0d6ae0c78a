"""The fleet of the pytest fixtures."""

from __future__ import annotations

from pico_gz.errors import SimulationTimeoutError
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.fleet_api import Fleet
from pico_gz.run.history import History
from pico_gz.run.rover_handle import RoverHandle

__all__ = ["History", "RoverHandle", "SimulationTimeoutError", "Sitl"]


class Sitl(Fleet):
    """A ``Fleet`` as the fixture ``sitl`` makes it."""

    @property
    def fleet(self) -> FleetConfig:
        """What it is made of."""
        return self.config
