"""Who a vehicle is: heartbeat, version, modes, banner."""

from __future__ import annotations

from dataclasses import dataclass

from pico_gz.autopilot.api import Mode, Telemetry
from pico_gz.mavlink.codec import Message, mav

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
