"""pico_gz: run rover autopilots against simulated worlds.

The public names; each is imported when it is first used, so ``import pico_gz`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "VehicleId": "pico_gz.messages",
    "VehicleConfig": "pico_gz.messages",
    "Pose": "pico_gz.messages",
    "ChannelMap": "pico_gz.messages",
    "DriveKind": "pico_gz.messages",
    "NoiseProfile": "pico_gz.messages",
    "SensorData": "pico_gz.messages",
    "ImuData": "pico_gz.messages",
    "GpsData": "pico_gz.messages",
    "GpsFixType": "pico_gz.messages",
    "CompassData": "pico_gz.messages",
    "BarometerData": "pico_gz.messages",
    "RangefinderData": "pico_gz.messages",
    "EncoderData": "pico_gz.messages",
    "BatteryData": "pico_gz.messages",
    "ActuatorCommands": "pico_gz.messages",
    "VehicleTruth": "pico_gz.messages",
    "SimulatorCapabilities": "pico_gz.messages",
    "SensorCapabilities": "pico_gz.messages",
    "SimulatorAdapter": "pico_gz.adapters.base",
    "LightweightConfig": "pico_gz.adapters.lightweight",
    "LightweightAdapter": "pico_gz.adapters.lightweight",
    "GazeboConfig": "pico_gz.adapters.gazebo",
    "GazeboAdapter": "pico_gz.adapters.gazebo",
    "SitlBridge": "pico_gz.bridge.bridge",
    "BridgeState": "pico_gz.bridge.view",
    "FleetView": "pico_gz.bridge.view",
    "StallPolicy": "pico_gz.bridge.stall",
    "StallRules": "pico_gz.bridge.stall",
    "TimeMode": "pico_gz.bridge.clock",
    "Lockstep": "pico_gz.bridge.clock",
    "Scaled": "pico_gz.bridge.clock",
    "FreeRunning": "pico_gz.bridge.clock",
    "Autopilot": "pico_gz.vehicle.autopilot",
    "AutopilotStatus": "pico_gz.vehicle.autopilot",
    "SitlPlatform": "pico_gz.vehicle.platform",
    "PicoGzError": "pico_gz.errors",
}

__all__ = sorted(["__version__", *_EXPORTS])


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
