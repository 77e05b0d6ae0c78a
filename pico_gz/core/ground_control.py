"""The interface between an autopilot and its ground station.

The MAVLink side knows only this file; the autopilot knows nothing of MAVLink frames, links or
ground stations. Numbers are MAVLink's (modes, results, commands), because they are the
vocabulary of both sides. Everything here is called on the simulation thread, between steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Protocol

import msgspec

# The longest list a vehicle can keep, so that an upload can be refused before it begins.
MAX_ITEMS = 1000


class Mode(IntEnum):
    """Rover modes with ArduRover's numbers (``custom_mode``)."""

    MANUAL = 0
    ACRO = 1
    STEERING = 3
    HOLD = 4
    LOITER = 5
    CIRCLE = 9
    AUTO = 10
    RTL = 11
    SMART_RTL = 12
    GUIDED = 15
    INITIALISING = 16


class Result(IntEnum):
    """Answers to a command (``MAV_RESULT``)."""

    ACCEPTED = 0
    TEMPORARILY_REJECTED = 1
    DENIED = 2
    UNSUPPORTED = 3
    FAILED = 4
    IN_PROGRESS = 5


class MissionType(IntEnum):
    """The three item lists a vehicle keeps (``MAV_MISSION_TYPE``)."""

    MISSION = 0
    FENCE = 1
    RALLY = 2


class MissionResult(IntEnum):
    """Answers to a list transfer (``MAV_MISSION_RESULT``)."""

    ACCEPTED = 0
    ERROR = 1
    UNSUPPORTED_FRAME = 2
    UNSUPPORTED = 3
    NO_SPACE = 4
    INVALID = 5
    INVALID_PARAM1 = 6
    INVALID_PARAM5_X = 10
    INVALID_PARAM6_Y = 11
    INVALID_PARAM7 = 12
    INVALID_SEQUENCE = 13
    DENIED = 14
    CANCELLED = 15


class MissionItem(msgspec.Struct, frozen=True, kw_only=True):
    """One mission, fence or rally item; latitude and longitude in 1e-7 degrees."""

    seq: int
    command: int
    frame: int = 3
    current: bool = False
    autocontinue: bool = True
    param1: float = 0.0
    param2: float = 0.0
    param3: float = 0.0
    param4: float = 0.0
    lat_e7: int = 0
    lon_e7: int = 0
    alt_m: float = 0.0


class ParamType(IntEnum):
    """Storage types (``MAV_PARAM_TYPE``)."""

    INT8 = 2
    INT16 = 4
    INT32 = 6
    REAL32 = 9


class ParamInfo(msgspec.Struct, frozen=True):
    """One parameter as a ground station sees it; ``index`` runs 0..count-1 without holes."""

    name: str
    value: float
    type: ParamType
    index: int


