"""MAVLink of a run: which vehicle talks over which links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pico_gz.bridge.published import FleetView
from pico_gz.core.frames import LocalFrame, euler_from_quat, quat_conjugate, quat_rotate
from pico_gz.core.ground_control import GcsVehicle
from pico_gz.core.messages import VehicleTruth
from pico_gz.core.ports import Link, LinkKind, PortPlan
from pico_gz.mavlink.fleet_mavlink import FleetMavlink, MavlinkSettings, VehicleLinkPlan
from pico_gz.mavlink.signing import load_key
from pico_gz.mavlink.telemetry import SimState
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.config.outside import DOCKER_HOST

_GRAVITY_MPS2 = 9.80665


class TruthReader:
    """Reads a vehicle's truth from the newest published view; observers only."""

    def __init__(self, view: Callable[[], FleetView], frame: LocalFrame) -> None:
        self._view = view
        self._frame = frame

    def of(self, vehicle_id: int) -> Callable[[], SimState | None]:
        """Return what gives the state of one vehicle, ``None`` before its first step."""

        def read() -> SimState | None:
            truth = self._view().truth.get(vehicle_id)
            return None if truth is None else _state(truth, self._frame)

        return read


def _state(truth: VehicleTruth, frame: LocalFrame) -> SimState:
    roll_rad, pitch_rad, yaw_rad = euler_from_quat(truth.quat_wxyz)
    north, east, down = truth.accel_ned_mps2
    lat_deg, lon_deg, _ = frame.geodetic_from_ned(truth.north_m, truth.east_m, truth.down_m)
    return SimState(
        roll_rad=roll_rad,
        pitch_rad=pitch_rad,
        yaw_rad=yaw_rad,
        # What an accelerometer feels: a rover at rest is held up against gravity.
        accel_mps2=quat_rotate(
            quat_conjugate(truth.quat_wxyz), (north, east, down - _GRAVITY_MPS2)
        ),
        gyro_radps=truth.rates_frd_radps,
        lat_e7=round(lat_deg * 1e7),
        lon_e7=round(lon_deg * 1e7),
    )


def link_plan(
    plan: VehiclePlan,
    fleet: FleetConfig,
    ports: PortPlan,
    vehicle: GcsVehicle,
    truth: TruthReader,
) -> VehicleLinkPlan:
    """The links of one vehicle."""
    target = Link(LinkKind.UDPOUT, fleet.net.gcs_host, ports.vehicle(plan.id).mavlink)
    wind_ned_mps = (fleet.wind.north_mps, fleet.wind.east_mps, 0.0)
    return VehicleLinkPlan(
        plan.id, vehicle, (target, *plan.links), truth.of(plan.id), lambda: wind_ned_mps
    )


def make_mavlink(
    fleet: FleetConfig,
    ports: PortPlan,
    vehicles: Mapping[int, GcsVehicle],
    *,
    truth: TruthReader,
    inject: Callable[[int, str, str], None],
    tlog_dir: Path | None,
    tlog_ended_early: Callable[[int, str], None] | None = None,
) -> FleetMavlink:
    """MAVLink for every built-in vehicle; nothing is opened yet.

    Raises:
        ConfigError: the signing key cannot be used.
    """
    plans = [
        link_plan(plan, fleet, ports, vehicles[plan.id], truth)
        for plan in fleet.vehicles
        if plan.id in vehicles
    ]
    midnight = datetime.combine(fleet.origin.date, datetime.min.time(), tzinfo=UTC)
    settings = MavlinkSettings(
        tcp=(fleet.net.bind, ports.tcp_port) if ports.tcp_port and plans else None,
        fleet_links=fleet.links,
        bind=fleet.net.bind,
        signing_key=load_key(fleet.signing_key_file) if fleet.signing_key_file else None,
        inject=inject,
        allow_failure_injection=fleet.failure_injection,
        tlog_dir=tlog_dir,
        tlog_ended_early=tlog_ended_early,
        # Simulated time starts at the fleet's date, so that recordings repeat too.
        epoch_us=int(midnight.timestamp()) * 1_000_000,
        allow_gcs_sysid=fleet.allow_gcs_sysid,
    )
    return FleetMavlink(plans, settings)


def mavlink_lines(fleet: FleetConfig, ports: PortPlan, ids: Collection[int]) -> list[str]:
    """Where a ground station finds the vehicles, for people."""
    numbers = sorted({ports.vehicle(vehicle_id).mavlink for vehicle_id in ids})
    span = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}..{numbers[-1]}"
    host = fleet.net.gcs_host
    target = (
        f"{span} of this machine" if fleet.outside and host == DOCKER_HOST else f"{host}:{span}"
    )
    lines = [f"MAVLink: sending to UDP {target}"]
    if ports.tcp_port:
        here = f"{fleet.net.bind}:{ports.tcp_port}"
        lines[0] += f", whole fleet on TCP {fleet.outside.mavlink_tcp if fleet.outside else here}"
    if fleet.signing_key_file:
        lines.append(f"MAVLink is signed with the key in {fleet.signing_key_file}")
    return lines
