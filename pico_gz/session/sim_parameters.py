"""``SIM_*`` parameters: set on the autopilot by a ground station, meant for the simulator."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.errors import PicoGzError
from pico_gz.session.control_commands import report_done
from pico_gz.state import Stateful

log = logging.getLogger(__name__)

_LOOK_EVERY_US = 100_000
_RC_FAIL = "SIM_RC_FAIL"
_RC_KINDS = ("ok", "off", "wrong")  # by its number


class HasSimParameters(Protocol):
    """An autopilot that keeps parameters of the simulator."""

    def drain_sim_changes(self) -> dict[str, float]:
        """Take what was set since the last call."""


class SimParameters(Stateful):
    """Hands changed ``SIM_*`` parameters to the adapter, ten times a simulated second."""

    _state_fields = ("_next_look_us",)

    def __init__(
        self,
        bridge: SitlBridge,
        vehicles: Mapping[int, HasSimParameters],
        fail: Callable[[int, str, str], None],
    ) -> None:
        self._bridge = bridge
        self._fail = fail
        self._vehicles = dict(vehicles)
        self._next_look_us = 0

    def __call__(self, now_us: int) -> None:
        """Look whether anything was set."""
        if now_us < self._next_look_us:
            return
        self._next_look_us = now_us + _LOOK_EVERY_US
        for vehicle_id, vehicle in self._vehicles.items():
            for name, value in vehicle.drain_sim_changes().items():
                self._set(vehicle_id, name, value)

    def _set(self, vehicle_id: int, name: str, value: float) -> None:
        try:
            if name == _RC_FAIL:
                self._fail(vehicle_id, "rc", _RC_KINDS[int(value)])
            else:
                self._bridge.set_environment(vehicle_id, name, value)
                label = self._bridge.get_vehicle(vehicle_id).config.label
                report_done(
                    self._bridge, "environment", f"{label}: {name} is {value:g}.", vehicle_id
                )
        except PicoGzError as exc:
            log.warning("Vehicle %d: %s = %g has no effect: %s", vehicle_id, name, value, exc)
