"""The vehicles of a fleet: count, tables and layout."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pico_gz.core import portable_math
from pico_gz.core.ports import MAX_PORT, Link, PortRules
from pico_gz.core.vehicle_config import GCS_SYSTEM_ID, Pose, VehicleConfig
from pico_gz.errors import ConfigError
from pico_gz.run.config.adapter_choice import ADAPTER_VARIABLE, wanted_adapter
from pico_gz.run.config.aircraft_settings import (
    CIRCUIT,
    SPACING_M,
    build_aircraft,
    check_autopilot_kind,
    is_jsbsim,
    refuse_aircraft_table,
)
from pico_gz.run.config.checks import AdapterNames, check_autopilot, check_text_name
from pico_gz.run.config.fleet import VehiclePlan
from pico_gz.run.config.named_files import NamedFiles
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.port_plan import SimWire, sim_wire
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.rover_settings import RoverBuilder, build_board
from pico_gz.run.config.settings import FleetFile, LayoutKind, LayoutSection, VehicleSection


def place(kind: LayoutKind, spacing_m: float, vehicle_ids: Sequence[int]) -> dict[int, Pose]:
    """Give every vehicle its start.

    line
        vehicle n at north 0, east ``spacing_m * (n - 1)``, looking north; so a vehicle stands at
        the same place in every fleet.
    grid
        as square as possible, rows eastward, the next row north of it, looking north.
    circle
        neighbours ``spacing_m`` apart on a circle round the origin, the first in the north,
        clockwise, looking outward.
    explicit
        all at the origin: their own ``north_m`` and ``east_m`` say where.
    """
    ids = sorted(vehicle_ids)
    if kind is LayoutKind.LINE:
        return {number: Pose(east_m=spacing_m * (number - 1)) for number in ids}
    if kind is LayoutKind.GRID:
        columns = math.isqrt(len(ids) - 1) + 1 if ids else 1
        return {
            number: Pose(north_m=spacing_m * row, east_m=spacing_m * column)
            for number, (row, column) in zip(
                ids, (divmod(index, columns) for index in range(len(ids))), strict=True
            )
        }
    if kind is LayoutKind.CIRCLE:
        return _circle(spacing_m, ids)
    return {number: Pose() for number in ids}


def _circle(spacing_m: float, ids: Sequence[int]) -> dict[int, Pose]:
    count = len(ids)
    if count == 1:
        return {ids[0]: Pose()}
    # The chord between neighbours is spacing_m: 2 r sin(pi / count).
    half_sine, _ = portable_math.sincos(math.pi / count)
    radius_m = spacing_m / (2.0 * half_sine)
    poses = {}
    for index, number in enumerate(ids):
        yaw_deg = 360.0 * index / count
        sine, cosine = portable_math.sincos(yaw_deg * portable_math.RAD_PER_DEG)
        poses[number] = Pose(north_m=radius_m * cosine, east_m=radius_m * sine, yaw_deg=yaw_deg)
    return poses


DEFAULT_COUNT = 3
_NO_TABLE = VehicleSection()
_MAX_IDS_LISTED = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A vehicle's own table, if it has one, and where that stands in the file."""

    table: VehicleSection = _NO_TABLE
    path: KeyPath = ("fleet",)


def find_entries(file: FleetFile, limit: int | None, findings: Findings) -> dict[int, Entry]:
    """Every vehicle by id, in id order.

    Ids are 1..count when there is a count, and then tables only add to them; else the tables
    are the fleet. Tables of ids above ``limit`` are left out.
    """
    count = file.fleet.count
    if count is None and not file.vehicle:
        count = DEFAULT_COUNT
    entries = {number: Entry() for number in range(1, (count or 0) + 1)}
    seen: dict[int, int] = {}
    for index, table in enumerate(file.vehicle):
        number = index + 1 if table.id is None else table.id
        path: KeyPath = ("vehicle", index, "id")
        if limit is not None and number > limit:
            continue
        if number in seen:
            message = f"vehicle {seen[number] + 1} of this file has that id already."
            findings.add(path, message, value=number)
            continue
        seen[number] = index
        if count is not None and number > count and not findings.has("fleet", "count"):
            hint = "Raise [fleet] count, or leave it out."
            findings.add(path, f"is not among the {count} vehicles.", value=number, hint=hint)
            continue
        entries[number] = Entry(table, ("vehicle", index))
    _check_gcs_id(file, entries, limit, findings)
    return dict(sorted(entries.items()))


