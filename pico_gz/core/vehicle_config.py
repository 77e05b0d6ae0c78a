"""A vehicle's identity: id, name, pose, wires and servo channels."""

from __future__ import annotations

import math
import re
from enum import StrEnum

import msgspec

from pico_gz.errors import MessageError

MIN_VEHICLE_ID = 1
MAX_VEHICLE_ID = 255
GCS_SYSTEM_ID = 255
# A rover further away than this from the origin, or this far above or below it, has left the
# world: no map is that large, and no hill that high.
WORLD_RADIUS_M = 100_000.0
WORLD_HEIGHT_M = 10_000.0

# Names end up in paths, topics and SDF (faults.md section 6).
NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


class VehicleId(int):
    """A vehicle id, 1..255; it is also the MAVLink system id."""

    __slots__ = ()

    def __new__(cls, value: int) -> VehicleId:
        """Check the range; bools and floats are refused."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise MessageError(f"A vehicle id is a whole number, not {value!r}.")
        if not MIN_VEHICLE_ID <= value <= MAX_VEHICLE_ID:
            raise MessageError(f"Vehicle id {value} is outside {MIN_VEHICLE_ID}..{MAX_VEHICLE_ID}.")
        return super().__new__(cls, value)


def check_name(name: str) -> str:
    """Return ``name`` if it may be part of a path, a topic and an SDF attribute."""
    if not NAME_PATTERN.fullmatch(name) or ".." in name:
        raise MessageError(
            f"{name!r} is no usable name.",
            hint="Letters a-z and A-Z, digits, '_', '-', '.'; at most 64;"
            " first a letter, digit or '_'.",
        )
    return name


class NoiseProfile(StrEnum):
    """How bad the sensors are; multiplies every sigma and bias."""

    OFF = "off"
    LOW = "low"
    TYPICAL = "typical"
    BAD = "bad"

    @property
    def scale(self) -> float:
        """The multiplier of this profile."""
        return {"off": 0.0, "low": 0.3, "typical": 1.0, "bad": 3.0}[self.value]


class DriveKind(StrEnum):
    """How a rover is driven, and so what its actuator commands mean."""

    SKID = "skid"
    ACKERMANN = "ackermann"


class Pose(msgspec.Struct, frozen=True, kw_only=True):
    """Where a vehicle starts: metres north and east of the fleet's origin.

    Attributes:
        north_m: metres north of the origin.
        east_m: metres east of the origin.
        yaw_deg: clockwise from north, degrees.
    """

    north_m: float = 0.0
    east_m: float = 0.0
    yaw_deg: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is not finite."""
        if not math.isfinite(self.north_m + self.east_m + self.yaw_deg):
            raise MessageError(f"A pose has finite numbers only: {self!r}")


class ChannelMap(msgspec.Struct, frozen=True, kw_only=True):
    """Which servo output (1-based, SERVO1 = 1) does what.

    Skid steer uses ``left`` and ``right``, Ackermann ``steering`` and ``throttle``.
    """

    left: int = 1
    right: int = 3
    steering: int = 1
    throttle: int = 3

    def __post_init__(self) -> None:
        """Refuse channels that a servo packet does not have."""
        for channel in (self.left, self.right, self.steering, self.throttle):
            if not 1 <= channel <= 32:
                raise MessageError(f"Servo channel {channel} is outside 1..32.")
        if self.left == self.right or self.steering == self.throttle:
            raise MessageError("Two functions of one rover share a servo channel.")


class AircraftChannels(msgspec.Struct, frozen=True, kw_only=True):
    """Which servo output (1-based) moves which control of an aircraft; ArduPlane's by default.

    Right roll, nose up and nose right are above 1500 us; the throttle is closed at 1000 us.
    """

    aileron: int = 1
    elevator: int = 2
    throttle: int = 3
    rudder: int = 4

    def __post_init__(self) -> None:
        """Refuse channels that a servo packet does not have."""
        channels = (self.aileron, self.elevator, self.throttle, self.rudder)
        if not all(1 <= channel <= 32 for channel in channels):
            raise MessageError(f"A servo channel of {channels} is outside 1..32.")
        if len(set(channels)) != len(channels):
            raise MessageError("Two controls of one aircraft share a servo channel.")


ARDUROVER = "ardurover"
_RELEASE = re.compile(r"\d+(\.\d+){0,2}")


def is_ardurover(autopilot: str) -> bool:
    """Whether it is ``ardurover`` or ``ardurover:RELEASE``, which the kit starts itself."""
    name, colon, release = autopilot.partition(":")
    return name == ARDUROVER and (not colon or _RELEASE.fullmatch(release) is not None)


ARDUPILOT_CHANNELS = ChannelMap()
PICO_TRAIL_CHANNELS = ChannelMap(left=1, right=2, steering=1, throttle=2)


class VehicleConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that makes one vehicle differ from another.

    Attributes:
        id: 1..255, also the MAVLink system id.
        name: part of paths, topics and SDF names.
        adapter: the registered name of the adapter that simulates it.
        autopilot: ``builtin``, ``external``, ``ardurover[:RELEASE]``, ``script:NAME`` or ``none``.
        mavlink_port: UDP port of the ground station that it sends to; 0 means by rule.
        fdm_port: UDP port of its simulator wire; 0 means by rule.
        pose: where it starts.
        preset: name of its rover description.
        channels: which servo output does what.
        noise: how bad its sensors are.
        aircraft_channels: makes it an aircraft, which ``channels`` says nothing about.
    """

    id: int
    name: str = ""
    adapter: str = ""
    autopilot: str = "builtin"
    mavlink_port: int = 0
    fdm_port: int = 0
    pose: Pose = Pose()
    preset: str = "pico_trail_freenove"
    channels: ChannelMap = ARDUPILOT_CHANNELS
    noise: NoiseProfile = NoiseProfile.TYPICAL
    aircraft_channels: AircraftChannels | None = None

    def __post_init__(self) -> None:
        """Check id, name and ports."""
        VehicleId(self.id)
        if self.name:
            check_name(self.name)
        for port in (self.mavlink_port, self.fdm_port):
            if not 0 <= port <= 65535:
                raise MessageError(f"Vehicle {self.id}: port {port} is outside 0..65535.")

    @property
    def label(self) -> str:
        """The name, or ``rover_N`` when none was given."""
        return self.name or f"rover_{self.id}"

    @property
    def is_external(self) -> bool:
        """Whether another program drives it, started by the kit or not."""
        return self.autopilot == "external" or is_ardurover(self.autopilot)
