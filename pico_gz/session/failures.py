"""One switch for everything that can fail: sensors and motors, the radio, MAVLink."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.errors import ConfigError
from pico_gz.session.rc import RcFeeder

RC_UNIT = "rc"
LINK_UNIT = "mavlink"
_HEALTHY = "ok"
_RC_KINDS = (_HEALTHY, "off")


class FailureSwitch:
    """Switches a failure of one vehicle; what is not a sensor or motor is found here.

    Attributes:
        active: vehicle id -> unit -> kind, those that are on; replaced, never changed.
        link: switches a vehicle's ground link, (vehicle id, kind); ``None`` without MAVLink.
    """

    def __init__(self, bridge: SitlBridge, rc: RcFeeder | None) -> None:
        self._bridge = bridge
        self._rc = rc
        self.active: Mapping[int, Mapping[str, str]] = {}
        self.link: Callable[[int, str], None] | None = None

    def __call__(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break ``unit`` in the way ``kind``; ``ok`` mends it.

        Raises:
            ConfigError: there is no such unit or way of failing.
        """
        if unit == RC_UNIT:
            self._fail_rc(vehicle_id, kind)
        elif unit == LINK_UNIT:
            self._fail_link(vehicle_id, kind)
        else:
            self._bridge.set_failure(vehicle_id, unit, kind)
        self._note(vehicle_id, unit, kind)

    def _note(self, vehicle_id: int, unit: str, kind: str) -> None:
        units = {u: k for u, k in self.active.get(vehicle_id, {}).items() if u != unit}
        if kind != _HEALTHY:
            units[unit] = kind
        self.active = {**self.active, vehicle_id: units}

    def _fail_link(self, vehicle_id: int, kind: str) -> None:
        if self.link is None:
            raise ConfigError("No vehicle has a ground link in this run.")
        switch = self.link
        self._bridge.between_steps(lambda: switch(vehicle_id, kind))

    def _fail_rc(self, vehicle_id: int, kind: str) -> None:
        self._bridge.get_vehicle(vehicle_id)
        if self._rc is None:
            raise ConfigError("No vehicle has radio control in this run.", hint="--rc udp")
        if kind not in _RC_KINDS:
            raise ConfigError(f"Radio control cannot be {kind!r}.", hint="Use off or ok.")
        self._rc.set_lost(vehicle_id, kind == "off")
