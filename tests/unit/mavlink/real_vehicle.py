"""The rover autopilot in its tiny world, where the tests of the endpoint have their fake."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "vehicle"))

from rover_world import World, waypoints

__all__ = ["RealVehicle", "waypoints"]


class _MuteWorld(World):
    """What the autopilot says is for the ground station."""

    def hear(self):
        pass


class RealVehicle:
    """Ready to arm; goes on whenever a test sets the time."""

    vehicle_id = 1

    def __init__(self):
        self.world = _MuteWorld().ready()
        self._begun_us = self.world.time_us
        self.calls = []

    def __getattr__(self, name):
        return getattr(self.world.autopilot, name)

    @property
    def time_us(self):
        return self.world.time_us - self._begun_us

    @time_us.setter
    def time_us(self, time_us):
        while self.time_us < time_us:
            self.world.step()
