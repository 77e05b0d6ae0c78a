"""What a simulator can do, as it says itself."""

from __future__ import annotations

import msgspec


class SensorCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Which sensors the simulator delivers."""

    imu: bool = False
    gps: bool = False
    compass: bool = False
    barometer: bool = False
    rangefinder: bool = False
    optical_flow: bool = False
    camera: bool = False


class SimulatorCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter's simulator offers now.

    Attributes:
        sensors: what it delivers.
        max_rate_hz: the highest step rate that makes sense.
        multi_vehicle: whether it takes more than one vehicle.
        terrain: whether the ground may be uneven.
        wind: whether it has wind.
    """

    sensors: SensorCapabilities = SensorCapabilities()
    max_rate_hz: float = 0.0
    multi_vehicle: bool = False
    terrain: bool = False
    wind: bool = False
