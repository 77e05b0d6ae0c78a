"""What the services of a vehicle share: identity, context, failure injection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pico_gz.core.ground_control import GcsVehicle, Mode, Telemetry
from pico_gz.mavlink import limits
from pico_gz.mavlink.codec import Message, Outgoing, mav
from pico_gz.mavlink.framing import MavlinkCounters
from pico_gz.mavlink.limits import TokenBucket
from pico_gz.mavlink.signing import Channel, Signer
from pico_gz.mavlink.streams import Schedule, StreamTable

# Switches a failure: vehicle id, unit, kind.
Inject = Callable[[int, str, str], None]

_MAX_LAT_E7 = 900_000_000
_MAX_LON_E7 = 1_800_000_000

# Heights over home.
RELATIVE_FRAMES = frozenset(
    {mav.MAV_FRAME_GLOBAL_RELATIVE_ALT, mav.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT}
)
# A rover is on the ground in all of them: latitude and longitude are what counts.
GLOBAL_FRAMES = RELATIVE_FRAMES | {
    mav.MAV_FRAME_GLOBAL,
    mav.MAV_FRAME_GLOBAL_INT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT_INT,
}


def is_place(lat_e7: float, lon_e7: float) -> bool:
    """Whether these are somewhere; 0/0 is what a ground station sends that has no place."""
    in_range = abs(lat_e7) <= _MAX_LAT_E7 and abs(lon_e7) <= _MAX_LON_E7
    return in_range and not lat_e7 == lon_e7 == 0


# FAILURE_UNIT -> unit words by instance; instance 0 means all of them.
_UNITS: dict[int, tuple[str, ...]] = {
    mav.FAILURE_UNIT_SENSOR_GYRO: ("gyro",),
    mav.FAILURE_UNIT_SENSOR_ACCEL: ("accel",),
    mav.FAILURE_UNIT_SENSOR_MAG: ("mag",),
    mav.FAILURE_UNIT_SENSOR_BARO: ("baro",),
    mav.FAILURE_UNIT_SENSOR_GPS: ("gps",),
    mav.FAILURE_UNIT_SENSOR_DISTANCE_SENSOR: ("range",),
    mav.FAILURE_UNIT_SYSTEM_BATTERY: ("battery",),
    mav.FAILURE_UNIT_SYSTEM_MOTOR: ("motor_left", "motor_right"),
    mav.FAILURE_UNIT_SYSTEM_SERVO: ("steering",),
    mav.FAILURE_UNIT_SYSTEM_RC_SIGNAL: ("rc",),
    mav.FAILURE_UNIT_SYSTEM_MAVLINK_SIGNAL: ("mavlink",),
}
_KINDS: dict[int, str] = {
    mav.FAILURE_TYPE_OK: "ok",
    mav.FAILURE_TYPE_OFF: "off",
    mav.FAILURE_TYPE_STUCK: "stuck",
    mav.FAILURE_TYPE_GARBAGE: "garbage",
    mav.FAILURE_TYPE_WRONG: "wrong",
    mav.FAILURE_TYPE_SLOW: "slow",
    mav.FAILURE_TYPE_DELAYED: "delayed",
    mav.FAILURE_TYPE_INTERMITTENT: "intermittent",
}


def failure_words(unit: int, kind: int, instance: int) -> tuple[tuple[str, ...], str] | None:
    """Return the unit words and the failure word, or None when there is no such thing here.

    Args:
        unit: ``FAILURE_UNIT``.
        kind: ``FAILURE_TYPE``.
        instance: 0 for all, else counted from 1 (motors: 1 left, 2 right).
    """
    units = _UNITS.get(unit)
    word = _KINDS.get(kind)
    if units is None or word is None or not 0 <= instance <= len(units):
        return None
    return (units if instance == 0 else (units[instance - 1],)), word


_MANUAL_MODES = frozenset({Mode.MANUAL, Mode.ACRO, Mode.STEERING})
_AUTONOMOUS_MODES = frozenset(
    {Mode.LOITER, Mode.CIRCLE, Mode.AUTO, Mode.RTL, Mode.SMART_RTL, Mode.GUIDED}
)
_FIRMWARE_VERSION = (4, 6, 0)
_FIRMWARE_OFFICIAL = 255
_CUSTOM_VERSION = list(b"pico_gz0")
_NO_VERSION = [0] * 8
_MODE_NOT_SELECTABLE = 2

# FTP is refused, so its bit stays clear; the rest is what the services here really do.
CAPABILITIES = (
    mav.MAV_PROTOCOL_CAPABILITY_PARAM_FLOAT
    | mav.MAV_PROTOCOL_CAPABILITY_MISSION_INT
    | mav.MAV_PROTOCOL_CAPABILITY_COMMAND_INT
    | mav.MAV_PROTOCOL_CAPABILITY_SET_ATTITUDE_TARGET
    | mav.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_LOCAL_NED
    | mav.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_GLOBAL_INT
    | mav.MAV_PROTOCOL_CAPABILITY_MAVLINK2
    | mav.MAV_PROTOCOL_CAPABILITY_MISSION_FENCE
    | mav.MAV_PROTOCOL_CAPABILITY_MISSION_RALLY
    | mav.MAV_PROTOCOL_CAPABILITY_PARAM_ENCODE_C_CAST
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a vehicle claims to be.

    Attributes:
        autopilot: ``MAV_AUTOPILOT``; 3 ArduPilot (rover modes), 0 generic.
        vehicle_type: ``MAV_TYPE``; 10 rover, 11 boat.
    """

    autopilot: int = mav.MAV_AUTOPILOT_ARDUPILOTMEGA
    vehicle_type: int = mav.MAV_TYPE_GROUND_ROVER


