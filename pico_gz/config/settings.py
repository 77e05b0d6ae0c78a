"""The fleet file, table by table: every key, its default, its unit and what is allowed.

These classes are the one place that knows the keys. The loader checks a file against them, the
JSON Schema for editors is made from them, and a fleet without a file is made of their defaults;
none of that needs pydantic before a file is read. ``None`` means "by rule" or "not given".
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Interval

from pico_gz.bridge.stall import StallPolicy
from pico_gz.config.boards import BoardSection
from pico_gz.config.types import (
    CHECKING,
    Degrees,
    Distance,
    Id,
    Milliseconds,
    NotNegative,
    Port,
    PortOrOff,
    Seed,
)
from pico_gz.config.world_settings import ObstacleSection, TerrainSection, WindSection
from pico_gz.messages.vehicle import NoiseProfile
from pico_gz.ports import (
    DASHBOARD_PORT,
    FDM_BASE,
    FDM_STRIDE,
    MAVLINK_BASE,
    GcsMode,
)
from pico_gz.rover import DEFAULT_PRESET


class LayoutKind(StrEnum):
    """How rovers are put down."""

    LINE = "line"
    GRID = "grid"
    CIRCLE = "circle"
    EXPLICIT = "explicit"


class ClockKind(StrEnum):
    """How simulation time goes on."""

    LOCKSTEP = "lockstep"
    SCALED = "scaled"
    FREE_RUNNING = "free_running"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSection:
    """The fleet as a whole."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    name: str | None = None
    """Name of the fleet, part of file names; default: the file's name."""
    count: Id | None = None
    """Number of rovers, ids 1..count; default: 3, or as many as there are [[vehicle]] tables."""
    adapter: str = "auto"
    """Simulator: auto, lightweight, gazebo, a name from [adapters] or of an installed plugin."""
    autopilot: str = "builtin"
    """Who drives: builtin, external, none, or script:NAME."""
    ardupilot: Literal["4.6", "4.7"] = "4.6"
    """Release of external ArduPilots: up to 4.6, or 4.7 and later, which also take latitude."""
    seed: Seed = 42
    """Start of all random numbers; same seed, same file, same version: same run."""
    allow_gcs_sysid: bool = False
    """Allow vehicle id 255, which ground stations usually have themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginSection:
    """Where on Earth the fleet is: one place for world, GPS, home and magnetic field."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    lat_deg: Annotated[float, Interval(ge=-90, le=90)] = 35.681236
    """Latitude, WGS-84 [degrees]."""
    lon_deg: Annotated[float, Interval(ge=-180, le=180)] = 139.767125
    """Longitude, WGS-84 [degrees]."""
    alt_m: Annotated[float, Interval(ge=-500, le=9000)] = 40.0
    """Altitude [m]."""
    date: datetime.date = datetime.date(2026, 1, 1)
    """For the magnetic field; fixed, so that runs repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSection:
    """The fleet's clock, and what to do about a vehicle that does not answer."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    mode: ClockKind = ClockKind.LOCKSTEP
    """lockstep: nobody moves until all have moved; scaled: that, paced; free_running."""
    step_us: Annotated[int, Interval(ge=100, le=1_000_000)] = 10_000
    """Length of a step [us]."""
    speed: Annotated[float, Interval(gt=0, le=1000)] | Literal["max"] = 1.0
    """Simulated seconds per second, or "max"."""
    stall_warn_ms: Milliseconds = 500
    """When to name the vehicle that is waited for [ms]."""
    stall_timeout_ms: Milliseconds = 2000
    """When to apply stall_policy [ms]."""
    stall_policy: StallPolicy = StallPolicy.NEUTRAL
    """wait, hold (last command), neutral, drop (the vehicle), abort, free_run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutSection:
    """Where the rovers start."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    kind: LayoutKind = LayoutKind.LINE
    """line: eastward; grid: rows eastward; circle: facing outward; explicit: from [[vehicle]]."""
    spacing_m: Annotated[float, Interval(gt=0, le=1000)] = 3.0
    """Distance between neighbours [m]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortsSection:
    """Where the numbering of ports starts."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    fdm_base: Port = FDM_BASE
    """Simulator wire of vehicle 1 (UDP); the next port belongs to it as well."""
    fdm_stride: Annotated[int, Interval(ge=2, le=1000)] = FDM_STRIDE
    """Distance between the wires of two vehicles."""
    mavlink_base: Port = MAVLINK_BASE
    """Ground station's UDP port for vehicle 1."""
    mavlink_tcp: PortOrOff | None = None
    """The fleet's MAVLink TCP server, 0 = off; default 5760, or 5761 if a vehicle is external."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetSection:
    """Where the kit listens and whom it talks to. Loopback unless changed here."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    bind: str = "127.0.0.1"
    """Address to listen on (environment: PICO_GZ_BIND)."""
    gcs_host: str = "127.0.0.1"
    """Where the ground station is (environment: PICO_GZ_GCS_HOST)."""
    dashboard: str = f"127.0.0.1:{DASHBOARD_PORT}"
    """HOST:PORT of the browser view (environment: PICO_GZ_DASHBOARD)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MavlinkSection:
    """MAVLink to ground stations."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    gcs: GcsMode = GcsMode.PER_VEHICLE
    """per_vehicle: n sends to mavlink_base + (n-1); shared: all send to mavlink_base."""
    links: tuple[str, ...] = ()
    """More links for the fleet: udpout:HOST:PORT, udpin:HOST:PORT, tcpin:HOST:PORT."""
    signing_key_file: str | None = None
    """Sign everything and obey only what is signed with this key: 32 bytes or 64 hex digits."""
    failure_injection: bool = False
    """Obey MAV_CMD_INJECT_FAILURE; without it the command is refused as unsupported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoverSection:
    """The rover, for the Lightweight simulator and for the generated Gazebo model.

    Any field of a rover may stand here too and wins over the preset.
    """

    __pydantic_config__: ClassVar[Any] = CHECKING

    preset: str = DEFAULT_PRESET
    """The description to start from."""
    noise: NoiseProfile = NoiseProfile.TYPICAL
    """How bad the sensors are: off 0, low 0.3, typical 1, bad 3 times the data sheets."""
    gps_noise_m: NotNegative | None = None
    """White noise of the GPS position [m]; default: that of the fitted part."""
    gps_rate_hz: Annotated[float, Interval(gt=0, le=100)] | None = None
    """Position fixes per second; default: that of the fitted part."""
    accel_noise_mss: NotNegative | None = None
    """White noise of the accelerometer [m/s^2]; default: that of the fitted part."""
    gyro_noise_rads: NotNegative | None = None
    """White noise of the gyroscope [rad/s]; default: that of the fitted part."""
    compass_noise_rad: NotNegative | None = None
    """White noise of the compass heading [rad]; default: that of the fitted part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GazeboSection:
    """Gazebo, when it is the simulator."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    physics_step_us: Annotated[int, Interval(ge=100, le=100_000)] = 2_000
    """Gazebo's own step [us]; step_us of [time] must be a whole multiple of it."""
    real_time_factor: NotNegative = 0.0
    """0: as fast as it goes, the kit paces."""
    gui: bool = False
    """Show Gazebo's window."""
    attach: bool = False
    """Never start Gazebo: use the one that runs already, or wait for it."""
    world: str | None = None
    """World file to start instead of a generated one, relative to the fleet file."""
    sensor_topics: bool = False
    """GPS, compass, barometer and lidar of Gazebo instead of the kit's models."""
    server_addr: str = "127.0.0.1"
    """Where Gazebo runs; on another host it is not started."""
    ardupilot_compat: bool = True
    """true: the unmodified ArduPilot plugin's wire; false: the kit's own JSON, both ways."""
    timeout_ms: Milliseconds = 1_000
    """How long one step may take [ms]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VehicleSection:
    """What one vehicle has of its own."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    id: Id | None = None
    """1..254 (255 with allow_gcs_sysid); also the MAVLink system id. Default: its place."""
    name: str | None = None
    """Part of paths, topics and SDF; default rover_N."""
    adapter: str | None = None
    """Its simulator; default: the fleet's."""
    autopilot: str | None = None
    """Who drives it; default: the fleet's."""
    mavlink_port: Port | None = None
    """The ground station's UDP port that it sends to."""
    fdm_port: Port | None = None
    """First port of its simulator wire."""
    north_m: Distance | None = None
    """Where it starts, north of the origin [m]; default: the layout's."""
    east_m: Distance | None = None
    """Where it starts, east of the origin [m]; default: the layout's."""
    yaw_deg: Degrees | None = None
    """Where it looks, clockwise from north [degrees]; default: the layout's."""
    preset: str | None = None
    """Its rover; default: that of [rover], with the fields changed there."""
    noise: NoiseProfile | None = None
    """How bad its sensors are; default: that of [rover]."""
    mission: str | None = None
    """Mission file (.plan or .waypoints), relative to the fleet file."""
    params: str | None = None
    """Parameter file (.parm), relative to the fleet file."""
    board: BoardSection = field(default_factory=BoardSection)
    """Its board, as in [board]; what is not given is the fleet's."""
    links: tuple[str, ...] = ()
    """More MAVLink links of this vehicle alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFile:
    """A whole fleet file; every table and every key is optional."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    fleet: FleetSection = field(default_factory=FleetSection)
    origin: OriginSection = field(default_factory=OriginSection)
    time: TimeSection = field(default_factory=TimeSection)
    layout: LayoutSection = field(default_factory=LayoutSection)
    ports: PortsSection = field(default_factory=PortsSection)
    net: NetSection = field(default_factory=NetSection)
    mavlink: MavlinkSection = field(default_factory=MavlinkSection)
    rover: RoverSection = field(default_factory=RoverSection)
    board: BoardSection = field(default_factory=BoardSection)
    gazebo: GazeboSection = field(default_factory=GazeboSection)
    adapters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Further simulators by name, each with its type and that type's own options."""
    terrain: TerrainSection = field(default_factory=TerrainSection)
    wind: WindSection = field(default_factory=WindSection)
    obstacle: tuple[ObstacleSection, ...] = ()
    vehicle: tuple[VehicleSection, ...] = ()
