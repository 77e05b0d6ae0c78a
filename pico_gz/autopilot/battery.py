"""The battery as the board measures it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.vehicle.platform import SitlPlatform

_ADC_FULL_V = 3.3
_ADC_MAX = 4095.0
_LIMITS = {level: (f"BATT_{level}_VOLT", f"BATT_{level}_MAH") for level in ("LOW", "CRT")}
_MAH_PER_AS = 1000.0 / 3600.0


class BatteryMonitor(Stateful):
    """Voltage through the ADC, current, and the charge that has been drawn."""

    __slots__ = ("_params", "consumed_mah", "current_a", "last_us", "voltage_v")
    _state_fields = ("consumed_mah", "current_a", "last_us", "voltage_v")

    def __init__(self, params: Mapping[str, float]) -> None:
        self._params = params
        self.voltage_v = 0.0
        self.current_a = 0.0
        self.consumed_mah = 0.0
        self.last_us = -1

    @property
    def enabled(self) -> bool:
        """Whether BATT_MONITOR asks for it."""
        return self._params["BATT_MONITOR"] > 0

    def update(self, platform: SitlPlatform, now_us: int) -> None:
        """Read voltage and current; a few times a second is enough."""
        scale = _ADC_FULL_V * self._params["BATT_VOLT_MULT"] / _ADC_MAX
        self.voltage_v = platform.read_battery_adc() * scale
        self.current_a = platform.read_battery_current_a()
        if self.last_us >= 0:
            self.consumed_mah += self.current_a * (now_us - self.last_us) * 1e-6 * _MAH_PER_AS
        self.last_us = now_us

    def remaining_percent(self) -> int:
        """What is left of BATT_CAPACITY, 0..100; -1 when nobody can tell."""
        capacity = self._params["BATT_CAPACITY"]
        if not self.enabled or capacity <= 0.0:
            return -1
        return int(min(100.0, max(0.0, 100.0 * (1.0 - self.consumed_mah / capacity))))

    def below(self, level: str) -> bool:
        """Whether voltage or charge is under the ``LOW`` or ``CRT`` limit."""
        params = self._params
        if params["BATT_MONITOR"] <= 0 or self.voltage_v <= 0.0:
            return False
        volt_name, charge_name = _LIMITS[level]
        if self.voltage_v < params[volt_name]:
            return True
        reserve = params[charge_name]
        return reserve > 0.0 and params["BATT_CAPACITY"] - self.consumed_mah < reserve
