"""External autopilots of a run: their server and start lines."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from pico_gz.core.frames import LocalFrame
from pico_gz.core.ports import PortPlan
from pico_gz.core.vehicle_config import is_ardurover
from pico_gz.errors import ConfigError
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.vehicle.external.external_vehicle import (
    ArduPilotProfile,
    ExternalVehicle,
    FdmWire,
    ImuSource,
)
from pico_gz.vehicle.external.fdm_server import FdmServer
from pico_gz.vehicle.external.program import PARAMETER_FILE, ArduRoverStart, parameter_file
from pico_gz.vehicle.external.releases import ArduRoverProgram, find_ardurover

if TYPE_CHECKING:
    from pico_gz.run.external_missions import MissionUpload
    from pico_gz.vehicle.autopilot.mission_files import ItemLists

_NAME = re.compile(r"[,\s]+")
# ArduRover holds itself back to this; the kit paces the run, so it must not be the brake.
_FLAT_OUT_SPEEDUP = 100.0


def external_plans(fleet: FleetConfig) -> list[VehiclePlan]:
    """The vehicles that programs of other people drive."""
    return [plan for plan in fleet.vehicles if plan.config.is_external]


def ardurover_plans(fleet: FleetConfig) -> list[VehiclePlan]:
    """Those of them whose ArduRover the kit starts itself."""
    return [plan for plan in fleet.vehicles if is_ardurover(plan.config.autopilot)]


def _hand_started(fleet: FleetConfig) -> list[VehiclePlan]:
    return [plan for plan in fleet.vehicles if plan.config.autopilot == "external"]


def programs_of(fleet: FleetConfig) -> dict[int, ArduRoverProgram]:
    """Vehicle id -> the ArduRover that it is to have.

    Raises:
        MissingProgramError: there is none of its release.
    """
    return {
        plan.id: find_ardurover(plan.config.autopilot.partition(":")[2])
        for plan in ardurover_plans(fleet)
    }


# The firmware of these boards has no sensor models of its own.
EXTRA_KEYS_FOR = "pico_trail"


def external_vehicle(
    plan: VehiclePlan,
    fleet: FleetConfig,
    ports: PortPlan,
    program: ArduRoverProgram | None = None,
) -> ExternalVehicle:
    """How the wire serves one vehicle."""
    return ExternalVehicle(
        vehicle_id=plan.id,
        fdm_port=ports.vehicle(plan.id).server,
        drive=plan.rover.drive,
        channels=plan.config.channels,
        # What Gazebo's IMU measures is passed through as it is.
        imu=ImuSource.SENSOR if plan.id in fleet.on_gazebo() else ImuSource.TRUTH,
        extra_keys=plan.rover.preset.startswith(EXTRA_KEYS_FOR),
        aircraft_channels=plan.config.aircraft_channels,
        profile=_profile(program),
        wire=FdmWire(fleet.ardurover.wire),
        no_time_sync=_is_unpaced(plan, fleet),
    )


def make_fdm_server(
    fleet: FleetConfig,
    ports: PortPlan,
    frame: LocalFrame,
    *,
    lockstep: bool,
    on_event: Callable[[str, str, int], None],
    programs: Mapping[int, ArduRoverProgram] = MappingProxyType({}),
) -> FdmServer:
    """Bind the wire of every external vehicle; ``programs`` are those that the kit starts."""
    return FdmServer(
        [
            external_vehicle(plan, fleet, ports, programs.get(plan.id))
            for plan in external_plans(fleet)
        ],
        profile=fleet.ardupilot,
        lockstep=lockstep,
        host=fleet.net.bind,
        geodetic=lambda north_m, east_m, down_m: frame.geodetic_from_ned(north_m, east_m, down_m),
        on_event=on_event,
    )


def _is_unpaced(plan: VehiclePlan, fleet: FleetConfig) -> bool:
    """Whether the run alone paces an autopilot.

    One that was started by hand may lack ``rover.parm``, which keeps its EKF as it is.
    """
    asked = fleet.ardurover.no_time_sync
    return is_ardurover(plan.config.autopilot) if asked is None else asked


def _profile(program: ArduRoverProgram | None) -> ArduPilotProfile | None:
    """What its own release reads; ``None`` when that is not known."""
    if program is None or not program.release:
        return None
    is_new = program.numbers >= (4, 7)
    return ArduPilotProfile.FROM_4_7 if is_new else ArduPilotProfile.UP_TO_4_6


def start_lines(fleet: FleetConfig, ports: PortPlan, frame: LocalFrame, folder: Path) -> list[str]:
    """One line per vehicle to be started by hand, for a terminal that may stand anywhere."""
    return [_start(plan, fleet, ports, frame, folder).line() for plan in _hand_started(fleet)]


def ardurover_starts(
    fleet: FleetConfig,
    ports: PortPlan,
    frame: LocalFrame,
    folder: Path,
    programs: Mapping[int, ArduRoverProgram],
) -> dict[int, ArduRoverStart]:
    """Vehicle id -> how the kit starts its ArduRover."""
    return {
        plan.id: msgspec.structs.replace(
            _start(plan, fleet, ports, frame, folder),
            program=str(programs[plan.id].path),
            base_port=ports.vehicle(plan.id).ardurover_tcp[0],
            rc_port=ports.vehicle(plan.id).ardurover_rc,
            wipe=not fleet.keep_params,
        )
        for plan in ardurover_plans(fleet)
    }


def mavlink_line(fleet: FleetConfig) -> str:
    """Where a ground station finds the external vehicles, for people."""
    ports = sorted(
        plan.config.mavlink_port or fleet.rules.mavlink_port(plan.id)
        for plan in external_plans(fleet)
    )
    span = str(ports[0]) if ports[0] == ports[-1] else f"{ports[0]}..{ports[-1]}"
    return f"MAVLink: external autopilots send to UDP {fleet.net.gcs_host}:{span} themselves"


def parameter_text(plan: VehiclePlan, wire: FdmWire = FdmWire.JSON) -> str:
    """An external vehicle's ``rover.parm``: what fits its rover, then its own file as it is.

    Raises:
        ConfigError: its own file cannot be read.
    """
    text = parameter_file(plan.rover, plan.config, wire)
    if plan.params is None:
        return text
    try:
        own = plan.params.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as exc:
        raise ConfigError(f"{plan.params} cannot be read: {exc.strerror}.") from exc
    # A name that stands in both would have two defaults.
    given = {_NAME.split(line.strip(), maxsplit=1)[0].upper() for line in own.splitlines()}
    kept = [line for line in text.splitlines() if line.split()[0] not in given]
    return "\n".join([*kept, f"# From {plan.params.name}:", *own.splitlines()]) + "\n"


def make_mission_uploads(
    fleet: FleetConfig,
    ports: PortPlan,
    report: Callable[[int, str, int], None],
    move: Callable[[VehiclePlan, ItemLists], ItemLists] = lambda plan, lists: lists,
) -> list[MissionUpload]:
    """One for every vehicle with a mission whose autopilot is started by hand.

    Args:
        fleet: with the vehicles.
        ports: where their autopilots listen.
        report: takes id, text and severity.
        move: puts the places of a mission where the vehicle is to drive it.
    """
    plans = [plan for plan in _hand_started(fleet) if plan.mission is not None]
    if not plans:
        return []
    # Imported on use: few fleets have external vehicles with missions.
    from pico_gz.run.external_missions import MissionUpload
    from pico_gz.vehicle.autopilot.mission_files import read_item_lists

    return [
        MissionUpload(
            plan.id,
            plan.config.label,
            mission_address(fleet, ports, plan),
            move(plan, read_item_lists(plan.mission)),
            partial(report, plan.id),
        )
        for plan in plans
        if plan.mission is not None
    ]


def mission_address(fleet: FleetConfig, ports: PortPlan, plan: VehiclePlan) -> tuple[str, int]:
    """Where an ArduRover takes missions: its first port may be a ground station's."""
    return fdm_host(fleet.net.bind), ports.vehicle(plan.id).ardurover_tcp[1]


