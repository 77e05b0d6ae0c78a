"""pico_gz: run rover autopilots against simulated worlds.

The public names; each is imported when it is first used, so ``import pico_gz`` stays quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from pico_gz.core import compiled_modules
from pico_gz.core.moved import MovedModules

__version__ = "0.2.0"

_EXPORTS = {
    "VehicleId": "pico_gz.core.vehicle_config",
    "VehicleConfig": "pico_gz.core.vehicle_config",
    "Pose": "pico_gz.core.vehicle_config",
    "ChannelMap": "pico_gz.core.vehicle_config",
    "DriveKind": "pico_gz.core.vehicle_config",
    "NoiseProfile": "pico_gz.core.vehicle_config",
    "SensorData": "pico_gz.core.messages",
    "ImuData": "pico_gz.core.messages",
    "GpsData": "pico_gz.core.messages",
    "GpsFixType": "pico_gz.core.messages",
    "CompassData": "pico_gz.core.messages",
    "BarometerData": "pico_gz.core.messages",
    "RangefinderData": "pico_gz.core.messages",
    "EncoderData": "pico_gz.core.messages",
    "BatteryData": "pico_gz.core.messages",
    "ActuatorCommands": "pico_gz.core.messages",
    "VehicleTruth": "pico_gz.core.messages",
    "SimulatorCapabilities": "pico_gz.core.messages",
    "SensorCapabilities": "pico_gz.core.messages",
    "SimulatorAdapter": "pico_gz.adapters.contract",
    "LightweightConfig": "pico_gz.adapters.lightweight_config",
    "LightweightAdapter": "pico_gz.adapters.lightweight",
    "GazeboConfig": "pico_gz.gazebo.adapter",
    "GazeboAdapter": "pico_gz.gazebo.adapter",
    "SitlBridge": "pico_gz.bridge.bridge",
    "BridgeState": "pico_gz.bridge.published",
    "FleetView": "pico_gz.bridge.published",
    "StallPolicy": "pico_gz.bridge.stall",
    "StallRules": "pico_gz.bridge.stall",
    "TimeMode": "pico_gz.bridge.clock",
    "Lockstep": "pico_gz.bridge.clock",
    "Scaled": "pico_gz.bridge.clock",
    "FreeRunning": "pico_gz.bridge.clock",
    "Autopilot": "pico_gz.core.autopilot",
    "AutopilotStatus": "pico_gz.core.autopilot",
    "Fleet": "pico_gz.run.fleet_api",
    "GroundLink": "pico_gz.vehicle.ground_link",
    "Snapshot": "pico_gz.core.snapshot",
    "SitlPlatform": "pico_gz.vehicle.platform.platform",
    "PicoGzError": "pico_gz.errors",
}

__all__ = sorted(["__version__", *_EXPORTS])


compiled_modules.install()
sys.meta_path.append(MovedModules())


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
