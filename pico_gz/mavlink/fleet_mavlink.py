"""MAVLink of a whole fleet: one call per step."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from pico_gz.core.ground_control import GcsVehicle
from pico_gz.core.memory_limit import require_memory
from pico_gz.core.ports import Link, LinkKind
from pico_gz.errors import (
    ConfigError,
    DuplicateVehicleError,
    MavlinkError,
    PortClashError,
    UnknownVehicleError,
)
from pico_gz.mavlink.commands import CommandService
from pico_gz.mavlink.endpoint import FleetShared, Inject, VehicleEndpoint
from pico_gz.mavlink.files import FileService
from pico_gz.mavlink.link_router import LinkRouter
from pico_gz.mavlink.links import MavlinkCounters, OpenLink
from pico_gz.mavlink.missions import MissionService
from pico_gz.mavlink.params import ParamService
from pico_gz.mavlink.setpoints import SetpointService
from pico_gz.mavlink.signing import Signer, signature_time_now
from pico_gz.mavlink.streams import Schedule
from pico_gz.mavlink.tcp_link import STALL_US
from pico_gz.mavlink.telemetry import Identity, SimState, TelemetrySource
from pico_gz.mavlink.tlog import TlogWriter, log_end

_log = logging.getLogger(__name__)

POLL_US: Final = 5_000
_UPDATES_US: Final = 100_000
_EXPIRE_US: Final = 1_000_000
_GCS_SYSTEM_ID: Final = 255
_FLEET = "The fleet"
SERVICES = (ParamService, FileService, MissionService, CommandService, SetpointService)


def monotonic_us() -> int:
    """Return the wall clock of this process [us]; it never jumps."""
    return time.monotonic_ns() // 1000


@dataclass(frozen=True, slots=True)
class VehicleLinkPlan:
    """One vehicle and its own links.

    Attributes:
        vehicle_id: also its MAVLink system id.
        vehicle: its autopilot.
        links: links that carry this vehicle alone.
        sim_state: gives the simulator's own state for SIMSTATE; optional.
        wind_ned_mps: gives the simulated wind for WIND; optional.
    """

    vehicle_id: int
    vehicle: GcsVehicle
    links: tuple[Link, ...] = ()
    sim_state: Callable[[], SimState | None] | None = None
    wind_ned_mps: Callable[[], tuple[float, float, float]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MavlinkSettings:
    """How a fleet talks MAVLink.

    Attributes:
        tcp: host and port of the TCP server that carries the whole fleet.
        fleet_links: further links that carry the whole fleet.
        bind: address that udpout links to other machines send from.
        identity: what the vehicles claim to be in HEARTBEAT.
        signing_key: 32 bytes; sign everything and accept only what is signed with it.
        inject: switches a failure on (vehicle id, unit, kind); a ``PicoGzError`` from it
            is answered UNSUPPORTED. The unit ``mavlink`` is switched here.
        allow_failure_injection: obey MAV_CMD_INJECT_FAILURE. Off by default, as on a real
            vehicle: the whole network must not be able to break things.
        tlog_dir: write ``vehicle_<id>.tlog`` there.
        tlog_ended_early: called (vehicle id, a sentence) when a disk ends such a recording;
            without it, the sentence is logged.
        epoch_us: Unix time at simulation time zero [us], for SYSTEM_TIME and recordings.
        allow_gcs_sysid: let a vehicle have id 255, the usual id of ground stations.
        tcp_stall_us: cut a TCP client that takes nothing for this long [us].
    """

    tcp: tuple[str, int] | None = None
    fleet_links: Sequence[Link] = ()
    bind: str = "127.0.0.1"
    identity: Identity = field(default_factory=Identity)
    signing_key: bytes | None = field(default=None, repr=False)
    inject: Inject | None = None
    allow_failure_injection: bool = False
    tlog_dir: Path | None = None
    tlog_ended_early: Callable[[int, str], None] | None = None
    epoch_us: int = 0
    allow_gcs_sysid: bool = False
    tcp_stall_us: int = STALL_US


class FleetMavlink:
    """Everything MAVLink of a run; not thread-safe except ``counters``.

    ``service`` is called at every step boundary, and about 50 times a second while a run is
    paused. It never waits: a slow or dead ground station costs it nothing.
    """

    def __init__(
        self,
        plan: Sequence[VehicleLinkPlan],
        settings: MavlinkSettings | None = None,
        *,
        clock_us: Callable[[], int] = monotonic_us,
    ) -> None:
        """Take the plan; nothing is opened before ``open``.

        Args:
            plan: the vehicles with their own links.
            settings: what holds for the whole fleet.
            clock_us: wall clock, monotonic [us].

        Raises:
            ConfigError: an id outside 1..255, twice the same, or 255 without permission.
        """
        self._settings = settings = settings or MavlinkSettings()
        key = settings.signing_key
        self._clock_us = clock_us
        self._schedule = Schedule()
        self._counters = MavlinkCounters()
        self._shared = FleetShared(
            schedule=self._schedule,
            counters=self._counters,
            identity=settings.identity,
            signer=None if key is None else Signer(key, signature_time_now()),
            inject=self._switch_failure if settings.allow_failure_injection else None,
        )
        own_tcp = () if settings.tcp is None else (Link(LinkKind.TCPIN, *settings.tcp),)
        self._fleet_specs = (*own_tcp, *settings.fleet_links)
        self._plans: dict[int, VehicleLinkPlan] = {}
        self._endpoints: dict[int, VehicleEndpoint] = {}
        self._vehicle_links: dict[int, list[OpenLink]] = {}
        self._router: LinkRouter | None = None
        self._next_poll_us = 0
        self._updates_sim_us = -1
        self._next_updates_sim_us = 0
        self._next_updates_wall_us = 0
        for one in plan:
            self._check_id(one.vehicle_id)
            self._plans[one.vehicle_id] = one
        check_plan(self._claims())

    def _check_id(self, vehicle_id: int) -> None:
        if not 1 <= vehicle_id <= _GCS_SYSTEM_ID:
            raise ConfigError(f"Vehicle id {vehicle_id} is no MAVLink system id (1..254).")
        if vehicle_id in self._plans:
            raise DuplicateVehicleError(vehicle_id)
        if vehicle_id == _GCS_SYSTEM_ID:
            if not self._settings.allow_gcs_sysid:
                raise ConfigError(
                    "Vehicle id 255 is the usual id of ground stations.",
                    hint="Choose 1..254, or allow it with allow_gcs_sysid.",
                )
            _log.warning("Vehicle 255 has the id of most ground stations; some will ignore it.")

    def _claims(self) -> list[tuple[str, Link]]:
        claims = [(_FLEET, spec) for spec in self._fleet_specs]
        for vehicle_id, one in sorted(self._plans.items()):
            claims += [(_who(vehicle_id), spec) for spec in one.links]
        return claims

    # --- life ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Bind every socket and start; either everything is open afterwards or nothing.

        Raises:
            PortClashError: a port is in use; names the vehicle, the port and its holder.
            ConfigError: a host name is unknown.
        """
        if self._router is not None:
            return
        self._schedule.set_time(self._schedule.sim_us, self._clock_us())
        router = self._router = LinkRouter(
            self._counters,
            self._shared.signer,
            self._clock_us,
            is_own=self._endpoints.__contains__,
            bind=self._settings.bind,
            tcp_stall_us=self._settings.tcp_stall_us,
        )
        try:
            for spec in self._fleet_specs:
                router.open_link(spec, _FLEET, self._endpoints)
            for _, one in sorted(self._plans.items()):
                require_memory()
                self._start_vehicle(one, router)
        except BaseException:
            self.close()
            raise
        self._schedule.at_wall(self._schedule.wall_us + _EXPIRE_US, self._expire)

    def close(self) -> None:
        """Close everything; closing twice is fine."""
        router, self._router = self._router, None
        if router is not None:
            # The last texts of a run ("Mission Complete") came after its last turn.
            for endpoint in self._endpoints.values():
                endpoint.send_updates()
            router.close()
        for endpoint in self._endpoints.values():
            endpoint.close()
        self._endpoints.clear()
        self._vehicle_links.clear()

    def __enter__(self) -> FleetMavlink:
        """Open on entering a ``with`` block."""
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_vehicle(self, one: VehicleLinkPlan) -> None:
        """Add a vehicle while running; on an error nothing has changed.

        Raises:
            ConfigError: the id is taken or not allowed.
            PortClashError: one of its ports is in use.
        """
        self._check_id(one.vehicle_id)
        self._plans[one.vehicle_id] = one
        try:
            check_plan(self._claims())
            if self._router is not None:
                self._start_vehicle(one, self._router)
        except BaseException:
            self.remove_vehicle(one.vehicle_id)
            raise

    def remove_vehicle(self, vehicle_id: int) -> None:
        """Take a vehicle out and close its own links.

        Raises:
            UnknownVehicleError: there is no such vehicle.
        """
        if self._plans.pop(vehicle_id, None) is None:
            raise UnknownVehicleError(vehicle_id, sorted(self._plans))
        for link in self._vehicle_links.pop(vehicle_id, []):
            if self._router is not None:
                self._router.close_link(link)
        endpoint = self._endpoints.pop(vehicle_id, None)
        if endpoint is not None:
            endpoint.close()

    def _start_vehicle(self, one: VehicleLinkPlan, router: LinkRouter) -> None:
        vehicle_id = one.vehicle_id
        endpoint = VehicleEndpoint(
            vehicle_id,
            one.vehicle,
            self._shared,
            SERVICES,
            source=TelemetrySource(self._settings.epoch_us, one.sim_state, one.wind_ned_mps),
            tlog=self._tlog_for(vehicle_id),
        )
        self._endpoints[vehicle_id] = endpoint
        for link in router.links:
            if link.who == _FLEET:
                for peer in link.peers:
                    endpoint.attach(peer)
        own = self._vehicle_links[vehicle_id] = []
        for spec in one.links:
            own.append(router.open_link(spec, _who(vehicle_id), {vehicle_id: endpoint}))
        router.set_fleet_size(len(self._endpoints))

    def _tlog_for(self, vehicle_id: int) -> TlogWriter | None:
        settings = self._settings
        if settings.tlog_dir is None:
            return None
        path, report = settings.tlog_dir / f"vehicle_{vehicle_id}.tlog", settings.tlog_ended_early
        try:
            settings.tlog_dir.mkdir(parents=True, exist_ok=True)
            return TlogWriter(
                path,
                lambda: settings.epoch_us + self._schedule.sim_us,
                log_end if report is None else partial(report, vehicle_id),
            )
        except OSError as error:
            raise ConfigError(f"Cannot record to {path}: {error.strerror}.") from error

    # --- every turn -----------------------------------------------------------------------------

    def service(self, sim_time_us: int) -> None:
        """Take what has arrived, answer, and send what is due at ``sim_time_us``.

        Nearly free when nothing is due: sockets are looked at every 5 ms of wall time, and
        streams wait in a schedule.
        """
        router = self._router
        if router is None:
            return
        wall_us = self._clock_us()
        schedule = self._schedule
        schedule.set_time(sim_time_us, wall_us)
        busy = schedule.run_due()
        if wall_us >= self._next_poll_us:
            self._next_poll_us = wall_us + POLL_US
            router.poll(wall_us)
            busy = True
        busy |= self._send_updates(sim_time_us, wall_us)
        if busy:
            router.flush()

    def _send_updates(self, sim_us: int, wall_us: int) -> bool:
        """Send what the autopilots report, ten times a second; return whether it was time to.

        Of simulated time, so that recordings repeat at any speed; of wall time during a pause.
        """
        if sim_us != self._updates_sim_us:
            self._updates_sim_us = sim_us
            self._next_updates_wall_us = wall_us + _UPDATES_US
            due = not 0 < self._next_updates_sim_us - sim_us <= _UPDATES_US
        else:
            due = wall_us >= self._next_updates_wall_us
        if due:
            self._next_updates_sim_us = sim_us + _UPDATES_US
            self._next_updates_wall_us = wall_us + _UPDATES_US
            for endpoint in self._endpoints.values():
                endpoint.send_updates()
        return due

    def _expire(self) -> None:
        if self._router is not None:
            self._router.expire(self._schedule.wall_us)
            self._schedule.at_wall(self._schedule.wall_us + _EXPIRE_US, self._expire)

    # --- failures on purpose ----------------------------------------------------------------------

    def set_link_failure(self, vehicle_id: int, kind: str) -> None:
        """Let a vehicle's ground link fail: ``off``, ``intermittent``, or ``ok`` again.

        Raises:
            UnknownVehicleError: there is no such vehicle.
            ConfigError: a link cannot fail in this way.
        """
        if vehicle_id not in self._endpoints:
            raise UnknownVehicleError(vehicle_id, sorted(self._endpoints))
        self._endpoints[vehicle_id].set_link_failure(kind)

    def _switch_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        if self._settings.inject is not None:  # knows of every failure, those of links too
            self._settings.inject(vehicle_id, unit, kind)
        elif unit == "mavlink":
            self.set_link_failure(vehicle_id, kind)
        else:
            raise MavlinkError(f"Nothing here can switch failures of {unit}.")

    # --- looking at it --------------------------------------------------------------------------

    def counters(self) -> dict[str, int]:
        """Return all totals by name; from any thread."""
        return self._counters.as_dict() if self._router is None else self._router.totals()

    def links(self) -> tuple[OpenLink, ...]:
        """Return the open links; each has ``spec``, ``who``, ``local_port()`` and ``peers``."""
        return () if self._router is None else self._router.links


def _who(vehicle_id: int) -> str:
    return f"Vehicle {vehicle_id}"


def check_plan(claims: list[tuple[str, Link]]) -> None:
    """Refuse a plan in which two links listen on one port.

    Raises:
        PortClashError: names both claimants.
    """
    taken: dict[tuple[bool, int], str] = {}
    for who, spec in claims:
        if not spec.listens:
            continue
        key = (spec.kind is LinkKind.TCPIN, spec.port)
        if key in taken:
            raise PortClashError(
                f"{taken[key]} and {who.lower()} both want {spec}.",
                hint="Give each its own port, or make it one link of the fleet.",
            )
        taken[key] = who