class StatusText(msgspec.Struct, frozen=True):
    """A message for people; severity 0 (emergency) .. 7 (debug) as in syslog."""

    severity: int
    text: str


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """What the autopilot estimates at one instant; never truth.

    Angles in radians (yaw clockwise from north, -pi..pi), positions in metres or degrees,
    rates FRD, velocities NED.
    """

    time_us: int
    mode: Mode
    armed: bool
    active: bool  # MAV_STATE_ACTIVE: any mode but HOLD, armed or not, as ArduRover reports it
    critical: bool = False  # MAV_STATE_CRITICAL: a failsafe is in force
    roll_rad: float = 0.0
    pitch_rad: float = 0.0
    yaw_rad: float = 0.0
    rates_radps: tuple[float, float, float] = (0.0, 0.0, 0.0)
    accel_mps2: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    gyro_radps: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mag_gauss: tuple[float, float, float] = (0.0, 0.0, 0.0)
    position_valid: bool = False
    lat_e7: int = 0
    lon_e7: int = 0
    alt_m: float = 0.0
    relative_alt_m: float = 0.0
    north_m: float = 0.0  # from the EKF origin, as local targets count
    east_m: float = 0.0
    down_m: float = 0.0
    velocity_ned_mps: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ground_speed_mps: float = 0.0
    throttle_percent: float = 0.0
    gps_fix: int = 0  # GPS_FIX_TYPE of MAVLink: 0 no GPS, 1 no fix, 2 2D, 3 3D, 5 float, 6 fixed
    gps_lat_e7: int = 0
    gps_lon_e7: int = 0
    gps_alt_m: float = 0.0
    gps_speed_mps: float = 0.0
    gps_course_deg: float = 0.0
    gps_hdop: float = 99.99
    gps_satellites: int = 0
    pressure_pa: float = 101325.0
    temperature_c: float = 25.0
    battery_v: float = 0.0
    battery_a: float = 0.0
    battery_remaining_percent: int = -1
    battery_consumed_mah: float = 0.0
    rc_us: tuple[int, ...] = ()
    rc_valid: bool = False
    servo_us: tuple[int, ...] = ()
    mission_current: int = 0
    mission_count: int = 0
    mission_state: int = 0  # MISSION_STATE: 1 none, 2 not started, 3 active, 4 paused, 5 complete
    target_bearing_deg: float = 0.0
    nav_bearing_deg: float = 0.0
    waypoint_distance_m: float = 0.0
    cross_track_m: float = 0.0
    speed_error_mps: float = 0.0
    target_lat_e7: int = 0
    target_lon_e7: int = 0
    target_valid: bool = False
    home_lat_e7: int = 0
    home_lon_e7: int = 0
    home_alt_m: float = 0.0
    home_valid: bool = False
    origin_lat_e7: int = 0  # the EKF origin: home at boot, and it stays when home moves
    origin_lon_e7: int = 0
    origin_alt_m: float = 0.0
    origin_valid: bool = False
    fence_breached: bool = False
    fence_breach_count: int = 0
    fence_breach_type: int = 0
    ekf_flags: int = 0
    ekf_variances: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)  # vel, pos, hgt, mag
    sensors_present: int = 0  # MAV_SYS_STATUS_SENSOR bits
    sensors_enabled: int = 0
    sensors_healthy: int = 0
    load_permille: int = 0
    vibration_mps2: tuple[float, float, float] = (0.0, 0.0, 0.0)


class GcsParams(Protocol):
    """The parameters of a vehicle."""

    def count(self) -> int:
        """How many there are."""

    def by_name(self, name: str) -> ParamInfo | None:
        """The parameter of this name, ``None`` when there is none."""

    def by_index(self, index: int) -> ParamInfo | None:
        """The parameter at this place of the list, ``None`` outside 0..count-1."""

    def set(self, name: str, value: float) -> ParamInfo | None:
        """Set it and return what holds now; a refused value leaves the old one."""

    def drain_changes(self) -> list[ParamInfo]:
        """Take the parameters set since the last call, by whatever side; they are in the file."""

    def reset(self) -> Result:
        """Return to the values of preset and fleet file."""

    def flush(self) -> Result:
        """Write changes to the parameter file now (PREFLIGHT_STORAGE); failed: the disk."""


class GcsMissions(Protocol):
    """The mission, fence and rally lists of a vehicle; item 0 of a mission is home."""

    def items(self, kind: MissionType) -> Sequence[MissionItem]:
        """The stored list."""

    def check(self, kind: MissionType, item: MissionItem) -> MissionResult:
        """Whether this item could be stored."""

    def replace(self, kind: MissionType, items: Sequence[MissionItem]) -> MissionResult:
        """Store a whole list, or nothing of it."""

    def clear(self, kind: MissionType) -> MissionResult:
        """Empty a list."""

    def set_current(self, seq: int) -> Result:
        """Make a mission item the next one; at once when in AUTO."""