def write_parameter_files(fleet: FleetConfig, folder: Path) -> None:
    """Write each external vehicle's ``rover.parm`` into its run folder.

    Raises:
        ConfigError: the folder cannot be written.
    """
    for plan in external_plans(fleet):
        path = folder / plan.config.label / PARAMETER_FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(parameter_text(plan, FdmWire(fleet.ardurover.wire)))
        except OSError as exc:
            raise ConfigError(
                f"{path} cannot be written: {exc.strerror}.",
                hint="Start pico-gz in a folder that you may write to.",
            ) from exc


def fdm_host(bind: str) -> str:
    """Where a program on this machine reaches what is bound to ``bind``; ArduRover asks no DNS."""
    try:
        numeric = bind or "0.0.0.0"
        return "127.0.0.1" if ipaddress.ip_address(numeric).is_unspecified else bind
    except ValueError:
        pass
    try:
        return socket.gethostbyname(bind)
    except OSError as exc:
        raise ConfigError(f"The host {bind!r} of [net] bind is unknown here.") from exc


def _start(
    plan: VehiclePlan, fleet: FleetConfig, ports: PortPlan, frame: LocalFrame, folder: Path
) -> ArduRoverStart:
    return ArduRoverStart(
        vehicle_id=plan.id,
        fdm_port=ports.vehicle(plan.id).server,
        home=frame,
        gcs_port=plan.config.mavlink_port or fleet.rules.mavlink_port(plan.id),
        gcs_host=fleet.net.gcs_host,
        fdm_host=fdm_host(fleet.net.bind),
        speedup=fleet.speed or _FLAT_OUT_SPEEDUP,
        program="ardurover" if plan.aircraft is None else "arduplane",
        run_dir=str(folder.absolute() / plan.config.label),
        wire=FdmWire(fleet.ardurover.wire),
    )
