"""The world that a fleet drives in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from pico_gz.local_frame import LocalFrame
from pico_gz.simulator.magnetic_field import MagneticField, magnetic_field
from pico_gz.simulator.obstacles import Obstacle
from pico_gz.simulator.terrain import FlatTerrain, Terrain
from pico_gz.simulator.wind import WindConfig

DEFAULT_ORIGIN = LocalFrame(35.681236, 139.767125, 40.0)
DEFAULT_DATE = date(2026, 1, 1)


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything around the vehicles.

    Attributes:
        origin: the fleet's geodetic origin.
        date: for the magnetic field; fixed, so that runs repeat.
        terrain: the ground.
        obstacles: what stands on it.
        wind: steady wind and gusts.
        contacts: whether obstacles and vehicles block each other; without it, vehicles do
            not see each other either, so that each one moves as if it were alone.
    """

    origin: LocalFrame = DEFAULT_ORIGIN
    date: date = DEFAULT_DATE
    terrain: Terrain = field(default_factory=FlatTerrain)
    obstacles: tuple[Obstacle, ...] = ()
    wind: WindConfig = field(default_factory=WindConfig)
    contacts: bool = True

    def magnetic(self) -> MagneticField:
        """The magnetic field at the origin."""
        origin = self.origin
        return magnetic_field(origin.lat_deg, origin.lon_deg, origin.alt_m, self.date)
