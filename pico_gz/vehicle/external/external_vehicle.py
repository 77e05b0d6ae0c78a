"""One vehicle of an external autopilot: ports, channels, release of ArduPilot."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from pico_gz.core.vehicle_config import (
    ARDUPILOT_CHANNELS,
    AircraftChannels,
    ChannelMap,
    DriveKind,
    VehicleId,
)
from pico_gz.errors import ConfigError

# (north, east, down) [m] -> (latitude [deg], longitude [deg], altitude [m]).
Geodetic = Callable[[float, float, float], tuple[float, float, float]]


class ArduPilotProfile(StrEnum):
    """Which releases of ArduPilot the records are written for."""

    UP_TO_4_6 = "4.6"
    FROM_4_7 = "4.7"


class ImuSource(StrEnum):
    """Where the IMU of a record comes from."""

    # The autopilot makes its own noise, and wants IMU, velocity and position to agree.
    TRUTH = "truth"
    # The kit's sensor models, with their noise and failures.
    SENSOR = "sensor"


class FdmWire(StrEnum):
    """The language of a vehicle's wire."""

    JSON = "json"
    WEBOTS = "webots"  # ArduPilot's webots-python: binary, and only what the EKF needs


class ExternalVehicle(msgspec.Struct, frozen=True, kw_only=True):
    """One vehicle on the server.

    Attributes:
        vehicle_id: 1..255.
        fdm_port: UDP port that the server binds for it; 0 takes a free one.
        drive: what its commands mean.
        channels: which servo output does what.
        imu: where the IMU of its records comes from.
        extra_keys: also send ``gps``, ``mag``, ``baro``, ``encoders`` and ``sim``, for firmware
            that does not make up its own; ArduPilot does not look at them.
        aircraft_channels: of an aircraft, whose records also have the airspeed.
        profile: the releases of ArduPilot to write for; ``None``: as the server says.
        wire: the language of its wire.
        no_time_sync: let the autopilot not pace itself by the wall clock.
    """

    vehicle_id: int
    fdm_port: int
    drive: DriveKind = DriveKind.SKID
    channels: ChannelMap = ARDUPILOT_CHANNELS
    imu: ImuSource = ImuSource.TRUTH
    extra_keys: bool = False
    aircraft_channels: AircraftChannels | None = None
    profile: ArduPilotProfile | None = None
    wire: FdmWire = FdmWire.JSON
    no_time_sync: bool = False

    def __post_init__(self) -> None:
        """Check id and port."""
        VehicleId(self.vehicle_id)
        if not 0 <= self.fdm_port <= 65535:
            raise ConfigError(f"Vehicle {self.vehicle_id}: port {self.fdm_port} does not exist.")