class GcsGuided(Protocol):
    """Targets of GUIDED. Targets that are speeds end 3 s after the last call."""

    def to_global(
        self, lat_e7: int, lon_e7: int, *, speed_mps: float | None = None, change_mode: bool = False
    ) -> Result:
        """Drive there; ``change_mode`` enters GUIDED first (DO_REPOSITION flag 1)."""

    def to_local(self, north_m: float, east_m: float, *, yaw_rad: float | None = None) -> Result:
        """Drive to a point relative to the EKF origin, which is home at boot (LOCAL_NED)."""

    def velocity(
        self,
        velocity_ne_mps: tuple[float, float] | None,
        *,
        speed_mps: float | None = None,
        yaw_rate_radps: float | None = None,
        yaw_rad: float | None = None,
    ) -> Result:
        """Drive by velocity, or by speed and turn rate or heading."""

    def heading(self, yaw_rad: float | None, yaw_rate_radps: float | None, thrust: float) -> Result:
        """SET_ATTITUDE_TARGET: heading or turn rate with throttle -1..1."""


class GcsVehicle(Protocol):
    """An autopilot that can be commanded from the ground."""

    @property
    def params(self) -> GcsParams:
        """Its parameters."""

    @property
    def missions(self) -> GcsMissions:
        """Its mission, fence and rally lists."""

    @property
    def guided(self) -> GcsGuided:
        """Takes targets of GUIDED."""

    # --- reading --------------------------------------------------------------------------

    def telemetry(self) -> Telemetry:
        """What it estimates now; built on request, so ask once per send."""

    def drain_texts(self) -> list[StatusText]:
        """Take the status texts since the last call."""

    def drain_reached(self) -> list[int]:
        """Take the mission items reached since the last call (MISSION_ITEM_REACHED)."""

    # --- commands -------------------------------------------------------------------------

    def arm(self, *, force: bool = False) -> Result:
        """Arm, or report why not in a status text."""

    def disarm(self, *, force: bool = False) -> Result:
        """Disarm; ``force`` also while moving."""

    def set_mode(self, mode: int, reason: str = "GCS") -> Result:
        """Enter a mode by its number, or report why not in a status text."""

    def start_mission(self, first_seq: int = 0) -> Result:
        """Enter AUTO, at an item when one is named."""

    def set_home(self, lat_e7: int, lon_e7: int, alt_m: float) -> Result:
        """Put home there."""

    def set_home_here(self) -> Result:
        """Put home where it stands."""

    def change_speed(self, speed_mps: float) -> Result:
        """Drive missions and guided points at this speed from now on."""

    def set_reverse(self, reverse: bool) -> Result:
        """Drive autonomous modes backwards, or forwards again."""

    def set_paused(self, paused: bool) -> Result:
        """Stop where it is, or continue (DO_PAUSE_CONTINUE)."""

    def prearm_checks(self) -> Result:
        """Run the arming checks and report the outcome in status texts."""

    def calibrate(self, params: Sequence[float]) -> Result:
        """PREFLIGHT_CALIBRATION with its seven parameters."""

    def do_command(self, command: int, params: Sequence[float]) -> Result:
        """Switch a servo, relay, fence, aux function or motor, by the number of ``MAV_CMD``."""

    def reboot(self) -> Result:
        """Start again as after power-on; parameters and lists are kept. Denied while armed."""

    # --- manual input ---------------------------------------------------------------------

    def rc_override(self, channels_us: Mapping[int, int]) -> None:
        """1-based channel -> us; 0 or 65535-style "ignore" values are already left out."""

    def release_rc_override(self, channels: Sequence[int]) -> None:
        """Give these channels back to the receiver."""

    def manual_control(self, x: float, y: float, z: float, r: float, buttons: int) -> None:
        """MANUAL_CONTROL scaled to -1..1 (steers with y, drives with z, as ArduRover does)."""

    def gcs_heartbeat(self, system_id: int) -> None:
        """A ground station is alive; only SYSID_MYGCS counts for the failsafe."""