def _check_gcs_id(
    file: FleetFile, entries: Mapping[int, Entry], limit: int | None, findings: Findings
) -> None:
    if GCS_SYSTEM_ID not in entries or file.fleet.allow_gcs_sysid:
        return
    path = entries[GCS_SYSTEM_ID].path
    message = "id 255 is what ground stations use themselves."
    hint = "Stay below 255, or set allow_gcs_sysid = true."
    if path[0] == "vehicle":
        findings.add((*path, "id"), message, value=GCS_SYSTEM_ID, hint=hint)
    elif limit is None:
        findings.add((*path, "count"), message, value=GCS_SYSTEM_ID, hint=hint)
    else:
        hint = "Stay below 255, or add --allow-gcs-sysid."
        findings.add(("--rovers",), message, value=GCS_SYSTEM_ID, hint=hint)


class VehicleBuilder:
    """Makes the plan of each vehicle from the file, the options and the environment."""

    def __init__(
        self,
        file: FleetFile,
        *,
        files: NamedFiles,
        rules: PortRules,
        rovers: RoverBuilder,
        overrides: FleetOverrides,
        environ: Mapping[str, str],
        findings: Findings,
    ) -> None:
        self._file = file
        self._files = files
        self._rules = rules
        self._rovers = rovers
        self._overrides = overrides
        self._environ = environ
        self._findings = findings
        self._adapters = AdapterNames(file.adapters)

    def build(self, entries: Mapping[int, Entry]) -> tuple[VehiclePlan, ...]:
        """The whole fleet, in id order."""
        self._check_fleet_words()
        self._check_explicit(entries)
        layout = self._file.layout
        poses = place(layout.kind, self._spacing_m(entries), list(entries))
        plans = [self._plan(number, entry, poses[number]) for number, entry in entries.items()]
        self._check_names(plans, entries)
        self._files.check_takers([plan.config.autopilot for plan in plans])
        return tuple(plan for plan in plans if plan is not None)

    def _spacing_m(self, entries: Mapping[int, Entry]) -> float:
        spacing_m = self._file.layout.spacing_m
        is_default = spacing_m == LayoutSection().spacing_m
        flying = all(self._flies(self._adapter_of(entry.table)) for entry in entries.values())
        return SPACING_M if is_default and flying else spacing_m

    def _adapter_of(self, table: VehicleSection) -> str:
        return wanted_adapter(
            option=self._overrides.adapter,
            environ=self._environ,
            vehicle=table.adapter,
            fleet=self._file.fleet.adapter,
        )

    def _flies(self, adapter: str) -> bool:
        return is_jsbsim(adapter, self._file.adapters)

    def _check_fleet_words(self) -> None:
        """Adapter and autopilot of the whole fleet, from wherever they come."""
        overrides, fleet = self._overrides, self._file.fleet
        self._adapters.check(fleet.adapter, ("fleet", "adapter"), self._findings)
        self._check_autopilot(fleet.autopilot, ("fleet", "autopilot"))
        if overrides.adapter:
            self._adapters.check(overrides.adapter, ("--adapter",), self._findings)
        elif name := self._environ.get(ADAPTER_VARIABLE):
            self._adapters.check(name, (ADAPTER_VARIABLE,), self._findings)
        if overrides.autopilot:
            self._check_autopilot(overrides.autopilot, ("--autopilot",))

    def _check_explicit(self, entries: Mapping[int, Entry]) -> None:
        """A vehicle without a table has no pose in an explicit layout."""
        without_pose = [i for i, entry in entries.items() if entry.table is _NO_TABLE]
        if self._file.layout.kind is LayoutKind.EXPLICIT and without_pose:
            ids = ", ".join(map(str, without_pose[:_MAX_IDS_LISTED]))
            more = len(without_pose) - _MAX_IDS_LISTED
            self._findings.add(
                ("--layout",) if self._overrides.layout else ("layout", "kind"),
                f"no place for vehicle {ids}" + (f" and {more} more." if more > 0 else "."),
                value="explicit",
                hint="Give each a [[vehicle]] table with id, north_m and east_m.",
            )

    def _plan(self, number: int, entry: Entry, pose: Pose) -> VehiclePlan:
        table, path = entry.table, entry.path
        overrides, fleet = self._overrides, self._file.fleet
        self._check_words(table, path)
        adapter = self._adapter_of(table)
        flies, own = self._flies(adapter), (*path, "aircraft")
        autopilot = overrides.autopilot or table.autopilot or fleet.autopilot
        aircraft = outputs = None
        if flies:
            aircraft, outputs = build_aircraft(
                self._file.aircraft, table.aircraft, own, self._findings
            )
            rover = self._rovers.of_aircraft(table, path, aircraft.model)
            autopilot = CIRCUIT if autopilot == "builtin" else autopilot
        else:
            refuse_aircraft_table(table.aircraft, own, self._findings)
            rover = self._rovers.of_vehicle(table, path)
        place = ("--autopilot",) if overrides.autopilot else (*path, "autopilot")
        check_autopilot_kind(autopilot, flies, place, self._findings)
        config = VehicleConfig(
            id=number,
            name=self._name_of(number, table, path, "aircraft" if flies else "rover"),
            adapter=adapter,
            autopilot=autopilot,
            mavlink_port=self._port_of(
                table, path, "mavlink_port", self._rules.mavlink_port(number)
            ),
            fdm_port=self._port_of(
                table, path, "fdm_port", self._wire_rules(adapter).fdm_port(number)
            ),
            pose=self._pose_of(number, entry, pose),
            preset=rover.preset,
            channels=rover.channels,
            noise=table.noise or self._file.rover.noise,
            aircraft_channels=outputs,
        )
        return VehiclePlan(
            config=config,
            rover=rover,
            board=build_board(
                self._file.board,
                table.board,
                (*path, "board"),
                self._file.origin.date,
                self._findings,
            ),
            mission=self._files.mission_of(config.label, table, path, config.autopilot),
            params=self._files.params_of(config.label, table, path, config.autopilot),
            links=tuple(parsed_links(table.links)),
            aircraft=aircraft,
        )

    def _check_words(self, table: VehicleSection, path: KeyPath) -> None:
        if table.adapter is not None:
            self._adapters.check(table.adapter, (*path, "adapter"), self._findings)
        if table.autopilot is not None:
            self._check_autopilot(table.autopilot, (*path, "autopilot"))

    def _check_autopilot(self, autopilot: str, path: KeyPath) -> None:
        check_autopilot(autopilot, self._file.autopilots, path, self._findings)

    def _name_of(self, number: int, table: VehicleSection, path: KeyPath, kind: str) -> str:
        default = f"{kind}_{number}"
        if table.name is None:
            return default
        known = len(self._findings.problems)
        check_text_name(table.name, (*path, "name"), self._findings)
        return table.name if len(self._findings.problems) == known else default

    def _wire_rules(self, adapter: str) -> SimWire | PortRules:
        """Where wires start: a Gazebo adapter may have ports of its own."""
        options = self._file.adapters.get("gazebo" if adapter == "auto" else adapter)
        if options is None or options.get("type", adapter) not in ("gazebo", "auto"):
            return self._rules
        wire = sim_wire(adapter, self._file.gazebo, self._rules, options)
        # Its one pair is the adapter's, not vehicle 1's.
        return self._rules if wire.shared else wire

    def _port_of(self, table: VehicleSection, path: KeyPath, key: str, port: int) -> int:
        """The vehicle's own port, moved, or ``port``; 0 leaves it to the port plan."""
        own: int | None = getattr(table, key)
        if own is not None:
            port = own + self._rules.offset
            if not 1 <= port <= MAX_PORT:
                self._findings.add((*path, key), f"is moved to {port}, not in 1..{MAX_PORT}.")
        return port if 1 <= port <= MAX_PORT else 0

    def _pose_of(self, number: int, entry: Entry, pose: Pose) -> Pose:
        table, path = entry.table, entry.path
        if self._file.layout.kind is LayoutKind.EXPLICIT and table is not _NO_TABLE:
            for key in ("north_m", "east_m"):
                if getattr(table, key) is None:
                    self._findings.add(
                        (*path, key), f'vehicle {number} needs it with layout "explicit".'
                    )
        return Pose(
            north_m=pose.north_m if table.north_m is None else table.north_m,
            east_m=pose.east_m if table.east_m is None else table.east_m,
            yaw_deg=pose.yaw_deg if table.yaw_deg is None else table.yaw_deg,
        )

    def _check_names(self, plans: list[VehiclePlan], entries: Mapping[int, Entry]) -> None:
        owner: dict[str, int] = {}
        for plan in plans:
            # Some file systems ignore case.
            first = owner.setdefault(plan.config.name.lower(), plan.id)
            if first != plan.id:
                given = [i for i in (plan.id, first) if entries[i].table.name is not None]
                chosen = given[0]  # two default names never meet
                other = first if chosen == plan.id else plan.id
                message = f"vehicle {other} has that name already."
                path = (*entries[chosen].path, "name")
                self._findings.add(path, message, value=plan.config.name)


def parsed_links(texts: tuple[str, ...]) -> list[Link]:
    """The links that can be understood; the others have been noted already."""
    links = []
    for text in texts:
        with contextlib.suppress(ConfigError):
            links.append(Link.parse(text))
    return links
