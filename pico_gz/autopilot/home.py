"""Where the rover returns to."""

from __future__ import annotations

from pico_gz.state import Stateful


class Home(Stateful):
    """Home as a place on the globe and in the local frame; ``valid`` once it is known."""

    __slots__ = _state_fields = ("alt_m", "east_m", "lat_e7", "lon_e7", "north_m", "valid")

    def __init__(self) -> None:
        self.valid = False
        self.lat_e7 = self.lon_e7 = 0
        self.alt_m = self.north_m = self.east_m = 0.0
