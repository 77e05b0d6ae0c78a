"""What travels between simulator, bridge and vehicle: immutable, checked on construction."""

from pico_gz.messages.actuators import ActuatorCommands
from pico_gz.messages.capabilities import SensorCapabilities, SimulatorCapabilities
from pico_gz.messages.sensors import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    GpsData,
    GpsFixType,
    ImuData,
    RangefinderData,
    SensorData,
)
from pico_gz.messages.truth import VehicleTruth
from pico_gz.messages.vehicle import (
    ARDUPILOT_CHANNELS,
    PICO_TRAIL_CHANNELS,
    ChannelMap,
    DriveKind,
    NoiseProfile,
    Pose,
    VehicleConfig,
    VehicleId,
    check_name,
)

__all__ = [
    "ARDUPILOT_CHANNELS",
    "PICO_TRAIL_CHANNELS",
    "ActuatorCommands",
    "BarometerData",
    "BatteryData",
    "ChannelMap",
    "CompassData",
    "DriveKind",
    "EncoderData",
    "GpsData",
    "GpsFixType",
    "ImuData",
    "NoiseProfile",
    "Pose",
    "RangefinderData",
    "SensorCapabilities",
    "SensorData",
    "SimulatorCapabilities",
    "VehicleConfig",
    "VehicleId",
    "VehicleTruth",
    "check_name",
]