def heartbeat(identity: Identity, t: Telemetry) -> Message:
    """Build HEARTBEAT."""
    base_mode = mav.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
    if t.mode in _MANUAL_MODES:
        base_mode |= mav.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED
    if t.mode in _AUTONOMOUS_MODES:
        base_mode |= mav.MAV_MODE_FLAG_GUIDED_ENABLED
    if t.armed:
        base_mode |= mav.MAV_MODE_FLAG_SAFETY_ARMED
    status = mav.MAV_STATE_ACTIVE if t.active else mav.MAV_STATE_STANDBY
    return mav.MAVLink_heartbeat_message(
        identity.vehicle_type, identity.autopilot, base_mode, int(t.mode), status, 3
    )


def autopilot_version(system_id: int) -> Message:
    """Build AUTOPILOT_VERSION."""
    major, minor, patch = _FIRMWARE_VERSION
    version = major << 24 | minor << 16 | patch << 8 | _FIRMWARE_OFFICIAL
    return mav.MAVLink_autopilot_version_message(
        CAPABILITIES,
        version,
        0,
        0,
        0,
        _CUSTOM_VERSION,
        _NO_VERSION,
        _NO_VERSION,
        0,
        0,
        system_id,
    )


def available_modes() -> list[Message]:
    """Build AVAILABLE_MODES, one per mode, numbered from 1."""
    modes = list(Mode)
    return [
        mav.MAVLink_available_modes_message(
            len(modes),
            number,
            0,
            int(mode),
            _MODE_NOT_SELECTABLE if mode is Mode.INITIALISING else 0,
            mode.name.encode("ascii"),
        )
        for number, mode in enumerate(modes, start=1)
    ]


def banner() -> tuple[str, ...]:
    """Return the lines of the start-up banner; Mission Planner looks for "rover" in them."""
    version = ".".join(str(part) for part in _FIRMWARE_VERSION)
    return (f"ArduRover V{version} (pico_gz)", "pico_gz simulated rover")


Handler = Callable[[Message, Channel], None]


class Context(Protocol):
    """The endpoint of one vehicle, as its services see it."""

    @property
    def vehicle(self) -> GcsVehicle:
        """The autopilot."""

    @property
    def system_id(self) -> int:
        """The vehicle's id."""

    @property
    def schedule(self) -> Schedule:
        """Where to wait for a time."""

    @property
    def fleet_param_budget(self) -> TokenBucket:
        """How many parameters all vehicles together may send."""

    def telemetry(self) -> Telemetry:
        """What the autopilot believes now; one snapshot per turn."""

    def reply(self, channel: Channel, message: Message) -> None:
        """Answer one receiver; kept when its queue overflows."""

    def broadcast(self, message: Message) -> None:
        """Tell every receiver; kept when a queue overflows."""

    def packed(self, msg_id: int) -> Outgoing | None:
        """Return a telemetry message, packed; None when there is nothing to tell."""

    def streams_of(self, channel: Channel) -> StreamTable:
        """Return the streams of one receiver."""

    def vehicle_changed(self, *, answered: tuple[Channel, str] | None = None) -> None:
        """Forget the snapshot and tell everybody what the autopilot has to say.

        Args:
            answered: a receiver that knows of the change of this parameter already.
        """


@dataclass(slots=True)
class FleetShared:
    """Handed to every endpoint.

    Attributes:
        schedule: where to wait for a time.
        counters: where to count.
        identity: what the vehicles claim to be.
        signer: signs and checks, when there is a key.
        inject: switches a failure on (vehicle id, unit, kind).
        param_budget: how many parameters all vehicles together may send.
    """

    schedule: Schedule
    counters: MavlinkCounters
    identity: Identity = field(default_factory=Identity)
    signer: Signer | None = None
    inject: Inject | None = None
    param_budget: TokenBucket = field(
        default_factory=lambda: TokenBucket(limits.PARAMS_PER_S_FLEET, limits.PARAMS_PER_S_FLEET)
    )
