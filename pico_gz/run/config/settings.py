"""The fleet file's tables: every key, default, unit and range.

These classes are the one place that knows the keys. The loader checks a file against them, the
JSON Schema for editors is made from them, and a fleet without a file is made of their defaults;
none of that needs pydantic before a file is read. ``None`` means "by rule" or "not given".
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Interval

from pico_gz.bridge.stall import StallPolicy
from pico_gz.core.board_options import (
    AccelConvention,
    CompassUnit,
    PressureUnit,
    SerialFormat,
)
from pico_gz.core.ports import DASHBOARD_PORT, FDM_BASE, FDM_STRIDE, MAVLINK_BASE, MAX_PORT, GcsMode
from pico_gz.core.rover_spec import DEFAULT_PRESET
from pico_gz.core.vehicle_config import NoiseProfile

Port = Annotated[int, Interval(ge=1, le=MAX_PORT)]
PortOrOff = Annotated[int, Interval(ge=0, le=MAX_PORT)]
Id = Annotated[int, Interval(ge=1, le=255)]
Seed = Annotated[int, Interval(ge=0, le=2**63 - 1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Distance = Annotated[float, Interval(ge=-1_000_000, le=1_000_000)]
Milliseconds = Annotated[int, Interval(ge=1, le=3_600_000)]
Channel = Annotated[int, Interval(ge=1, le=32)]
Degrees = Annotated[float, Interval(ge=-360, le=360)]


class Table:
    """A table of the fleet file; pydantic reads how to check it, without being imported here."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Any] = {
        "extra": "forbid",
        "allow_inf_nan": False,
        "use_attribute_docstrings": True,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialSection(Table):
    """A GPS receiver that talks on a serial port of the board."""

    uart: Annotated[int, Interval(ge=0, le=7)] = 1
    """The serial port."""
    format: SerialFormat = SerialFormat.NMEA
    """nmea (GGA and RMC) or ubx (NAV-PVT)."""
    rate_hz: Annotated[float, Interval(gt=0, le=100)] = 5.0
    """Most reports per second; never more than the GPS has fixes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardSection(Table):
    """How sensors are mounted and read; the built-in autopilot and the scripts cope with it all."""

    accel_convention: AccelConvention | None = None
    """At rest, z shows -9.81 (specific_force_frd, the default) or +9.81 (gravity_positive)."""
    axis_remap: tuple[Literal["+x", "+y", "+z", "-x", "-y", "-z"], ...] | None = None
    """Body axes (FRD) that x, y, z of IMU and compass show; default ["+x", "+y", "+z"]."""
    compass_unit: CompassUnit | None = None
    """Unit of the compass: gauss (the default) or microtesla."""
    pressure_unit: PressureUnit | None = None
    """Unit of the barometer: pascal (the default) or hectopascal."""
    battery_divider: Annotated[float, Interval(gt=0, le=100)] | None = None
    """Battery volts per volt at the ADC pin; default 3.95."""
    serial: tuple[SerialSection, ...] | None = None
    """GPS receivers on serial ports; their day is the date of [origin]; default none."""


class TerrainKind(StrEnum):
    """What the ground is like."""

    FLAT = "flat"
    RAMP = "ramp"
    HEIGHTMAP = "heightmap"


class ObstacleKind(StrEnum):
    """What stands in the way."""

    DISC = "disc"
    WALL = "wall"
    BOX = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class TerrainSection(Table):
    """The ground, the same for Lightweight and for the Gazebo world."""

    kind: TerrainKind = TerrainKind.FLAT
    """flat, ramp (one slope) or heightmap (a grid of heights)."""
    slope_deg: Annotated[float, Interval(ge=-60, le=60)] | None = None
    """ramp: how steep it is [degrees]; default 10."""
    direction_deg: Degrees | None = None
    """ramp: where it rises to, clockwise from north [degrees]; default 0."""
    start_m: Distance | None = None
    """ramp: how far along direction_deg it begins [m]; default 0."""
    length_m: Annotated[float, Interval(ge=0, le=1_000_000)] | None = None
    """ramp: its length in the ground plan [m], level behind it; default 0 = endless both ways."""
    file: str | None = None
    """heightmap: .csv or .npy of heights [m], southernmost row first, columns eastward."""
    cell_m: Positive | None = None
    """heightmap: distance between two heights [m]; default 1."""
    north_m: Distance | None = None
    """heightmap: where its southern row lies [m]; default: its middle at the origin."""
    east_m: Distance | None = None
    """heightmap: where its western column lies [m]; default: its middle at the origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindSection(Table):
    """Steady wind and gusts."""

    north_mps: Annotated[float, Interval(ge=-100, le=100)] = 0.0
    """Where the air moves to, north [m/s]."""
    east_mps: Annotated[float, Interval(ge=-100, le=100)] = 0.0
    """Where the air moves to, east [m/s]."""
    gust_mps: Annotated[float, Interval(ge=0, le=100)] = 0.0
    """Standard deviation of the gusts [m/s]."""
    tau_s: Positive = 5.0
    """How long a gust lasts [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObstacleSection(Table):
    """Something that stands in the way; its place is the middle, or the start of a wall."""

    kind: ObstacleKind = ObstacleKind.DISC
    """disc, wall or box."""
    north_m: Distance = 0.0
    """North of the origin [m]."""
    east_m: Distance = 0.0
    """East of the origin [m]."""
    radius_m: Positive | None = None
    """disc: its radius [m]; default 0.5."""
    north2_m: Distance | None = None
    """wall: where it ends, north [m]; required."""
    east2_m: Distance | None = None
    """wall: where it ends, east [m]; required."""
    thickness_m: Positive | None = None
    """wall: how thick it is [m]; default 0.1."""
    size_n_m: Positive | None = None
    """box: its size along north before turning [m]; default 1."""
    size_e_m: Positive | None = None
    """box: its size along east before turning [m]; default 1."""
    yaw_deg: Degrees | None = None
    """box: how far it is turned, clockwise [degrees]; default 0."""
    height_m: Positive = 0.5
    """How high it stands in the Gazebo world [m]."""


class LayoutKind(StrEnum):
    """How rovers are put down."""

    LINE = "line"
    GRID = "grid"
    CIRCLE = "circle"
    EXPLICIT = "explicit"


class ClockKind(StrEnum):
    """How simulation time advances."""

    LOCKSTEP = "lockstep"
    SCALED = "scaled"
    FREE_RUNNING = "free_running"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSection(Table):
    """The fleet as a whole."""

    name: str | None = None
    """Name of the fleet, part of file names; default: the file's name."""
    count: Id | None = None
    """Number of rovers, ids 1..count; default: 3, or as many as there are [[vehicle]] tables."""
    adapter: str = "auto"
    """Simulator: auto, lightweight, gazebo, mujoco, jsbsim, a name of [adapters] or of a plugin."""
    autopilot: str = "builtin"
    """Who drives: builtin, ardurover, external, none, script:NAME, MODULE:CLASS or [autopilots]."""
    ardupilot: Literal["4.6", "4.7"] = "4.6"
    """Release of external ArduPilots: up to 4.6, or 4.7 and later, which also take latitude."""
    seed: Seed = 42
    """Start of all random numbers; same seed, same file, same version: same run."""
    allow_gcs_sysid: bool = False
    """Allow vehicle id 255, which ground stations usually have themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginSection(Table):
    """Where on Earth the fleet is: one place for world, GPS, home and magnetic field."""

    lat_deg: Annotated[float, Interval(ge=-90, le=90)] = 35.681236
    """Latitude, WGS-84 [degrees]; at most 89 to either pole."""
    lon_deg: Annotated[float, Interval(ge=-180, le=180)] = 139.767125
    """Longitude, WGS-84 [degrees]."""
    alt_m: Annotated[float, Interval(ge=-500, le=9000)] = 40.0
    """Altitude [m]."""
    date: datetime.date = datetime.date(2026, 1, 1)
    """For the magnetic field, 2020 to 2034; fixed, so that runs repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSection(Table):
    """The fleet's clock, and what to do about a vehicle that does not answer."""

    mode: ClockKind = ClockKind.LOCKSTEP
    """lockstep: no vehicle moves until all have moved; scaled: that, paced; free_running."""
    step_us: Annotated[int, Interval(ge=100, le=1_000_000)] = 10_000
    """Length of a step [us]; at most 200000 with a built-in autopilot."""
    speed: Annotated[float, Interval(gt=0, le=1000)] | Literal["max"] = 1.0
    """Simulated seconds per second, or "max"."""
    stall_warn_ms: Milliseconds = 500
    """When to name the vehicle that is waited for [ms]."""
    stall_timeout_ms: Milliseconds = 2000
    """When to apply stall_policy [ms]."""
    stall_policy: StallPolicy = StallPolicy.NEUTRAL
    """wait, hold (last command), neutral, drop (the vehicle), abort, free_run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutSection(Table):
    """Where the rovers start."""

    kind: LayoutKind = LayoutKind.LINE
    """line: eastward; grid: rows eastward; circle: facing outward; explicit: from [[vehicle]]."""
    spacing_m: Annotated[float, Interval(gt=0, le=1000)] = 3.0
    """Distance between neighbours [m]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortsSection(Table):
    """Where the numbering of ports starts."""

    fdm_base: Port = FDM_BASE
    """Simulator wire of vehicle 1 (UDP); the next port belongs to it as well."""
    fdm_stride: Annotated[int, Interval(ge=2, le=1000)] = FDM_STRIDE
    """Distance between the wires of two vehicles."""
    mavlink_base: Port = MAVLINK_BASE
    """Ground station's UDP port for vehicle 1."""
    mavlink_tcp: PortOrOff | None = None
    """The fleet's MAVLink TCP server, 0 = off; default 5760, or 5761 if a vehicle is external."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetSection(Table):
    """Where the kit listens and whom it talks to. Loopback unless changed here."""

    bind: str = "127.0.0.1"
    """Address to listen on (environment: PICO_GZ_BIND)."""
    gcs_host: str = "127.0.0.1"
    """Where the ground station is (environment: PICO_GZ_GCS_HOST)."""
    dashboard: str = f"127.0.0.1:{DASHBOARD_PORT}"
    """HOST:PORT of the browser view (environment: PICO_GZ_DASHBOARD)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MavlinkSection(Table):
    """MAVLink to ground stations."""

    gcs: GcsMode = GcsMode.PER_VEHICLE
    """per_vehicle: n sends to mavlink_base + (n-1); shared: all send to mavlink_base."""
    links: tuple[str, ...] = ()
    """More links for the fleet: udpout:HOST:PORT, udpin:HOST:PORT, tcpin:HOST:PORT."""
    signing_key_file: str | None = None
    """Sign everything and obey only what is signed with this key: 32 bytes or 64 hex digits."""
    failure_injection: bool = False
    """Obey MAV_CMD_INJECT_FAILURE; without it the command is refused as unsupported."""
    keep_params: bool = False
    """Keep parameters that a ground station sets, for the next run: runs/FLEET/VEHICLE.parm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArduRoverSection(Table):
    """ArduRovers that drive, with autopilot = "ardurover" or "external"."""

    restarts: Annotated[int, Interval(ge=0, le=1000)] = 3
    """How often one that the run has started and that ended by itself is started again."""
    wire: Literal["json", "webots"] = "json"
    """json, or webots: the binary webots-python, without rangefinders, battery, wind and radio."""
    no_time_sync: bool | None = None
    """Tell it not to pace itself by the wall clock; default: those that the run starts itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorFigures(Table):
    """Single figures of the sensors; what is not given is that of the fitted part."""

    gps_noise_m: NotNegative | None = None
    """White noise of the GPS position [m]."""
    gps_rate_hz: Annotated[float, Interval(gt=0, le=100)] | None = None
    """Position fixes per second."""
    accel_noise_mss: NotNegative | None = None
    """White noise of the accelerometer [m/s^2]."""
    gyro_noise_rads: NotNegative | None = None
    """White noise of the gyroscope [rad/s]."""
    compass_noise_rad: NotNegative | None = None
    """White noise of the compass heading [rad]."""

    def given(self) -> dict[str, float]:
        """The figures that were given, by the names of ``RoverSpec``."""
        values = {key.name: getattr(self, key.name) for key in fields(SensorFigures)}
        return {name: float(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoverSection(SensorFigures):
    """The rover, for the Lightweight simulator and for the generated Gazebo model.

    Any field of a rover may stand here too and wins over the preset.
    """

    preset: str = DEFAULT_PRESET
    """The description to start from."""
    noise: NoiseProfile = NoiseProfile.TYPICAL
    """How bad the sensors are: off 0, low 0.3, typical 1, bad 3 times the data sheets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetSection(SensorFigures):
    """A rover of one's own, for ``preset`` of [rover], [[vehicle]] and further presets.

    Any field of a rover may stand here too and wins over the preset that it starts from.
    """

    preset: str = DEFAULT_PRESET
    """The description to start from: a built-in one, or one that stands above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LightweightOptions(SensorFigures):
    """``LightweightConfig``, key by key; what is not given comes from the fleet."""

    wheel_base: Positive | None = None
    """Distance between the wheels of the two sides [m]."""
    max_speed: Positive | None = None
    """Top speed [m/s]."""
    max_turn_rate: NotNegative | None = None
    """Fastest turn [rad/s]."""
    gps_rate_hz: Positive | None = None
    """Position fixes per second."""
    seed: Seed | None = None
    """Start of its random numbers; default: the fleet's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GazeboSection(Table):
    """Gazebo, when it is the simulator."""

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
    sensors: bool = False
    """Fit NavSat, magnetometer and barometer to generated rovers; sensor_topics does it too."""
    max_contacts: Annotated[int, Interval(ge=1, le=100)] = 1
    """Contact points of two touching shapes in a generated world; Gazebo's own default is 20."""
    parallel_postupdates: bool = False
    """Gazebo runs the last part of a step in one thread per system; slower with many rovers."""
    overlap: bool = False
    """Gazebo begins each step with the commands before, while autopilots compute theirs."""
    server_addr: str = "127.0.0.1"
    """Where Gazebo runs; on another host it is not started."""
    ardupilot_compat: bool = True
    """true: the unmodified ArduPilot plugin's wire; false: the kit's own JSON, both ways."""
    timeout_ms: Milliseconds = 1_000
    """How long one step may take [ms]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GazeboOptions(Table):
    """``GazeboConfig``, key by key; what is not given comes from ``[gazebo]`` and ``[ports]``."""

    sensor_port: Port | None = None
    """First port of vehicle 1: the plugin's, or ours in the JSON dialect; default: fdm_base."""
    actuator_port: Port | None = None
    """Second port of vehicle 1: ours, or the simulator's; default: sensor_port + 1."""
    server_addr: str | None = None
    """Where the simulator runs."""
    ardupilot_compat: bool | None = None
    """true: the unmodified ArduPilot plugin's wire; false: the kit's JSON, nothing external."""
    timeout_ms: Milliseconds | None = None
    """How long one step may take [ms]."""
    fdm_stride: Annotated[int, Interval(ge=1, le=1000)] | None = None
    """Distance between the port pairs of two vehicles."""
    physics_step_us: Annotated[int, Interval(ge=100, le=100_000)] | None = None
    """The simulator's own step [us]."""
    lock_step: bool | None = None
    """Whether the simulator waits for us; default: the plugin does, a JSON simulator does not."""
    have_32_channels: bool | None = None
    """Servo packets of 32 channels, as in the plugin's set-up; default false."""
    shared_socket: bool | None = None
    """JSON only: one pair of ports for all vehicles, distinguished by vehicle_id; default false."""
    own_world: bool | None = None
    """Whether the kit generated the world, and so moved the plugins of external vehicles."""
    connect_timeout_s: NotNegative | None = None
    """Give up connecting after this time [s]; default: wait without end."""
    overlap: bool | None = None
    """The first exchange of a step begins with the commands before; default: as in [gazebo]."""
    bind_addr: str | None = None
    """Our own address; default: loopback for a simulator on this machine, else any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MujocoOptions(Table):
    """What MuJoCo has of its own; rovers and world are the fleet's."""

    physics_step_us: Annotated[int, Interval(ge=100, le=10_000)] | None = None
    """MuJoCo's own step [us]; step_us of [time] must be a whole multiple of it; default 2000."""
    seed: Seed | None = None
    """Start of its random numbers; default: the fleet's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsbsimOptions(Table):
    """What a JSBSim adapter of its own has."""

    seed: Seed | None = None
    """Start of its random numbers; default: the fleet's."""


# The options of [adapters.NAME], by the adapter's type.
OPTIONS: dict[str, type] = {
    "lightweight": LightweightOptions,
    "gazebo": GazeboOptions,
    "mujoco": MujocoOptions,
    "jsbsim": JsbsimOptions,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AircraftSection(Table):
    """An aircraft of the adapter jsbsim: which one, how it starts, its servo outputs."""

    model: str | None = None
    """Name of an aircraft of the jsbsim package; default "c172p"."""
    altitude_m: Annotated[float, Interval(ge=0, le=10_000)] | None = None
    """Height above the origin at which it starts [m]; default 0 = standing on the runway."""
    airspeed_mps: Annotated[float, Interval(ge=0, le=1000)] | None = None
    """True airspeed at which it starts in the air [m/s]; required with altitude_m."""
    aileron_channel: Channel | None = None
    """Servo output of the ailerons, above 1500 us rolls right; default 1."""
    elevator_channel: Channel | None = None
    """Servo output of the elevator, above 1500 us lifts the nose; default 2."""
    throttle_channel: Channel | None = None
    """Servo output of the throttle, 1000 us is closed; default 3."""
    rudder_channel: Channel | None = None
    """Servo output of the rudder, above 1500 us turns right; default 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VehicleSection(SensorFigures):
    """What one vehicle has of its own; any field of a rover may stand here too."""

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
    """Its rover, a preset; default: that of [rover], with the fields changed there."""
    noise: NoiseProfile | None = None
    """How bad its sensors are; default: that of [rover]."""
    mission: str | None = None
    """Mission file (.plan, .waypoints), relative to this file; builtin and ardurover start it."""
    params: str | None = None
    """Parameter file (.parm), relative to the fleet file."""
    board: BoardSection = field(default_factory=BoardSection)
    """Its board, as in [board]; what is not given is the fleet's."""
    links: tuple[str, ...] = ()
    """More MAVLink links of this vehicle alone."""
    aircraft: AircraftSection = field(default_factory=AircraftSection)
    """What it flies, as in [aircraft]; only with the adapter jsbsim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFile(Table):
    """A whole fleet file; every table and every key is optional."""

    fleet: FleetSection = field(default_factory=FleetSection)
    origin: OriginSection = field(default_factory=OriginSection)
    time: TimeSection = field(default_factory=TimeSection)
    layout: LayoutSection = field(default_factory=LayoutSection)
    ports: PortsSection = field(default_factory=PortsSection)
    net: NetSection = field(default_factory=NetSection)
    mavlink: MavlinkSection = field(default_factory=MavlinkSection)
    ardurover: ArduRoverSection = field(default_factory=ArduRoverSection)
    rover: RoverSection = field(default_factory=RoverSection)
    presets: dict[str, PresetSection] = field(default_factory=dict)
    """Rovers of one's own by name: a preset and the fields that differ."""
    board: BoardSection = field(default_factory=BoardSection)
    aircraft: AircraftSection = field(default_factory=AircraftSection)
    gazebo: GazeboSection = field(default_factory=GazeboSection)
    adapters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Further simulators by name, each with its type and that type's own options."""
    autopilots: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Autopilots of one's own by name: type is MODULE:CLASS or an installed one; options."""
    terrain: TerrainSection = field(default_factory=TerrainSection)
    wind: WindSection = field(default_factory=WindSection)
    obstacle: tuple[ObstacleSection, ...] = ()
    vehicle: tuple[VehicleSection, ...] = ()
